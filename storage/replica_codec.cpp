#include "storage/replica_codec.hpp"

#include "schema/replication.capnp.h"
#include "storage/capnp_bytes.hpp"
#include "storage/replica_ids.hpp"

namespace lycosa::storage {

namespace {

using message_schema = schema::ReplicaMessage;

using ids::read;
using ids::write;

void write(message_schema::Append::Builder to, const cluster::append_message& m,
           std::span<const batch_bytes> batches) {
  to.setEpoch(m.epoch);
  write(to.initBefore(), m.before);
  auto list = to.initBatches(static_cast<unsigned>(batches.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    write(list[i].initId(), m.batches[i].id);
    bytes::fill(list[i].initChanges(bytes::length(*batches[i])), *batches[i]);
  }
  to.setCommitted(m.committed);
  to.setTrim(m.trim);
}

void write(message_schema::State::Builder to, const cluster::state_message& m) {
  to.setEpoch(m.epoch);
  write(to.initCopy(), m.copy);
  write(to.initEnd(), m.end);
  to.setSynced(m.synced);
  to.setGap(m.gap);
  if (m.copying) write(to.initCopying(), *m.copying);
}

void write(message_schema::Copy::Builder to, const cluster::copy_message& m,
           std::string_view chunk) {
  to.setEpoch(m.epoch);
  write(to.initId(), m.id);
  write(to.initAt(), m.at);
  write(to.initHistory(static_cast<unsigned>(m.history.size())), m.history);
  to.setChunk(m.chunk);
  to.setChunks(m.chunks);
  bytes::fill(to.initChanges(bytes::length(chunk)), chunk);
}

cluster::message read(message_schema::Append::Reader r, std::vector<std::string_view>& batches) {
  cluster::append_message m{r.getEpoch(), read(r.getBefore()), {}, r.getCommitted(), r.getTrim()};
  for (const auto b : r.getBatches()) {
    batches.push_back(bytes::view(b.getChanges()));
    m.batches.push_back({read(b.getId()), static_cast<std::uint32_t>(batches.back().size())});
  }
  return m;
}

cluster::message read(message_schema::State::Reader r) {
  cluster::state_message m{r.getEpoch(),  read(r.getCopy()), read(r.getEnd()),
                           r.getSynced(), r.getGap(),        {}};
  if (r.hasCopying()) m.copying = read(r.getCopying());
  return m;
}

cluster::message read(message_schema::Copy::Reader r, std::string_view& chunk) {
  cluster::copy_message m{r.getEpoch(),         read(r.getId()), read(r.getAt()),
                          read(r.getHistory()), r.getChunk(),    r.getChunks()};
  chunk = bytes::view(r.getChanges());
  return m;
}

} // namespace

std::string encode_replica_message(std::uint16_t environment, const cluster::message& what,
                                   std::span<const batch_bytes> batches, std::string_view chunk) {
  std::size_t size = chunk.size();
  for (const auto& b : batches)
    size += b->size() + 64;
  // One segment, so that it is written without being moved.
  capnp::MallocMessageBuilder message(static_cast<unsigned>(size / 8 + 64));
  auto root = message.initRoot<message_schema>();
  root.setEnvironment(environment);
  if (const auto* a = std::get_if<cluster::append_message>(&what)) {
    write(root.initAppend(), *a, batches);
  } else if (const auto* s = std::get_if<cluster::state_message>(&what)) {
    write(root.initState(), *s);
  } else if (const auto* c = std::get_if<cluster::copy_message>(&what)) {
    write(root.initCopy(), *c, chunk);
  } else {
    const auto& m = std::get<cluster::candidate_message>(what);
    auto to = root.initCandidate();
    to.setVersion(m.version);
    write(to.initEnd(), m.end);
    to.setAsks(m.asks);
  }
  return bytes::flat_text(message);
}

result<replica_message> decode_replica_message(std::string_view from) {
  return bytes::guarded("replica message", [&]() -> result<replica_message> {
    const auto copy = std::make_shared<const bytes::aligned_copy>(from);
    auto message = bytes::reader_over(copy->bytes());
    const auto root = message.getRoot<message_schema>();
    replica_message out;
    out.environment = root.getEnvironment();
    out.memory = copy;
    switch (root.which()) {
    case message_schema::APPEND:
      out.what = read(root.getAppend(), out.batches);
      return out;
    case message_schema::STATE:
      out.what = read(root.getState());
      return out;
    case message_schema::COPY:
      out.what = read(root.getCopy(), out.chunk);
      return out;
    case message_schema::CANDIDATE: {
      const auto c = root.getCandidate();
      out.what = cluster::candidate_message{c.getVersion(), read(c.getEnd()), c.getAsks()};
      return out;
    }
    }
    return fail(errc::incompatible, "replica message", "of an unknown kind");
  });
}

} // namespace lycosa::storage
