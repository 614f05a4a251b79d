#pragma once

#include "actors/clock.hpp"
#include "actors/interfaces.hpp"
#include "storage/store.hpp"

#include <memory>
#include <vector>

namespace lycosa::actors {

struct shard_reader_config {
  storage::shard_store* store = nullptr; ///< outlives the actor
  std::uint16_t shard = 0;
  clock_ptr time;
  /// The reader of the next shard; listings go on there when this one has no more. None in the
  /// last one.
  shard_reader_actor next;
};

/// Spawn detached: page faults block on the disk. Sees the last committed state, also while the
/// shard's writer waits for a sync.
shard_reader_actor::behavior_type shard_reader(shard_reader_actor::pointer self,
                                               shard_reader_config config);

} // namespace lycosa::actors
