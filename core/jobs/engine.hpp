#pragma once

#include "core/jobs/event.hpp"
#include "core/jobs/executor.hpp"
#include "core/jobs/job.hpp"
#include "core/jobs/run.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lycosa::jobs {

/// A job and those of its runs that have not ended.
struct job_slot {
  jobs::job job;
  std::uint64_t order = 0;    ///< of equal times: who was added first
  std::uint32_t active = 0;   ///< runs that are queued, running or retrying
  std::vector<run_key> open;  ///< active and buffered, oldest first
  std::deque<run_key> buffer; ///< wait for an active one to end
};

/// What one named executor may carry at a time.
struct executor_limits {
  std::uint32_t concurrency = 10;     ///< runs under way, ≥ 1
  std::uint32_t queue_limit = 10'000; ///< runs that wait for a slot; more are dropped
};

struct engine_limits {
  std::uint32_t catch_up_number = 100; ///< overdue times of a job looked at, the latest
  usec catch_up_age = std::chrono::hours{24 * 365}; ///< older ones are dropped
  std::uint32_t buffer = 1000;                      ///< runs of one job that wait for each other
  std::uint32_t history_count = 100;                ///< records kept a job, ≥ 1
  std::map<std::string, executor_limits, std::less<>> executors; ///< "default" is always there
};

/// What is to be done after decisions: first everything of the store in one commit, then the
/// rest in the order of the members.
struct effects {
  std::set<std::string> erased; ///< jobs to erase with all their runs, before anything is stored
  std::set<std::string> jobs;   ///< jobs to store
  std::map<std::pair<std::string, std::uint64_t>, run_record> runs; ///< to store
  std::vector<std::pair<std::string, std::uint64_t>> forgotten;     ///< run records to erase
  std::vector<run_request> starts;
  std::vector<run_key> cancels;
  std::vector<job_event> events;
  [[nodiscard]] bool stores() const {
    return !erased.empty() || !jobs.empty() || !runs.empty() || !forgotten.empty();
  }
};

/// Decides about jobs: what is due, what is too late, what overlaps, what runs next, what is
/// tried again. Holds every job and every run that has not ended; has no clock, no store and no
/// thread: each call takes `now` and adds to the effects, which `take` hands out.
///
/// Every nominal time gets exactly one decision and one record (those dropped together share
/// one), and the record and the job's new place in time belong to the same commit.
class engine {
public:
  explicit engine(engine_limits limits);

  // -- start
  /// A stored job; call before anything else.
  void restore(job j);
  /// A stored run that had not ended: what waited waits again, what ran is reported as lost.
  void restore(run_record r, wall_time now);
  /// Tells of the executors and the store there are.
  void opened(wall_time now);
  /// All is restored: runs what is to run at a start.
  void started(wall_time now);

  // -- changes; errors change nothing
  result<job> add(job j, bool replace, wall_time now);
  result<job> modify(std::string_view id, const job_patch& patch, wall_time now);
  result<job> reschedule(std::string_view id, std::string trigger_json, wall_time now);
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
  [[nodiscard]] const job* find(std::string_view id) const;
  [[nodiscard]] const std::map<std::string, std::unique_ptr<job_slot>, std::less<>>& slots() const {
    return jobs_;
  }
  /// Runs of a job that have not ended, oldest first.
  [[nodiscard]] std::vector<run_record> open_runs(std::string_view id) const;
  /// Why a job does not run right now, or when it will.
  [[nodiscard]] std::string why(std::string_view id, wall_time now) const;
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

  [[nodiscard]] job_slot* slot(std::string_view id);
  void plan_at(job_slot& s, std::optional<trigger::fire> next);
  void unplan(job_slot& s);
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
  void reap(wall_time now);
  [[nodiscard]] static bool has_room(const job_slot& s);
  [[nodiscard]] pool* find_pool(std::string_view name);
  [[nodiscard]] tl::unexpected<error> unknown(std::string_view id) const;

  engine_limits limits_;
  std::map<std::string, std::unique_ptr<job_slot>, std::less<>> jobs_;
  /// Planned times of jobs that are not paused.
  std::map<std::pair<wall_time, std::uint64_t>, job_slot*> agenda_;
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
