#include "storage/replica_state.hpp"

#include "schema/replica.capnp.h"
#include "storage/capnp_bytes.hpp"

namespace lycosa::storage {

namespace {

void write(schema::EntryId::Builder to, const cluster::entry_id& id) {
  to.setEpoch(id.epoch);
  to.setLsn(id.lsn);
}
cluster::entry_id read(schema::EntryId::Reader r) {
  return {r.getEpoch(), r.getLsn()};
}
void write(schema::CopyId::Builder to, const cluster::copy_id& id) {
  to.setEpoch(id.epoch);
  to.setNumber(id.number);
}
cluster::copy_id read(schema::CopyId::Reader r) {
  return {r.getEpoch(), r.getNumber()};
}

} // namespace

void replica_state::append(cluster::entry_id id) {
  if (history.empty() || history.back().epoch != id.epoch) history.push_back({id.epoch, id.lsn});
  end = id;
}

std::string encode_replica_state(const replica_state& s) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<schema::ReplicaState>();
  write(root.initEnd(), s.end);
  auto history = root.initHistory(static_cast<unsigned>(s.history.size()));
  for (unsigned i = 0; i < history.size(); ++i) {
    history[i].setEpoch(s.history[i].epoch);
    history[i].setFirst(s.history[i].first);
  }
  write(root.initLastCopy(), s.last_copy);
  if (s.copying) {
    auto copying = root.initCopying();
    write(copying.initId(), s.copying->id);
    write(copying.initAt(), s.copying->at);
    copying.setChunks(s.copying->chunks);
  }
  return bytes::flat_text(message);
}

result<replica_state> decode_replica_state(std::string_view from) {
  return bytes::guarded("replica state", [&]() -> result<replica_state> {
    const bytes::aligned_copy copy(from);
    auto message = bytes::reader_over(copy.bytes());
    const auto root = message.getRoot<schema::ReplicaState>();
    replica_state s;
    s.end = read(root.getEnd());
    for (const auto h : root.getHistory())
      s.history.push_back({h.getEpoch(), h.getFirst()});
    s.last_copy = read(root.getLastCopy());
    if (root.hasCopying()) {
      const auto c = root.getCopying();
      s.copying = cluster::copy_progress{read(c.getId()), read(c.getAt()), c.getChunks()};
    }
    return s;
  });
}

} // namespace lycosa::storage
