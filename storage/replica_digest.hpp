#pragma once

#include "core/cluster/types.hpp"
#include "core/result.hpp"

#include <string>
#include <vector>

namespace lycosa::storage {

/// What an environment of a data directory holds, in short: two that are at the same position must
/// have the same digest.
struct environment_digest {
  std::string name; ///< `shard-000` …, `catalog`
  cluster::entry_id at;
  std::string digest; ///< XXH3-128 of all keys and values, in hexadecimal
};

/// Of all environments. A node may be running on the directory: each is as of one commit.
[[nodiscard]] result<std::vector<environment_digest>> digest_data_dir(const std::string& dir);

} // namespace lycosa::storage
