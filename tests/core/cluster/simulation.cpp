// Time, chance, trouble, clients, and what is checked at the end.
#include "tests/core/cluster/simulation.hpp"

#include "core/cluster/balancer.hpp"

#include <algorithm>
#include <iostream>
#include <sstream>

namespace lycosa::cluster::sim {
namespace {

constexpr std::int64_t second = 1'000'000, ms = 1'000;
constexpr real_time chaos_end = 10 * second;

weather draw_weather(std::mt19937_64& random) {
  const auto one_of = [&](auto... choices) {
    const std::common_type_t<decltype(choices)...> all[] = {choices...};
    return all[random() % sizeof...(choices)];
  };
  weather w;
  w.nodes = one_of(3, 3, 4, 5);
  w.loss = one_of(0.0, 0.01, 0.1);
  w.twice = one_of(0.0, 0.02, 0.2);
  w.disorder = one_of(0.0, 0.02, 0.3);
  w.delay = one_of(500, 5'000, 40'000);
  w.late_watch = one_of(1'000, 20'000, 800'000);
  w.late = one_of(0.0, 0.005, 0.05);
  w.fault_every = one_of(100 * ms, 300 * ms, 800 * ms);
  w.crashes = random() % 4 != 0;
  w.pauses = random() % 2 != 0;
  w.partitions = random() % 3 != 0;
  w.store_cuts = random() % 2 != 0;
  w.slow_disks = random() % 2 != 0;
  w.moves = random() % 2 != 0;
  w.deaths = w.nodes > 3 && random() % 3 == 0;
  w.bad_clocks = random() % 5 == 0;
  w.store_cuts = w.store_cuts || w.bad_clocks;
  w.min_in_sync = one_of(2U, 2U, 2U, 1U, 3U);
  return w;
}

replication_limits draw_limits(std::mt19937_64& random) {
  replication_limits l;
  l.window_batches = random() % 2 != 0 ? 4 : 64;
  l.window_bytes = random() % 2 != 0 ? 200 : 1 << 20;
  l.message_batches = random() % 2 != 0 ? 2 : 16;
  l.copy_window = random() % 2 != 0 ? 1 : 3;
  l.log_bytes = random() % 2 != 0 ? 700 : 1 << 20;
  l.copy_log_bytes = random() % 2 != 0 ? 2000 : 1 << 20;
  l.heartbeat = std::chrono::milliseconds{100};
  l.resend_after = std::chrono::milliseconds{200};
  l.slow_after = std::chrono::milliseconds{700};
  l.propose_retry = std::chrono::milliseconds{300};
  l.election_wait = std::chrono::milliseconds{60};
  return l;
}

} // namespace

statistics& statistics::operator+=(const statistics& o) {
  acknowledged += o.acknowledged, failed += o.failed, refused += o.refused;
  elections += o.elections, handovers += o.handovers, copies += o.copies;
  crashes += o.crashes, fenced += o.fenced, lease_ends += o.lease_ends, shrinks += o.shrinks;
  grows += o.grows, deaths += o.deaths, reads += o.reads, events += o.events,
      placements += o.placements;
  return *this;
}

world::world(std::uint64_t seed, bool trace)
    : random_(seed), trace_(trace), weather_(draw_weather(random_)), limits_(draw_limits(random_)) {
  for (int i = 1; i <= weather_.nodes; ++i) {
    auto n = std::make_unique<node>();
    n->id = static_cast<node_id>(i);
    const auto off = weather_.bad_clocks ? 0.9 : 0.2; // the latter is what the lease allows for
    n->clock_rate = 1 + (static_cast<double>(below(2001)) - 1000) / 1000 * off;
    n->clock_offset = below(3'600 * second);
    nodes_.push_back(std::move(n));
  }
  // Begins as one node's shard that is to have three replicas.
  record_ = found_shard(node_id{1}, {node_id{1}, node_id{2}, node_id{3}}, weather_.min_in_sync);
  record_.version = 1;
}

// -- time and chance -----------------------------------------------------------------------------

void world::at(std::int64_t after, std::function<void()> what) {
  events_.push({now_ + std::max<std::int64_t>(after, 0), ++order_, std::move(what)});
}

void world::on(node& n, std::int64_t after, std::function<void()> what) {
  at(after, [&n, incarnation = n.incarnation, what = std::move(what)]() mutable {
    if (!n.up || n.incarnation != incarnation) return;
    if (!n.paused) return what();
    n.deferred.push_back(std::move(what));
  });
}

void world::run_until(real_time end) {
  while (!error_ && !events_.empty() && events_.top().at <= end) {
    now_ = events_.top().at;
    const auto what = std::move(const_cast<event&>(events_.top()).what);
    events_.pop();
    ++stats_.events;
    what();
  }
  now_ = std::max(now_, end);
}

mono_time world::clock(const node& n) const {
  return mono_time{
      usec{n.clock_offset + static_cast<std::int64_t>(static_cast<double>(now_) * n.clock_rate)}};
}

void world::fail(const std::string& what) {
  if (!error_) error_ = "at " + std::to_string(now_) + " us: " + what;
}

// -- trouble -------------------------------------------------------------------------------------

void world::trouble() {
  if (calm_) return;
  at(weather_.fault_every / 2 + below(weather_.fault_every), [this] { trouble(); });
  const bool at_leader = record_.leader != node_id::none && chance(0.3);
  auto& n =
      at_leader ? get(record_.leader) : *nodes_[static_cast<std::size_t>(below(weather_.nodes))];
  auto& other = *nodes_[static_cast<std::size_t>(below(weather_.nodes))];
  const auto lasts = below(chance(0.3) ? 4 * second : 800 * ms) + ms;
  const auto cut = [&](node_id from, node_id to) {
    cut_.insert({from, to});
    at(lasts, [this, from, to] { cut_.erase({from, to}); });
  };
  switch (below(6)) {
  case 0:
    if (!weather_.crashes || !n.up) return;
    crash(n);
    if (weather_.deaths && stats_.deaths == 0 && chance(0.3)) return die(n);
    at(lasts, [this, &n] {
      if (!n.up) start(n);
    });
    return;
  case 1:
    if (!weather_.pauses || !n.up || n.paused) return;
    pause(n);
    at(lasts, [this, &n, incarnation = n.incarnation] {
      if (n.paused && n.incarnation == incarnation) resume(n);
    });
    return;
  case 2: // between two, one way or both; or one from all
    if (!weather_.partitions) return;
    for (const auto& o : nodes_) {
      if (o->id == n.id || (o->id != other.id && other.id != n.id)) continue;
      cut(n.id, o->id);
      if (chance(0.6)) cut(o->id, n.id);
    }
    return;
  case 3:
    if (!weather_.store_cuts) return;
    if (chance(0.7)) cut(n.id, node_id::none);
    if (chance(0.7)) cut(node_id::none, n.id);
    return;
  case 4:
    if (!weather_.slow_disks) return;
    n.disk_slowness = chance(0.5) ? 20 : 600;
    at(lasts, [&n] { n.disk_slowness = 1; });
    if (n.up && !n.paused && chance(0.2))
      with(n, nullptr, [&](effects& out) { n.replica->disk_failed(clock(n), out); });
    return;
  default:
    if (weather_.moves) move_replicas();
  }
}

/// What a balancer might do: another order, one replica more, or one less.
void world::move_replicas() {
  auto replicas = record_.replicas;
  const auto n = node_id{static_cast<std::uint64_t>(below(weather_.nodes)) + 1};
  const bool there = record_.is_replica(n);
  if (there && replicas.size() > 3)
    std::erase(replicas, n);
  else if (!there && replicas.size() < 4)
    replicas.push_back(n);
  else if (there) {
    std::erase(replicas, n);
    replicas.insert(replicas.begin(), n);
  }
  const auto next = place(record_, replicas);
  if (next && change_record(*next, session_id::none)) ++stats_.placements;
}

/// It does not come back, unless nobody else could go on.
void world::die(node& n) {
  ++stats_.deaths;
  n.gone = true;
  note(n, "is gone for good");
  at(2 * second, [this, &n] {
    if (record_.in_sync == std::vector{n.id}) n.gone = false;
  });
}

/// The real balancer, in calm weather.
void world::balance() {
  std::vector<node_status> there;
  for (const auto& n : nodes_)
    if (!n->gone) there.push_back({n->id, "", 1, false});
  const shard_place shard{0, record_.replicas, record_.in_sync};
  const auto moves = plan_moves(there, {shard}, {3, 1, 1});
  if (moves.empty()) return;
  if (const auto next = place(record_, after(shard, moves.front())))
    change_record(*next, session_id::none);
}

void world::heal() {
  calm_ = true;
  cut_.clear();
  weather_.loss = weather_.twice = weather_.late = weather_.disorder = 0;
  last_arrival_.clear();
  weather_.delay = 2 * ms;
  weather_.late_watch = 5 * ms;
  for (auto& n : nodes_) {
    n->disk_slowness = 1;
    if (n->paused) resume(*n);
    n->gone = n->gone && record_.in_sync != std::vector{n->id};
    if (!n->up && !n->gone) start(*n);
  }
}

// -- clients -------------------------------------------------------------------------------------

void world::submit(bool to_leader) {
  auto& n = to_leader && record_.leader != node_id::none
                ? get(record_.leader)
                : *nodes_[static_cast<std::size_t>(below(weather_.nodes))];
  if (!n.up || n.paused) return;
  const auto op = ++last_op_;
  effects out;
  const auto id = n.replica->append(static_cast<std::uint32_t>(20 + op % 50), clock(n), out);
  if (id) {
    const entry e{id->epoch, op};
    check_name(n, id->lsn, e);
    write(n, {disk_write::kind::batch, e, 0, {}, {}, false});
    n.open[id->lsn] = op;
  } else {
    ++stats_.refused;
  }
  carry_out(n, out, nullptr);
}

/// Whoever says that it may answer reads must know all that was acknowledged.
void world::read() {
  for (const auto& n : nodes_) {
    if (!n->up || n->paused || !n->replica->serves(clock(*n))) continue;
    ++stats_.reads;
    if (record_.leader != n->id && !weather_.bad_clocks) fail("a former leader answers reads");
    if (!weather_.bad_clocks && !acknowledged_.empty()
        && n->now.content.size() < acknowledged_.rbegin()->first)
      fail("a leader answers reads without all that was acknowledged");
  }
}

// -- the run -------------------------------------------------------------------------------------

std::optional<std::string> world::run() {
  note(*nodes_.front(), "weather: loss ", weather_.loss, " twice ", weather_.twice, " delay ",
       weather_.delay, " late watch ", weather_.late_watch, " late ", weather_.late,
       " min in sync ", weather_.min_in_sync, " window ", limits_.window_batches, " log ",
       limits_.log_bytes);
  for (auto& n : nodes_)
    start(*n);
  at(second, [this] { trouble(); });
  const auto every = 5 * ms + below(60 * ms);
  for (real_time t = 300 * ms; t < chaos_end && !error_; t += every) {
    run_until(t);
    const auto burst = chance(0.1) ? 20 : 1;
    for (int i = 0; i < burst && !error_; ++i)
      submit(chance(0.8));
    read();
  }
  heal();
  // Copies and handovers take their time, but come to an end.
  run_until(now_ + 3 * second);
  for (int i = 0; i < 60 && !error_ && unsettled(); ++i) {
    balance();
    run_until(now_ + second / 2);
  }
  const auto before = stats_.acknowledged;
  for (int i = 0; i < 20 && !error_; ++i) {
    submit(true);
    run_until(now_ + 50 * ms);
    read();
  }
  run_until(now_ + second);
  if (!error_) error_ = unsettled();
  if (!error_ && stats_.acknowledged == before) fail("no progress after healing");
  return error_;
}

/// What is not as it should be when all is well again.
std::optional<std::string> world::unsettled() const {
  if (record_.leader == node_id::none) return "no leader after healing";
  if (record_.replicas.size() != 3) return "not three replicas after healing";
  if (record_.replicas.front() != record_.leader) return "another leads than should";
  const auto& leader = *nodes_.at(static_cast<std::size_t>(record_.leader) - 1);
  for (const auto& [lsn, op] : acknowledged_)
    if (leader.durable.content.size() < lsn || leader.durable.content[lsn - 1].op != op)
      return "acknowledged operation " + std::to_string(op) + " at " + std::to_string(lsn)
             + " is lost";
  for (const auto id : record_.replicas) {
    if (!record_.is_in_sync(id))
      return "replica " + std::to_string(static_cast<int>(id)) + " is not in sync";
    const auto& n = *nodes_.at(static_cast<std::size_t>(id) - 1);
    if (n.durable.content != leader.durable.content) return "replicas differ";
  }
  for (const auto id : record_.in_sync)
    if (!record_.is_replica(id)) return "a member is not a replica";
  return {};
}

} // namespace lycosa::cluster::sim
