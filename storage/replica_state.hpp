#pragma once

#include "core/cluster/messages.hpp"
#include "core/result.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lycosa::storage {

/// What a replica's disk says of itself, apart from the batches of its log.
struct replica_state {
  cluster::entry_id end;                     ///< of the log
  std::vector<cluster::epoch_start> history; ///< of the log up to its end
  cluster::copy_id last_copy;
  std::optional<cluster::copy_progress> copying; ///< none = the environment is whole

  /// A batch was added behind the end.
  void append(cluster::entry_id id);
};

[[nodiscard]] std::string encode_replica_state(const replica_state& s);
/// `corrupt` when it does not decode.
[[nodiscard]] result<replica_state> decode_replica_state(std::string_view bytes);

} // namespace lycosa::storage
