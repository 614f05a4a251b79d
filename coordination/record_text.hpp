#pragma once

#include "core/cluster/shard_record.hpp"
#include "core/result.hpp"

#include <string>
#include <string_view>

namespace lycosa::coordination {

/// A shard's record as the JSON text kept in the store; the version is not part of it.
[[nodiscard]] std::string to_text(const cluster::shard_record& r);

/// Refuses whatever this version could not have written: who changes a record writes all of it
/// again, and would lose what it does not understand. Another format is `incompatible`.
[[nodiscard]] result<cluster::shard_record> parse_record(std::string_view text,
                                                         std::uint64_t version);

} // namespace lycosa::coordination
