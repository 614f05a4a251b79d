#pragma once

#include "actors/clock.hpp"
#include "actors/interfaces.hpp"
#include "actors/meters.hpp"
#include "core/lifecycle.hpp"
#include "storage/store.hpp"

#include <memory>

namespace lycosa::actors {

struct shard_writer_config {
  storage::shard_store* store = nullptr; ///< outlives the actor
  std::uint16_t shard = 0;
  clock_ptr time;
  retry_policy default_retry;
  std::uint32_t commit_batch = 4096;
  usec commit_interval = std::chrono::milliseconds{2};
  shard_meter* meter = nullptr; ///< outlives the actor; null = nobody looks
};

/// Spawn detached: commits block on the disk.
///
/// Group commit: the first operation after a commit sends `flush_atom` to the actor itself, so it
/// arrives behind everything that was in the mailbox by then. All of that becomes one transaction:
/// an idle shard commits at once, a busy one as much as gathered during the last sync, without a
/// timer. `commit_batch` operations or `commit_interval` of gathering close a batch early.
shard_writer_actor::behavior_type shard_writer(shard_writer_actor::pointer self,
                                               shard_writer_config config);

} // namespace lycosa::actors
