#pragma once

#include "core/cluster/messages.hpp"
#include "core/result.hpp"
#include "storage/replica_store.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lycosa::storage {

/// The number under which messages name the catalog; shards have their own.
inline constexpr std::uint16_t catalog_number = 0xffff;

/// A message between replicas, with what it speaks of attached.
[[nodiscard]] std::string encode_replica_message(std::uint16_t environment,
                                                 const cluster::message& what,
                                                 std::span<const batch_bytes> batches,
                                                 std::string_view chunk);

struct replica_message {
  std::uint16_t environment = 0;
  cluster::message what;
  std::vector<std::string_view> batches; ///< of an append
  std::string_view chunk;                ///< of a copy
  std::shared_ptr<const void> memory;    ///< what the views point into
};

/// `corrupt` when it does not decode, `incompatible` for a kind of message that is not known here.
[[nodiscard]] result<replica_message> decode_replica_message(std::string_view bytes);

} // namespace lycosa::storage
