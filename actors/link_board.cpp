#include "actors/link_board.hpp"

#include "actors/interfaces.hpp"
#include "actors/link_hub.hpp"

#include "wire/link_frames.hpp"

#include <utility>

namespace lycosa::actors {

namespace {

constexpr std::size_t most_said = 32;

} // namespace

void link_board::tell_locked(command c) {
  if (!hub_) return;
  commands_.push_back(std::move(c));
  if (commands_.size() == 1) caf::anon_send(hub_, wake_atom_v);
}

void link_board::tell(command c) {
  const std::lock_guard lock(mutex_);
  tell_locked(std::move(c));
}

std::vector<link_board::command> link_board::commands() {
  const std::lock_guard lock(mutex_);
  return std::exchange(commands_, {});
}

void link_board::open(caf::actor hub) {
  const std::lock_guard lock(mutex_);
  hub_ = std::move(hub);
}

void link_board::close() {
  const std::lock_guard lock(mutex_);
  hub_ = nullptr;
  peers_.clear();
}

link_board::sent link_board::send(cluster::node_id to, std::uint16_t channel,
                                  const bytes_ptr& body) {
  const auto size = body->size();
  std::uint64_t serial = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = peers_.find(to);
    if (found == peers_.end() || found->second.serial == 0) return sent::no_link;
    if (size > found->second.max_message) return sent::too_long;
    serial = found->second.serial;
  }
  const bool itself = to == config.self;
  auto frame = itself ? std::string{} : wire::encode_envelope(channel, *body);
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(to);
  if (found == peers_.end() || found->second.serial != serial) return sent::no_link;
  auto& p = found->second;
  if (p.sent + size - p.handled > config.max_outstanding) {
    if (itself) return sent::too_much;
    p.serial = 0;
    p.trouble = "it does not deal with what it is sent";
    tell_locked([to, serial, why = p.trouble](link_hub& hub) { hub.cut_peer(to, serial, why); });
    return sent::too_much;
  }
  p.sent += size;
  if (itself)
    tell_locked([channel, body](link_hub& hub) { hub.deliver_to_self(channel, body); });
  else
    tell_locked(
        [to, serial, frame = std::move(frame)](link_hub& hub) { hub.write_to(to, serial, frame); });
  return sent::yes;
}

bool link_board::is_up(cluster::node_id node) const {
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(node);
  return found != peers_.end() && found->second.serial != 0;
}

std::string link_board::trouble(cluster::node_id node) const {
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(node);
  return found == peers_.end() ? std::string{} : found->second.trouble;
}

void link_board::up(cluster::node_id node, std::uint64_t serial, std::uint64_t max_message) {
  const std::lock_guard lock(mutex_);
  peers_[node] = {serial, 0, 0, std::min<std::uint64_t>(max_message, config.max_message), {}, {}};
}

void link_board::down(cluster::node_id node, std::uint64_t serial) {
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(node);
  if (found != peers_.end() && found->second.serial == serial) found->second.serial = 0;
}

void link_board::handled(cluster::node_id node, std::uint64_t serial, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(node);
  if (found == peers_.end() || found->second.serial != serial) return;
  auto& p = found->second;
  p.handled = std::max(p.handled, std::min(bytes, p.sent));
}

bool link_board::in_trouble(cluster::node_id node, const std::string& why) {
  const std::lock_guard lock(mutex_);
  auto& p = peers_[node];
  if (p.serial != 0 || why.empty()) return false;
  p.trouble = why;
  if (p.said.size() >= most_said) p.said.clear();
  return p.said.insert(why).second;
}

void link_board::forget(cluster::node_id node) {
  const std::lock_guard lock(mutex_);
  peers_.erase(node);
}

} // namespace lycosa::actors
