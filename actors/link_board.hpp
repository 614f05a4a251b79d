#pragma once

#include "actors/link_delivery.hpp"

#include <functional>
#include <set>
#include <vector>

namespace lycosa::actors {

/// What the links' users and their hub have in common.
class link_board {
public:
  using command = std::function<void(link_hub&)>;

  explicit link_board(const link_config& c) : config(c) {}
  const link_config config;
  const std::shared_ptr<link_handlers> handlers = std::make_shared<link_handlers>();

  /// To the hub, in order. Nothing once `close` was called.
  void tell(command c);
  [[nodiscard]] std::vector<command> commands();
  void open(caf::actor hub);
  void close();

  // -- peers, as users see them ------------------------------------------------------------------

  enum class sent { yes, no_link, too_long, too_much };
  [[nodiscard]] sent send(cluster::node_id to, std::uint16_t channel, const bytes_ptr& body);
  [[nodiscard]] bool is_up(cluster::node_id node) const;
  [[nodiscard]] std::string trouble(cluster::node_id node) const;

  // by the hub
  void up(cluster::node_id node, std::uint64_t serial, std::uint64_t max_message);
  void down(cluster::node_id node, std::uint64_t serial);
  void handled(cluster::node_id node, std::uint64_t serial, std::uint64_t bytes);
  /// True if that was not said since the peer was up last: attempts fail again and again, and not
  /// always at the same point.
  bool in_trouble(cluster::node_id node, const std::string& why);
  void forget(cluster::node_id node);

private:
  struct peer {
    std::uint64_t serial = 0; ///< of the link; 0 = down
    std::uint64_t sent = 0, handled = 0;
    std::uint64_t max_message = 0;
    std::string trouble;
    std::set<std::string> said; ///< of troubles, since it was up last
  };
  void tell_locked(command c);

  mutable std::mutex mutex_;
  caf::actor hub_;
  std::vector<command> commands_;
  std::map<cluster::node_id, peer> peers_;
};

} // namespace lycosa::actors
