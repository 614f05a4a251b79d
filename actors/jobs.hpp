#pragma once

#include "core/jobs/engine.hpp"
#include "core/jobs/event.hpp"
#include "core/jobs/executor.hpp"
#include "core/jobs/job.hpp"
#include "core/jobs/run.hpp"
#include "core/result.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// The job scheduler as its users inside the process see it: requests in, one answer each through
/// a callback. HTTP, the command line and the embedded library stand on this header.
namespace lycosa::actors {

/// Called exactly once, on a thread of the scheduler; must not block. An answer to a change comes
/// after the change is on disk.
template <class T>
using job_reply = std::function<void(result<T>)>;

/// Who carries out which kind of action; none = runs of that kind fail and say so.
struct job_executors {
  std::shared_ptr<jobs::executor> command, http, task, actor, function;
};

/// A job that is there before anything runs.
struct first_job {
  jobs::job job;
  bool replace = false;
};

struct job_settings {
  jobs::engine_limits limits;
  jobs::history_limits history;
  usec stop_wait = std::chrono::seconds{10}; ///< for runs under way at shutdown
  usec kill_grace = std::chrono::seconds{5}; ///< for them to end after that, when asked to
  job_executors executors;
  /// Added when the stored jobs have been read and before any of them runs; all or none.
  std::vector<first_job> first;
  bool start_paused = false; ///< nothing starts by itself before the first `resume_all`
  /// Called once, on the scheduler's thread, when `first` is stored and the scheduler runs, or with
  /// what keeps it from running: the store cannot be read, or `conflict` for one of `first`.
  std::function<void(result<void>)> ready;
};

/// What happens to the times that passed while a job was paused.
enum class resume_mode : std::uint8_t { skip, catch_up };

struct job_page {
  std::vector<jobs::job> jobs; ///< in order of ids
  std::string next;            ///< empty = end; else `after` of the next page
};

struct run_page {
  std::vector<jobs::run_record> runs; ///< newest first
  std::uint64_t next = 0;             ///< 0 = end; else `before` of the next page
};

struct job_statistics {
  std::uint64_t jobs = 0, paused = 0, finished = 0, running = 0, queued = 0, buffered = 0;
  std::uint64_t succeeded = 0, failed = 0, missed = 0, skipped = 0, dropped = 0; ///< since start
  bool scheduler_paused = false;
  std::optional<wall_time> next_at;    ///< when something is due
  std::vector<std::string> unreadable; ///< ids of stored jobs that cannot be read; left untouched
};

/// Ends the subscription when destroyed. After the destructor no call is made or under way, unless
/// it is destroyed from inside the callback.
class event_subscription {
public:
  virtual ~event_subscription() = default;
};

using job_ptr = std::shared_ptr<const jobs::job>;

class job_service {
public:
  virtual ~job_service() = default;

  /// Adds a job (`parse_job`, or filled in with `compile_trigger` called). Fails with `conflict`
  /// when the id exists and `replace` is false. Replaced with an equal trigger, a job keeps its
  /// next run, pause and history.
  virtual void add(jobs::job job, bool replace, job_reply<jobs::job> done) = 0;
  /// Many in one commit; one answer each, in order: the job as it is now if `whole`, else null.
  virtual void add_all(std::vector<jobs::job> jobs, bool replace, bool whole,
                       job_reply<std::vector<result<job_ptr>>> done) = 0;
  virtual void get(std::string id, job_reply<jobs::job> done) = 0;
  /// Jobs with ids after `after`.
  virtual void list(std::string after, std::size_t limit, job_reply<job_page> done) = 0;
  /// Keeps the next run unless the trigger changes.
  virtual void modify(std::string id, jobs::job_patch patch, job_reply<jobs::job> done) = 0;
  /// New trigger, planned from now; also ends a pause.
  virtual void reschedule(std::string id, std::string trigger_json, job_reply<jobs::job> done) = 0;
  virtual void pause(std::string id, std::string reason, job_reply<jobs::job> done) = 0;
  virtual void resume(std::string id, resume_mode mode, job_reply<jobs::job> done) = 0;
  /// Removes the job and its history; runs under way are cancelled.
  virtual void remove(std::string id, job_reply<bool> done) = 0;
  virtual void remove_all(job_reply<std::uint64_t> done) = 0;
  /// One run now, beside the schedule; the overlap policy and the executor's limits hold.
  virtual void run_now(std::string id, job_reply<jobs::run_record> done) = 0;
  /// Runs the trigger's times in [from, to], oldest first, one after the other. Answers how many;
  /// `too_large` past the buffer's limit.
  virtual void backfill(std::string id, wall_time from, wall_time to,
                        job_reply<std::uint64_t> done) = 0;
  /// Runs with numbers below `before`; 0 = from the newest.
  virtual void runs(std::string id, std::uint64_t before, std::size_t limit,
                    job_reply<run_page> done) = 0;
  /// The next planned times, at most `count`; none for a paused job.
  virtual void next(std::string id, std::size_t count, job_reply<std::vector<wall_time>> done) = 0;
  /// Why the job did not run at a time, or does not run now, in words.
  virtual void why(std::string id, std::optional<wall_time> at, job_reply<std::string> done) = 0;

  /// Nothing becomes due while paused; runs under way go on. On resume what is overdue is decided.
  virtual void pause_all(job_reply<bool> done) = 0;
  virtual void resume_all(job_reply<bool> done) = 0;
  virtual void statistics(job_reply<job_statistics> done) = 0;

  /// `on_event` is called for each event of the mask, in order, one at a time, on a thread of the
  /// subscription's own. A listener that is `buffer` events behind gets one `gap` event in place of
  /// those it has missed; it never holds up the scheduler.
  virtual std::unique_ptr<event_subscription>
  subscribe(jobs::event_mask mask, std::size_t buffer,
            std::function<void(const jobs::job_event&)> on_event) = 0;
};

} // namespace lycosa::actors
