// The coordination store: linearizable compare-and-swap, sessions that expire, watches that come
// late, in any order, or not at all.
#include "tests/core/cluster/simulation.hpp"

namespace lycosa::cluster::sim {
namespace {

constexpr std::int64_t ttl = 1'000'000;
constexpr double drift = 0.2; // so much that leaving it out would show

} // namespace

void world::to_store(node& n, std::function<void()> request) {
  if (cut_.contains({n.id, node_id::none}) || chance(weather_.loss)) return;
  at(below(weather_.delay) + 1, std::move(request));
}

void world::from_store(node& n, bool watch, std::function<void()> answer) {
  if (cut_.contains({node_id::none, n.id}) || chance(weather_.loss)) return;
  on(n, below(watch ? weather_.late_watch : weather_.delay) + 1, std::move(answer));
}

/// Asks for a session or for its prolongation, again and again.
void world::keep_alive(node& n) {
  const auto asked_at = clock(n);
  const auto mine = n.session;
  const auto incarnation = n.incarnation;
  if (!n.lease) n.lease.emplace(usec{ttl}, drift);
  to_store(n, [this, &n, asked_at, mine, incarnation] {
    auto granted = mine;
    if (mine == session_id::none)
      granted = session_id{++last_session_};
    else if (!sessions_.contains(mine))
      granted = session_id::none;
    if (granted != session_id::none) {
      const bool fresh = !sessions_.contains(granted);
      sessions_[granted] = {n.id, now_ + ttl};
      at(ttl, [this] { expire_sessions(); });
      if (fresh) members_changed();
    }
    if (incarnation != n.incarnation) return;
    from_store(n, false, [this, &n, asked_at, mine, granted] {
      if (mine != n.session) return; // answered before
      if (granted == session_id::none) {
        note(n, "session lost");
        n.session = session_id::none;
        n.lease.reset();
        with(n, nullptr, [&](auto& out) { n.replica->session_ended(out); });
        return;
      }
      n.session = granted;
      n.lease->granted(asked_at);
      with(n, nullptr,
           [&](auto& out) { n.replica->session_seen(granted, *n.lease->until(), clock(n), out); });
    });
    tell_record(n, false);
    tell_members(n, false);
  });
  on(n, ttl / 4 + below(10'000), [this, &n] { keep_alive(n); });
}

void world::expire_sessions() {
  if (std::erase_if(sessions_, [&](const auto& s) { return s.second.expires <= now_; }) > 0)
    members_changed();
}

void world::members_changed() {
  ++members_revision_;
  for (auto& n : nodes_)
    if (n->up) tell_members(*n, true);
}

void world::tell_members(node& n, bool watch) {
  std::map<node_id, session_id> members;
  for (const auto& [id, s] : sessions_)
    members[s.node] = id; // the latest of a node
  from_store(n, watch, [&n, revision = members_revision_, members = std::move(members)] {
    if (revision < n.members_revision) return;
    n.members_revision = revision;
    n.replica->members_seen(members);
  });
}

void world::tell_record(node& n, bool watch) {
  from_store(n, watch, [this, &n, seen = record_] {
    with(n, nullptr, [&](auto& out) { n.replica->record_seen(seen, clock(n), out); });
  });
}

void world::propose(node& n, const effect::propose& p) {
  to_store(n, [this, &n, p, incarnation = n.incarnation] {
    if (change_record(p.next, p.ended)) {
      note(n, "wins version ", record_.version, " epoch ", record_.epoch, " leader ",
           static_cast<int>(record_.leader), " members ", record_.in_sync.size());
    }
    if (n.up && incarnation == n.incarnation) tell_record(n, false);
  });
}

bool world::change_record(const shard_record& next, session_id ended) {
  if (next.version != record_.version) return false;
  if (ended != session_id::none && sessions_.contains(ended)) return false;
  if (next.epoch != record_.epoch) ++stats_.elections;
  if (next.in_sync.size() < record_.in_sync.size()) ++stats_.shrinks;
  if (next.in_sync.size() > record_.in_sync.size()) ++stats_.grows;
  record_ = next;
  ++record_.version;
  check_members();
  for (auto& n : nodes_)
    if (n->up) tell_record(*n, true);
  return true;
}

} // namespace lycosa::cluster::sim
