#pragma once

#include "core/cluster/messages.hpp"
#include "core/cluster/types.hpp"
#include "core/types.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

namespace lycosa::cluster {

/// Pieces of copies on their way out of a leader's node, so many bytes a second at most.
///
/// The leader asks for a piece again when it has heard nothing for a while. It does not know how
/// long its pieces wait here: one that waits is not taken a second time, and one that has left is
/// sent again only when it left `again_after` ago. So at a low rate each piece goes out once, and
/// one that was lost goes out again before those behind it.
///
/// Every call is O(log pieces that wait + pieces that left in the last `again_after`).
class copy_pieces {
public:
  struct piece {
    node_id to = node_id::none;
    copy_message what;
  };

  /// `rate`: bytes a second, 0 = no bound.
  copy_pieces(std::uint64_t rate, usec again_after) : rate_(rate), again_after_(again_after) {}

  /// False: it waits already, or has just left.
  bool add(node_id to, copy_message m, mono_time now);
  /// Nothing more of this copying is sent.
  void close(copy_id id) { copies_.erase(id); }

  /// The piece that is to be sent now, which has left then; none = nothing waits, or not yet.
  [[nodiscard]] std::optional<piece> take(mono_time now);
  /// So many bytes have been sent: the next piece has to wait for them.
  void sent(std::uint64_t bytes, mono_time now);
  /// When `take` has something; none = never, as things are.
  [[nodiscard]] std::optional<mono_time> next() const;

private:
  struct copying {
    std::map<std::uint32_t, piece> waiting;               ///< by number
    std::deque<std::pair<std::uint32_t, mono_time>> left; ///< numbers, and when
  };

  std::uint64_t rate_;
  usec again_after_;
  mono_time free_at_{}; ///< of what was sent before
  std::map<copy_id, copying> copies_;
};

} // namespace lycosa::cluster
