#pragma once

#include "core/cluster/shard_replica.hpp"

#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

/// A world in virtual time in which several nodes keep one shard: a coordination store, a network,
/// disks and clocks that all misbehave, and clients that remember what they were told.
///
/// Everything follows from the seed. Real time is in microseconds from the beginning; each node has
/// a clock of its own that runs at another rate and shows another time.
namespace lycosa::cluster::sim {

using real_time = std::int64_t;

/// One batch as kept: who made it and what is in it. op 0 = the opening of an epoch.
struct entry {
  epoch_number epoch = 0;
  std::uint64_t op = 0;
  friend bool operator==(const entry&, const entry&) = default;
};

/// What a node's disk holds of the shard. The log's batches are part of the content.
struct files {
  std::vector<entry> content; ///< by LSN - 1
  lsn_number log_begin = 1;
  copy_id last_copy;
  std::optional<copy_progress> copying;
  friend bool operator==(const files&, const files&) = default;
};

/// A change of the files; what was not synced in time is lost in a crash, the last first.
struct disk_write {
  enum class kind : std::uint8_t { batch, trim, discard, chunk } what = kind::batch;
  entry batch;
  lsn_number trim = 0;
  copy_progress copy; ///< discard: what begins; chunk: what is reached
  std::vector<entry> chunk;
  bool last = false;
};
void apply(files& f, const disk_write& w);

struct packet {
  node_id from = node_id::none;
  message what;
  std::vector<entry> payload;
};

struct snapshot {
  entry_id at;
  std::vector<entry> content;
};

class node {
public:
  node_id id = node_id::none;
  bool up = false;
  bool paused = false;
  bool gone = false; ///< for good
  std::uint64_t incarnation = 0;
  double clock_rate = 1;
  std::int64_t clock_offset = 0;

  files now;     ///< as the process sees it
  files durable; ///< as a crash leaves it
  std::vector<disk_write> unsynced;
  std::size_t in_sync_call = 0; ///< so many of them are being synced
  double disk_slowness = 1;

  std::unique_ptr<shard_replica> replica;
  std::map<lsn_number, std::uint64_t> open; ///< submitted, not answered: op by LSN
  std::map<copy_id, snapshot> snapshots;
  std::vector<std::function<void()>> deferred; ///< what happened while it was paused

  session_id session = session_id::none;
  std::optional<session_lease> lease;
  std::uint64_t members_revision = 0;
};

struct statistics {
  std::uint64_t acknowledged = 0, failed = 0, refused = 0, elections = 0, handovers = 0, copies = 0,
                crashes = 0, fenced = 0, lease_ends = 0, shrinks = 0, grows = 0, deaths = 0,
                reads = 0, events = 0, placements = 0;
  statistics& operator+=(const statistics& o);
};

/// How bad the world is; drawn from the seed.
struct weather {
  int nodes = 3;
  double loss = 0, twice = 0, disorder = 0;
  std::int64_t delay = 500, late_watch = 1000;
  double late = 0; ///< share of messages that take up to a second
  std::int64_t fault_every = 0;
  bool crashes = false, pauses = false, partitions = false, store_cuts = false, slow_disks = false,
       moves = false, deaths = false;
  /// Clocks run apart by more than the lease allows for: only what hangs on no clock is true then.
  bool bad_clocks = false;
  std::uint32_t min_in_sync = 2;
};

class world {
public:
  explicit world(std::uint64_t seed, bool trace = false);

  /// The whole run. What went wrong, if anything.
  std::optional<std::string> run();
  [[nodiscard]] const statistics& stats() const { return stats_; }

private:
  struct event {
    real_time at;
    std::uint64_t order;
    std::function<void()> what;
    bool operator>(const event& o) const { return std::pair{at, order} > std::pair{o.at, o.order}; }
  };

  // -- time and chance ---
  void at(std::int64_t after, std::function<void()> what);
  /// On a node, unless it has crashed by then; later if it is paused.
  void on(node& n, std::int64_t after, std::function<void()> what);
  void run_until(real_time end);
  [[nodiscard]] mono_time clock(const node& n) const;
  std::int64_t below(std::int64_t n) {
    return n <= 0 ? 0 : static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  bool chance(double p) { return static_cast<double>(random_() >> 11) * 0x1p-53 < p; }
  void fail(const std::string& what);
  template <class... Parts>
  void note(const node& n, const Parts&... parts);

  // -- nodes (simulation_node.cpp) ---
  node& get(node_id id) { return *nodes_.at(static_cast<std::size_t>(id) - 1); }
  void start(node& n);
  void crash(node& n);
  void pause(node& n);
  void resume(node& n);
  void tick(node& n);
  void keep_alive(node& n);
  void carry_out(node& n, const effects& todo, const packet* handled);
  void send(node& n, node_id to, message what);
  void deliver(node& to, const packet& p);
  void write(node& n, disk_write w);
  void sync(node& n);
  void written(node& n, std::size_t count);
  void acknowledge(node& n, lsn_number through);
  void check_members();
  void check_name(const node& n, lsn_number lsn, const entry& e);
  template <class F>
  void with(node& n, const packet* handled, F&& call);

  // -- the coordination store (simulation_store.cpp) ---
  struct session {
    node_id node;
    real_time expires;
  };
  void to_store(node& n, std::function<void()> request);
  void from_store(node& n, bool watch, std::function<void()> answer);
  void propose(node& n, const effect::propose& p);
  bool change_record(const shard_record& next, session_id ended);
  void tell_record(node& n, bool watch);
  void tell_members(node& n, bool watch);
  void expire_sessions();
  void members_changed();

  // -- trouble, clients, checks (simulation.cpp) ---
  void trouble();
  void heal();
  void move_replicas();
  void die(node& n);
  void balance();
  void submit(bool to_leader);
  void read();
  [[nodiscard]] std::optional<std::string> unsettled() const;

  std::mt19937_64 random_;
  bool trace_;
  weather weather_;
  replication_limits limits_;
  real_time now_ = 0;
  std::uint64_t order_ = 0;
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  std::vector<std::unique_ptr<node>> nodes_;
  std::set<std::pair<node_id, node_id>> cut_; ///< from, to; node_id::none = the store
  std::map<std::pair<node_id, node_id>, real_time> last_arrival_;
  bool calm_ = false;

  shard_record record_;
  std::map<session_id, session> sessions_;
  std::uint64_t last_session_ = 0;
  std::uint64_t members_revision_ = 0;

  std::uint64_t last_op_ = 0;
  std::map<lsn_number, std::uint64_t> acknowledged_; ///< op by LSN
  std::map<epoch_number, std::pair<node_id, std::uint64_t>> acknowledging_;
  std::unordered_map<std::uint64_t, std::uint64_t> names_; ///< (epoch, LSN) → op
  std::optional<std::string> error_;
  statistics stats_;
};

template <class... Parts>
void world::note(const node& n, const Parts&... parts) {
  if (!trace_) return;
  std::cerr << now_ / 1000 << " ms, node " << static_cast<int>(n.id) << ": ";
  (std::cerr << ... << parts) << '\n';
}

/// Calls into the replica and carries out what comes of it.
template <class F>
void world::with(node& n, const packet* handled, F&& call) {
  effects out;
  const bool led = n.replica->leads();
  call(out);
  carry_out(n, out, handled);
  if (!led && n.replica->leads()) note(n, "leads epoch ", n.replica->record()->epoch);
}

} // namespace lycosa::cluster::sim
