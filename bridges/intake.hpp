#pragma once

#include "bridges/backoff.hpp"
#include "bridges/bridge.hpp"
#include "bridges/stream.hpp"

#include <string>
#include <vector>

namespace lycosa::bridges {

/// Which of the two in-queues.
enum class intake_kind : std::uint8_t { newtasks, statuses };

/// Hands messages of an in-queue to the node and waits until what they say is durable, whatever
/// goes wrong with the disk meanwhile. Messages that cannot be read and items the node refuses are
/// counted and logged (a few a minute), and never tried again. False: stopped before it was done;
/// the messages are to be put back.
class intake {
public:
  intake(intake_kind kind, actors::node& node, const queue_config& queues, bridge_stats& stats,
         const stop_signal& stop);

  bool hand_in(const std::vector<std::string>& messages);

private:
  bool submit(const std::vector<std::string>& messages);
  bool report(const std::vector<std::string>& messages);
  void refused(const std::string& what, const std::string& why);

  intake_kind kind_;
  actors::node& node_;
  const queue_config& queues_;
  bridge_stats& stats_;
  const stop_signal& stop_;
  backoff pause_;
  std::chrono::steady_clock::time_point logged_since_{};
  int logged_ = 0;
};

} // namespace lycosa::bridges
