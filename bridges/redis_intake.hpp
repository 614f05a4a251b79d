#pragma once

#include "bridges/intake.hpp"
#include "bridges/redis_link.hpp"

#include <optional>
#include <string>

namespace lycosa::bridges {

/// Reads one list into the node, batch by batch, on a thread of its own.
///
/// Reliable: each message is moved to a list of this node's (LMOVE) and deleted there once it is
/// durable. What a crash left there is handed in first at the next start; what a stop leaves goes
/// back to where it came from, in order. Otherwise it is popped, and a crash between the pop and
/// the commit loses it; a stop puts it back.
class redis_intake {
public:
  redis_intake(intake_kind kind, const redis_config& config, redis_address address,
               actors::node& node, bridge_stats& stats, const stop_signal& stop);

  /// Until stopped.
  void run();

private:
  result<void> serve(redis_link& link);
  result<void> recover(redis_link& link);
  result<std::optional<std::string>> wait_for_first(redis_link& link);
  result<std::vector<std::string>> more(redis_link& link, std::size_t most);
  result<void> finished(redis_link& link, std::size_t n);
  void put_back(const std::vector<std::string>& messages);

  const redis_config& config_;
  redis_address address_;
  actors::node& node_;
  bridge_stats& stats_;
  const stop_signal& stop_;
  std::string queue_;
  std::string moved_; ///< where messages are until they are durable
  bool reliable_;
  intake intake_;
  std::vector<std::string> held_; ///< popped, not durable, and in no list
};

} // namespace lycosa::bridges
