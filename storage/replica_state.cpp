#include "storage/replica_state.hpp"

#include "storage/capnp_bytes.hpp"
#include "storage/replica_ids.hpp"

namespace lycosa::storage {

void replica_state::append(cluster::entry_id id) {
  if (history.empty() || history.back().epoch != id.epoch) history.push_back({id.epoch, id.lsn});
  end = id;
}

std::string encode_replica_state(const replica_state& s) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<schema::ReplicaState>();
  ids::write(root.initEnd(), s.end);
  ids::write(root.initHistory(static_cast<unsigned>(s.history.size())), s.history);
  ids::write(root.initLastCopy(), s.last_copy);
  if (s.copying) ids::write(root.initCopying(), *s.copying);
  return bytes::flat_text(message);
}

result<replica_state> decode_replica_state(std::string_view from) {
  return bytes::guarded("replica state", [&]() -> result<replica_state> {
    const bytes::aligned_copy copy(from);
    auto message = bytes::reader_over(copy.bytes());
    const auto root = message.getRoot<schema::ReplicaState>();
    replica_state s;
    s.end = ids::read(root.getEnd());
    s.history = ids::read(root.getHistory());
    s.last_copy = ids::read(root.getLastCopy());
    if (root.hasCopying()) s.copying = ids::read(root.getCopying());
    return s;
  });
}

} // namespace lycosa::storage
