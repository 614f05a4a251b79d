#pragma once

#include "core/jobs/event.hpp"
#include "core/jobs/executor.hpp"
#include "core/jobs/job.hpp"
#include "core/jobs/job_place.hpp"
#include "core/jobs/run.hpp"

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lycosa::jobs {

struct job_rest;
/// Every job there is, by id.
using job_index = std::map<std::string, job_rest, std::less<>>;

/// A job held whole, and those of its runs that have not ended.
struct job_slot {
  jobs::job job;
  job_index::iterator at;                 ///< where it rests
  std::list<job_slot*>::iterator recency; ///< its place among those held whole
  std::uint32_t active = 0;               ///< runs that are queued, running or retrying
  std::vector<run_key> open;              ///< active and buffered, oldest first
  std::deque<run_key> buffer;             ///< wait for an active one to end
};

/// What is held of every job, also of the millions that rest: some 200 bytes with its id. The rest
/// of it is fetched when it is due or asked for.
struct job_rest {
  wall_time planned = wall_time::max();  ///< its next run; max = none
  wall_time previous = wall_time::min(); ///< last time that was decided; min = none
  wall_time created{};
  std::uint64_t order = 0;        ///< of equal times: who was added first
  std::unique_ptr<job_slot> live; ///< none = at rest
  bool paused = false, finished = false, at_start = false, run_on_start = false;
};

/// What one named executor may carry at a time.
struct executor_limits {
  std::uint32_t concurrency = 10;     ///< runs under way, ≥ 1
  std::uint32_t queue_limit = 10'000; ///< runs that wait for a slot; more are dropped
};

/// Where there is one, takes the runs of "default" whose action is a task: handing one over keeps
/// nothing busy, so it need not wait for a slot beside commands and requests.
inline constexpr std::string_view task_pool = "tasks";

struct engine_limits {
  std::uint32_t catch_up_number = 100; ///< overdue times of a job looked at, the latest
  usec catch_up_age = std::chrono::hours{24 * 365}; ///< older ones are dropped
  std::uint32_t buffer = 1000;                      ///< runs of one job that wait for each other
  std::size_t cache = 16'384;                       ///< jobs held whole while they rest
  usec near = std::chrono::minutes{10}; ///< only those due so soon are held whole while they rest
  /// "default" is always there.
  std::map<std::string, executor_limits, std::less<>> executors;
};

/// What is to be done after decisions: first everything of the store in one commit, then the
/// rest in the order of the members.
struct effects {
  std::set<std::string> erased; ///< jobs to erase with all their runs, before anything is stored
  std::set<std::string> jobs;   ///< jobs to store whole
  std::set<std::string> places; ///< jobs of which only the place in time is to be stored
  std::map<std::pair<std::string, std::uint64_t>, run_record> runs; ///< to store
  std::vector<run_request> starts;
  std::vector<run_key> cancels;
  std::vector<job_event> events;
  /// Jobs that turned out to be unreadable. They are no longer known here, and stay in the store.
  std::vector<std::pair<std::string, error>> unreadable;
  [[nodiscard]] bool stores() const {
    return !erased.empty() || !jobs.empty() || !places.empty() || !runs.empty();
  }
};

struct job_counts {
  std::uint64_t jobs = 0, paused = 0, finished = 0;
};

/// Decides about jobs: what is due, what is too late, what overlaps, what runs next, what is
/// tried again. Knows when every job is due, holds whole those lately used and every run that has
/// not ended, and asks `source` for the others. Has no clock, no store and no thread: each call
/// takes `now` and adds to the effects, which `take` hands out.
///
/// Every nominal time gets exactly one decision and one record (those dropped together share
/// one), and the record and the job's new place in time belong to the same commit.
class engine {
public:
  /// `source` outlives the engine and has every job that was restored, or taken as an effect and
  /// followed by `rest`.
  engine(engine_limits limits, job_source& source);

  // -- start
  /// A stored job; call before anything else.
  void restore(std::string id, const job_place& place);
  /// A stored run that had not ended: what waited waits again, what ran is reported as lost.
  void restore(run_record r, wall_time now);
  /// Tells of the executors and the store there are.
  void opened(wall_time now);
  /// All is restored: runs what is to run at a start.
  void started(wall_time now);
  /// Fetches the jobs that are due first, as many as are held whole, so that those which cannot be
  /// read are known at once.
  void warm_up();
  /// What was taken is stored: jobs that are not due soon need not be held whole any longer.
  void rest(wall_time now);

  // -- changes; errors change nothing
  result<job> add(job j, bool replace, wall_time now);
  result<void> put(job j, bool replace, wall_time now); ///< `add` for those who need no copy
  result<job> modify(std::string_view id, const job_patch& patch, wall_time now);
  result<job> reschedule(std::string_view id, std::string_view trigger_json, wall_time now);
  result<job> pause(std::string_view id, std::string reason, wall_time now);
  result<job> resume(std::string_view id, bool catch_up, wall_time now);
  result<void> remove(std::string_view id, wall_time now);
  std::uint64_t remove_all(wall_time now);
  result<run_record> run_now(std::string_view id, wall_time now);
  result<std::uint64_t> backfill(std::string_view id, wall_time from, wall_time to, wall_time now);
  void pause_all(wall_time now);
  void resume_all(wall_time now);

  // -- time
  /// Decides everything that is due. Call at `next_wake`, and whenever time may have jumped.
  void advance(wall_time now);
  /// The clock was set. Jobs whose last time lies more than three hours ahead are planned anew:
  /// the clock had been wrong. Nearer ones keep it, so that nothing runs twice.
  void clock_changed(wall_time now);
  /// The rules of time zones changed: everything is planned again.
  void zones_changed(wall_time now);
  /// An attempt has ended. Unknown keys (of removed jobs) are ignored.
  void finished(run_key key, run_result result, wall_time now);
  [[nodiscard]] std::optional<wall_time> next_wake() const;

  // -- reads
  /// None when there is no such job, or it cannot be read.
  [[nodiscard]] const job* find(std::string_view id);
  [[nodiscard]] bool knows(std::string_view id) const { return jobs_.find(id) != jobs_.end(); }
  /// Readable jobs with ids after `after`, in their order, at most `limit`.
  [[nodiscard]] std::vector<job> list(std::string_view after, std::size_t limit) const;
  [[nodiscard]] const job_counts& counts() const { return counts_; }
  /// Runs of a job that have not ended, oldest first.
  [[nodiscard]] std::vector<run_record> open_runs(std::string_view id) const;
  /// Why a job does not run right now, or when it will.
  [[nodiscard]] std::string why(std::string_view id, wall_time now);
  [[nodiscard]] bool paused() const { return paused_; }
  [[nodiscard]] std::size_t running() const { return running_; }
  [[nodiscard]] std::vector<run_key> running_keys() const;
  [[nodiscard]] std::size_t queued() const;
  [[nodiscard]] std::size_t buffered() const { return buffered_; }
  [[nodiscard]] bool idle() const { return open_.empty(); }

  /// Only these kinds of events are made; all, unless told otherwise.
  void listen(event_mask wanted) { wanted_ = wanted; }
  /// Nothing starts any more; what becomes ready waits, and is found by the next start.
  void close() { closed_ = paused_ = true; }
  [[nodiscard]] const effects& pending() const { return out_; }
  [[nodiscard]] effects take() { return std::exchange(out_, {}); }

  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

private:
  struct pool {
    executor_limits limits;
    std::uint32_t running = 0;
    std::deque<run_key> queue;
  };
  struct open_run {
    run_record record;
    job_slot* owner = nullptr; ///< none = the job was removed while this ran
    pool* where = nullptr;
    bool cancel_asked = false;
    bool deferred = false; ///< waited on purpose: no misfire
  };
  /// A time that is due.
  struct due_time {
    wall_time nominal, planned;
  };

  struct by_time {
    bool operator()(const job_index::iterator& a, const job_index::iterator& b) const {
      return std::pair{a->second.planned, a->second.order}
             < std::pair{b->second.planned, b->second.order};
    }
  };

  [[nodiscard]] job_slot* slot(std::string_view id);
  job_slot* whole(job_index::iterator i);
  job_slot& hold(job_index::iterator i, job j);
  void refresh(job_slot& s);
  void count(const job_rest& r, std::uint64_t by);
  void replan_some(wall_time now);
  void plan_at(job_slot& s, std::optional<trigger::fire> next);
  void unplan(job_index::iterator i);
  [[nodiscard]] static std::optional<trigger::fire> first_fire(const job& j, wall_time now);
  void decide_due(job_slot& s, wall_time now);
  [[nodiscard]] std::deque<due_time> collect_due(job_slot& s, wall_time now);
  void drop(job_slot& s, run_state why, event_kind kind, const std::deque<due_time>& times,
            std::uint64_t count, bool at_least, wall_time now, std::string reason);
  void admit(job_slot& s, due_time t, run_cause cause, bool backlog, wall_time now);
  run_key open(job_slot& s, due_time t, run_cause cause, run_state state, wall_time now);
  void submit(run_key key, wall_time now);
  void start(run_key key, wall_time now);
  void fill(pool& p, wall_time now);
  void end(run_key key, run_state state, std::string reason, wall_time now);
  void release(job_slot& s, wall_time now);
  void cancel(run_key key, wall_time now);
  void record(const run_record& r);
  void emit(event_kind kind, wall_time now, const run_record& r);
  void emit(event_kind kind, wall_time now, std::string job_id, std::uint64_t count = 1);
  void emit_alias(event_kind kind, wall_time now, std::string alias);
  void changed(const job_slot& s);
  void moved(const job_slot& s);
  void reap(wall_time now);
  void abandon(job_slot& s);
  [[nodiscard]] static bool has_room(const job_slot& s);
  void touch(job_slot& s);
  bool let_rest(job_slot& s);
  [[nodiscard]] pool* find_pool(std::string_view name);
  [[nodiscard]] std::string_view pool_name(const job& j) const;
  [[nodiscard]] pool* pool_of(const job& j);
  [[nodiscard]] tl::unexpected<error> unknown(std::string_view id) const;

  engine_limits limits_;
  job_source& source_;
  job_index jobs_;
  job_counts counts_;
  std::list<job_slot*> used_; ///< jobs held whole, the latest used first
  std::size_t touched_ = 0;   ///< how many of them, from the first, at most since `rest`
  /// Jobs that have a time and are not paused.
  std::set<job_index::iterator, by_time> agenda_;
  std::optional<std::string> replanned_; ///< zones have changed: jobs up to this one are done
  std::multimap<wall_time, run_key> retries_;
  std::map<run_key, open_run> open_; ///< in the order of their making
  std::map<std::string, pool, std::less<>> pools_;
  std::uint64_t last_key_ = 0;
  std::size_t running_ = 0;
  std::size_t buffered_ = 0;
  std::uint64_t last_order_ = 0;
  bool paused_ = false;
  bool closed_ = false;
  event_mask wanted_ = all_events;
  std::vector<std::string> ended_; ///< jobs that are to go when their runs have ended
  effects out_;
};

} // namespace lycosa::jobs
