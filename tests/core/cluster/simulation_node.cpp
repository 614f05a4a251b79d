// A node of the simulation: its process, its disk, and what it does with effects.
#include "tests/core/cluster/simulation.hpp"

#include <algorithm>
#include <iostream>

namespace lycosa::cluster::sim {
namespace {

constexpr std::uint32_t chunk_entries = 7;
constexpr std::int64_t tick_every = 50'000;

std::uint32_t size_of(const entry& e) {
  return e.op == 0 ? 0 : static_cast<std::uint32_t>(20 + e.op % 50);
}

std::vector<epoch_start> history_of(const std::vector<entry>& content) {
  std::vector<epoch_start> history;
  for (std::size_t i = 0; i < content.size(); ++i)
    if (history.empty() || history.back().epoch != content[i].epoch)
      history.push_back({content[i].epoch, i + 1});
  return history;
}

shard_log log_of(const files& f) {
  std::vector<std::uint32_t> sizes;
  for (auto lsn = f.log_begin; lsn <= f.content.size(); ++lsn)
    sizes.push_back(size_of(f.content[lsn - 1]));
  return {f.log_begin, history_of(f.content), sizes};
}

epoch_number epoch_known(const node& n) {
  return n.replica->record() ? n.replica->record()->epoch : 0;
}

} // namespace

void apply(files& f, const disk_write& w) {
  switch (w.what) {
  case disk_write::kind::batch:
    f.content.push_back(w.batch);
    break;
  case disk_write::kind::trim:
    f.log_begin = std::max(f.log_begin, w.trim + 1);
    break;
  case disk_write::kind::discard:
    f.content.clear();
    f.log_begin = 1;
    f.last_copy = w.copy.id;
    f.copying = w.copy;
    break;
  case disk_write::kind::chunk:
    f.content.insert(f.content.end(), w.chunk.begin(), w.chunk.end());
    f.copying = w.copy;
    if (w.last) {
      f.log_begin = f.content.size() + 1;
      f.copying.reset();
    }
    break;
  }
}

void world::start(node& n) {
  n.up = true;
  n.paused = false;
  ++n.incarnation;
  n.now = n.durable;
  n.unsynced.clear();
  n.in_sync_call = 0;
  n.members_revision = 0;
  const auto& f = n.durable;
  n.replica = std::make_unique<shard_replica>(
      n.id,
      shard_replica::found{log_of(f), f.copying ? 0 : f.content.size(), f.last_copy, f.copying},
      limits_);
  note(n, "starts with ", f.content.size());
  keep_alive(n);
  tick(n);
}

/// What was not synced is lost, but for what the disk happened to write.
void world::crash(node& n) {
  ++stats_.crashes;
  note(n, "crashes");
  const auto kept = below(static_cast<std::int64_t>(n.unsynced.size()) + 1);
  for (std::int64_t i = 0; i < kept; ++i)
    apply(n.durable, n.unsynced[static_cast<std::size_t>(i)]);
  n.up = false;
  ++n.incarnation;
  n.replica.reset();
  n.open.clear();
  n.snapshots.clear();
  n.deferred.clear();
  n.session = session_id::none;
  n.lease.reset();
}

void world::pause(node& n) {
  note(n, "pauses");
  n.paused = true;
}

void world::resume(node& n) {
  note(n, "resumes");
  n.paused = false;
  const auto missed = std::move(n.deferred);
  n.deferred.clear();
  for (const auto& what : missed)
    what();
}

void world::tick(node& n) {
  with(n, nullptr, [&](effects& out) { n.replica->tick(clock(n), out); });
  on(n, tick_every, [this, &n] { tick(n); });
}

void world::carry_out(node& n, const effects& todo, const packet* handled) {
  for (const auto& e : todo) {
    if (const auto* s = std::get_if<effect::send>(&e)) {
      send(n, s->to, s->what);
    } else if (const auto* o = std::get_if<effect::write_opening>(&e)) {
      check_name(n, o->id.lsn, {o->id.epoch, 0});
      write(n, {disk_write::kind::batch, {o->id.epoch, 0}, 0, {}, {}, false});
    } else if (const auto* w = std::get_if<effect::write_batches>(&e)) {
      if (std::get<append_message>(handled->what).epoch < epoch_known(n))
        fail("a batch is taken from a leader that is known to be fenced");
      for (auto i = w->first; i < w->first + w->count; ++i) {
        check_name(n, n.now.content.size() + 1, handled->payload.at(i));
        write(n, {disk_write::kind::batch, handled->payload.at(i), 0, {}, {}, false});
      }
    } else if (const auto* a = std::get_if<effect::acknowledge>(&e)) {
      acknowledge(n, a->through);
    } else if (const auto* f = std::get_if<effect::fail_open>(&e)) {
      note(n, "stops leading, ", static_cast<int>(f->why));
      stats_.failed += n.open.size();
      n.open.clear();
      if (f->why == stop_reason::fenced) ++stats_.fenced;
      if (f->why == stop_reason::lease_ended) ++stats_.lease_ends;
      if (f->why == stop_reason::handed_over) ++stats_.handovers;
    } else if (const auto* p = std::get_if<effect::propose>(&e)) {
      propose(n, *p);
    } else if (const auto* v = std::get_if<effect::open_snapshot>(&e)) {
      ++stats_.copies;
      on(n, below(20'000), [this, &n, id = v->id] {
        // A view of what is committed on disk.
        const auto& view = n.durable.content;
        const entry_id at{view.empty() ? 0 : view.back().epoch, view.size()};
        n.snapshots[id] = {at, view};
        const auto pieces = static_cast<std::uint32_t>(view.size() / chunk_entries + 1);
        with(n, nullptr,
             [&](effects& out) { n.replica->snapshot_opened(id, at, pieces, clock(n), out); });
      });
    } else if (const auto* c = std::get_if<effect::close_snapshot>(&e)) {
      n.snapshots.erase(c->id);
    } else if (const auto* d = std::get_if<effect::discard_shard>(&e)) {
      if (std::get<copy_message>(handled->what).epoch < epoch_known(n))
        fail("a copy is thrown away for a leader that is known to be fenced");
      note(n, "is copied from the beginning, had ", n.now.content.size());
      write(n, {disk_write::kind::discard, {}, 0, d->begun, {}, false});
    } else if (const auto* k = std::get_if<effect::write_chunk>(&e)) {
      const auto& m = std::get<copy_message>(handled->what);
      write(
          n,
          {disk_write::kind::chunk, {}, 0, {m.id, m.at, k->chunk + 1}, handled->payload, k->last});
      if (k->last && n.now.content.size() != m.at.lsn) fail("a copy is not whole");
    } else if (const auto* t = std::get_if<effect::trim_log>(&e)) {
      write(n, {disk_write::kind::trim, {}, t->through, {}, {}, false});
    }
  }
}

/// Attaches batches and pieces, and gives the message to the network.
void world::send(node& n, node_id to, message what) {
  packet p{n.id, std::move(what), {}};
  if (const auto* a = std::get_if<append_message>(&p.what)) {
    for (const auto& b : a->batches)
      p.payload.push_back(n.now.content.at(b.id.lsn - 1));
  } else if (const auto* c = std::get_if<copy_message>(&p.what)) {
    const auto& view = n.snapshots.at(c->id).content;
    const auto first = std::size_t{c->chunk} * chunk_entries;
    for (auto i = first; i < std::min(first + chunk_entries, view.size()); ++i)
      p.payload.push_back(view[i]);
  }
  const int copies = chance(weather_.loss) ? 0 : chance(weather_.twice) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    auto arrives = now_ + 1 + (chance(weather_.late) ? below(1'500'000) : below(weather_.delay));
    if (!chance(weather_.disorder)) {
      auto& last = last_arrival_[{n.id, to}];
      last = arrives = std::max(arrives, last);
    }
    at(arrives - now_, [this, from = n.id, to, p] {
      auto& receiver = get(to);
      if (cut_.contains({from, to}) || !receiver.up) return;
      if (receiver.paused)
        receiver.deferred.emplace_back([this, &receiver, p] { deliver(receiver, p); });
      else
        deliver(receiver, p);
    });
  }
}

void world::deliver(node& to, const packet& p) {
  if (trace_ && std::getenv("DBG")) {
    if (auto* a = std::get_if<append_message>(&p.what))
      note(to, "append from ", (int)p.from, " e", a->epoch, " before ", a->before.epoch, ".",
           a->before.lsn, " n ", a->batches.size(), " c ", a->committed);
    if (auto* a = std::get_if<state_message>(&p.what))
      note(to, "state from ", (int)p.from, " e", a->epoch, " copy ", a->copy.epoch, ".",
           a->copy.number, " end ", a->end.epoch, ".", a->end.lsn, " synced ", a->synced, " gap ",
           a->gap, " copying ", a->copying ? (int)a->copying->chunks : -1);
    if (auto* a = std::get_if<copy_message>(&p.what))
      note(to, "copy from ", (int)p.from, " e", a->epoch, " id ", a->id.epoch, ".", a->id.number,
           " chunk ", a->chunk, " of ", a->chunks);
  }
  with(to, &p, [&](effects& out) { to.replica->receive(p.from, p.what, clock(to), out); });
}

// -- the disk ------------------------------------------------------------------------------------

void world::write(node& n, disk_write w) {
  apply(n.now, w);
  n.unsynced.push_back(std::move(w));
  if (n.in_sync_call == 0) sync(n);
}

void world::sync(node& n) {
  n.in_sync_call = n.unsynced.size();
  if (n.in_sync_call == 0) return;
  const auto takes = 500 + below(static_cast<std::int64_t>(2000 * n.disk_slowness));
  on(n, takes, [this, &n, count = n.in_sync_call] { written(n, count); });
}

void world::written(node& n, std::size_t count) {
  copy_progress reached; // 0 = none
  for (std::size_t i = 0; i < count; ++i) {
    if (n.unsynced[i].what == disk_write::kind::chunk) reached = n.unsynced[i].copy;
    if (n.unsynced[i].what == disk_write::kind::discard) reached = {};
    apply(n.durable, n.unsynced[i]);
  }
  n.unsynced.erase(n.unsynced.begin(), n.unsynced.begin() + static_cast<std::ptrdiff_t>(count));
  sync(n);
  if (reached.chunks > 0)
    with(n, nullptr,
         [&](effects& out) { n.replica->chunks_synced(reached.id, reached.chunks, out); });
  // Of a shard that is being thrown away behind this, nothing is worth telling.
  if (!n.durable.copying && n.replica->whole() && n.now.last_copy == n.durable.last_copy)
    with(n, nullptr,
         [&](effects& out) { n.replica->synced(n.durable.content.size(), clock(n), out); });
}

// -- what must be true ---------------------------------------------------------------------------

/// A batch of one name is the same wherever it is.
void world::check_name(const node& n, lsn_number lsn, const entry& e) {
  const auto [known, fresh] = names_.try_emplace((e.epoch << 32) | lsn, e.op);
  if (!fresh && known->second != e.op)
    fail("node " + std::to_string(static_cast<int>(n.id)) + " holds another batch as epoch "
         + std::to_string(e.epoch) + " position " + std::to_string(lsn));
}

void world::acknowledge(node& n, lsn_number through) {
  while (!n.open.empty() && n.open.begin()->first <= through) {
    const auto [lsn, op] = *n.open.begin();
    n.open.erase(n.open.begin());
    const auto epoch = n.now.content.at(lsn - 1).epoch;
    ++stats_.acknowledged;
    if (acknowledged_.try_emplace(lsn, op).first->second != op)
      fail("two operations are acknowledged at " + std::to_string(lsn));
    const auto who = std::pair{n.id, n.incarnation};
    if (acknowledging_.try_emplace(epoch, who).first->second != who)
      fail("two leaders acknowledge in epoch " + std::to_string(epoch));
    if (!weather_.bad_clocks && (record_.epoch != epoch || record_.leader != n.id))
      fail("a leader of epoch " + std::to_string(epoch) + " acknowledges in epoch "
           + std::to_string(record_.epoch));
    const auto kept = std::count_if(nodes_.begin(), nodes_.end(), [&, lsn = lsn](const auto& o) {
      const auto& content = o->durable.content;
      return content.size() >= lsn && content[lsn - 1] == n.now.content[lsn - 1];
    });
    if (static_cast<std::uint32_t>(kept) < record_.min_in_sync)
      fail("acknowledged with " + std::to_string(kept) + " on disk");
  }
  check_members();
}

/// Each of those who may be elected has all that was acknowledged, on disk.
void world::check_members() {
  auto known = acknowledged_.rbegin();
  for (int i = 0; i < 20 && known != acknowledged_.rend(); ++i, ++known)
    for (const auto id : record_.in_sync) {
      const auto& content = get(id).durable.content;
      if (content.size() < known->first || content[known->first - 1].op != known->second)
        return fail("member " + std::to_string(static_cast<int>(id)) + " lacks operation "
                    + std::to_string(known->second) + ", which was acknowledged");
    }
}

} // namespace lycosa::cluster::sim
