#pragma once

#include "core/cluster/messages.hpp"
#include "schema/replica.capnp.h"

#include <vector>

/// The names of batches and copies, in values and in Cap'n Proto. For sources only.
namespace lycosa::storage::ids {

inline void write(schema::EntryId::Builder to, const cluster::entry_id& id) {
  to.setEpoch(id.epoch);
  to.setLsn(id.lsn);
}
inline cluster::entry_id read(schema::EntryId::Reader r) {
  return {r.getEpoch(), r.getLsn()};
}

inline void write(schema::CopyId::Builder to, const cluster::copy_id& id) {
  to.setEpoch(id.epoch);
  to.setNumber(id.number);
}
inline cluster::copy_id read(schema::CopyId::Reader r) {
  return {r.getEpoch(), r.getNumber()};
}

inline void write(schema::CopyProgress::Builder to, const cluster::copy_progress& p) {
  write(to.initId(), p.id);
  write(to.initAt(), p.at);
  to.setChunks(p.chunks);
}
inline cluster::copy_progress read(schema::CopyProgress::Reader r) {
  return {read(r.getId()), read(r.getAt()), r.getChunks()};
}

using epoch_list = capnp::List<schema::EpochStart>;

inline void write(epoch_list::Builder to, const std::vector<cluster::epoch_start>& history) {
  for (unsigned i = 0; i < to.size(); ++i) {
    to[i].setEpoch(history[i].epoch);
    to[i].setFirst(history[i].first);
  }
}
inline std::vector<cluster::epoch_start> read(epoch_list::Reader r) {
  std::vector<cluster::epoch_start> history;
  for (const auto h : r)
    history.push_back({h.getEpoch(), h.getFirst()});
  return history;
}

} // namespace lycosa::storage::ids
