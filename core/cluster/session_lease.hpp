#pragma once

#include "core/types.hpp"

#include <algorithm>
#include <optional>

namespace lycosa::cluster {

/// How long a node may act as what the coordination store takes it for.
///
/// The store counts a lease from when a keep-alive arrives, the node from when it was sent, and
/// takes off what the two clocks may run apart: so the node always stops first (Gray & Cheriton
/// 1989). Only the rates of clocks matter, not what they show. No acknowledged write hangs on this,
/// since an acknowledgement needs every member of the in-sync set; reads from a leader do.
class session_lease {
public:
  /// `drift`: most that the rate of a clock is off, e.g. 0.01 = one in a hundred.
  session_lease(usec ttl, double drift)
      : ttl_(static_cast<usec::rep>(static_cast<double>(ttl.count()) * (1 - drift) / (1 + drift))) {
  }

  /// The store has prolonged the lease, asked by what was first sent at this moment.
  void granted(mono_time asked_at) {
    const auto until = asked_at + ttl_;
    until_ = until_ ? std::max(*until_, until) : until;
  }

  /// The store does not know the lease any more.
  void lost() { until_.reset(); }

  [[nodiscard]] bool holds(mono_time now) const { return until_ && now < *until_; }
  [[nodiscard]] std::optional<mono_time> until() const { return until_; }

private:
  usec ttl_; ///< by the node's clock
  std::optional<mono_time> until_;
};

} // namespace lycosa::cluster
