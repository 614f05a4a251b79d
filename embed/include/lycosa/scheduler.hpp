#pragma once

#include <lycosa/events.hpp>
#include <lycosa/function.hpp>
#include <lycosa/schedule.hpp>

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// A job scheduler inside a program: functions, commands and HTTP requests on any trigger.
///
///     lycosa::scheduler s;
///     s.add_job("hello", lycosa::every(10s), [](const std::string& who) { greet(who); }, "world");
///     s.run();
namespace lycosa {

/// Why a call was refused.
enum class failure { invalid, not_found, conflict, too_large, unavailable, storage, internal };

/// Thrown by the calls of `scheduler`; nothing was changed then.
class LYCOSA_API scheduler_error : public std::runtime_error {
public:
  scheduler_error(failure kind, std::string field, std::string reason);
  ~scheduler_error() override;
  [[nodiscard]] failure kind() const { return kind_; }
  [[nodiscard]] const std::string& field() const { return field_; } ///< e.g. `trigger.hour`
  [[nodiscard]] const std::string& reason() const { return reason_; }

private:
  failure kind_;
  std::string field_, reason_;
};

/// What happens to a time that comes while `max_instances` runs of the job are under way.
enum class overlap { skip, buffer_one, buffer_all, cancel_other, allow };
/// Which of several times that came due together are run.
enum class coalesce { latest, earliest, all };

/// Rules of a job. What is left out is taken from `scheduler_options::job_defaults`, then from the
/// values told here.
struct job_options {
  std::optional<std::string> name = {};
  std::optional<std::string> timezone = {};              ///< IANA name; the scheduler's
  std::optional<std::string> executor = {};              ///< one of `scheduler_options::executors`
  std::optional<unsigned> max_instances = {};            ///< 1
  std::optional<lycosa::overlap> overlap = {};           ///< skip
  std::optional<lycosa::coalesce> coalesce = {};         ///< latest
  std::optional<duration> misfire_grace_time = {};       ///< 60 s; duration::max() = never late
  std::optional<duration> jitter = {};                   ///< 0
  std::optional<unsigned> retries = {};                  ///< 0
  std::optional<std::vector<duration>> retry_delay = {}; ///< 10 s, doubling up to an hour
  std::optional<duration> timeout = {};                  ///< of one attempt; none
  std::optional<bool> run_on_start = {};  ///< also run when the scheduler starts; false
  std::optional<bool> rerun_lost = {};    ///< run again what a crash cut off; false
  std::optional<bool> keep_finished = {}; ///< keep it, with its runs, when its trigger ends; true
  std::optional<std::string> paused = {}; ///< added paused, for this reason
  std::map<std::string, std::string> tags = {};
  /// An id that exists: replace the job, instead of `conflict`. With an equal trigger it keeps its
  /// next time and history.
  bool replace_existing = false;
};

struct scheduler_options {
  std::string data = {};     ///< directory that keeps jobs and runs; empty = memory
  unsigned concurrency = 10; ///< runs at a time; more wait
  std::map<std::string, unsigned> executors = {}; ///< further ones by name, with their concurrency
  unsigned queue_limit = 10'000; ///< runs that wait for an executor; more are dropped
  std::string timezone = {};     ///< IANA name; empty = the machine's
  job_options job_defaults = {};
  unsigned history_count = 100;                       ///< runs kept a job, ≥ 1
  duration history_age = std::chrono::hours{24 * 30}; ///< 0 = as long as they are within the count
  unsigned catch_up = 100;                            ///< overdue times of a job looked at
  bool start_paused = false; ///< nothing starts by itself before `resume_all`
  /// Wait of the destructor for runs under way.
  duration destructor_deadline = std::chrono::seconds{10};
  /// From asking a function or command to end to leaving it behind, or killing it.
  duration end_grace = std::chrono::seconds{2};
  std::uint64_t store_size = std::uint64_t{1} << 30; ///< bytes the directory's store may grow to
  bool sync = true; ///< false: a power cut may take what was changed last
};

struct job_info {
  std::string id, name;
  std::string trigger, action;             ///< JSON
  std::optional<time_point> next_run_time; ///< none while paused or pending
  bool paused = false;
  std::string pause_reason;
  bool pending = false;  ///< the scheduler has not been started yet
  bool finished = false; ///< its trigger has ended
  std::string json;      ///< the whole job
};

struct import_result {
  std::size_t added = 0;
  std::vector<std::string> refused; ///< "id: why"
};

enum class resume_mode { skip, catch_up };

/// Ends listening when destroyed; no call is made or under way then, unless it is destroyed from
/// inside the callback.
class LYCOSA_API subscription {
public:
  subscription();
  subscription(subscription&&) noexcept;
  subscription& operator=(subscription&&) noexcept;
  ~subscription();
  void end();

private:
  friend class scheduler;
  struct LYCOSA_LOCAL state;
  explicit subscription(std::shared_ptr<state> s);
  std::shared_ptr<state> state_;
};

/// Every call may be made from any thread, from inside a job's function and from inside a listener;
/// it returns when the change is stored. Jobs that are added before `start` are pending: they have
/// no next time and no store yet.
class LYCOSA_API scheduler {
public:
  explicit scheduler(scheduler_options options = {});
  /// `shutdown(true, destructor_deadline)`. From inside a job or a listener it does not wait.
  ~scheduler();
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  // -- life
  /// Opens the store and begins to run jobs on threads of its own. Throws, and leaves the pending
  /// jobs pending, when the store cannot be opened or one of them is in it already. A second call
  /// does nothing; one after `shutdown` throws.
  void start();
  /// Starts, unless that was done, and returns when the scheduler has been shut down.
  void run();
  /// Starts nothing more. With `wait`, returns when the runs under way have ended and all is
  /// stored; what still runs after `deadline` (none = no limit) is asked to end, and left behind
  /// after `end_grace` more. Without, they are asked to end at once, and it does not wait. Called
  /// from inside a job or a listener it begins all that and returns. Another call may only shorten
  /// the deadline.
  void shutdown(bool wait = true, std::optional<duration> deadline = std::nullopt);
  [[nodiscard]] bool running() const; ///< started and not shut down

  // -- jobs
  /// Adds a job that calls `fn(args…)` or `fn(run_context&, args…)`; whether it can is checked when
  /// compiled. Arguments are kept by value and given as const&. What `fn` throws is the run's
  /// error, what it returns its value. In memory `id` may be empty: one is made.
  ///
  /// With a data directory the job stays after the program has ended, the function does not: until
  /// a job of this id is added again (with `replace_existing`), its runs fail and say so.
  template <class F, class... A>
  requires detail::takes<std::decay_t<F>, detail::kept<A>...> job_info
  add_job(std::string id, const schedule& when, const job_options& options, F&& fn, A&&... args) {
    return add_function(std::move(id), when, options,
                        detail::bind<std::decay_t<F>, detail::kept<A>...>(
                            std::forward<F>(fn), std::forward<A>(args)...));
  }
  template <class F, class... A>
  requires detail::takes<std::decay_t<F>, detail::kept<A>...>
      job_info add_job(std::string id, const schedule& when, F&& fn, A&&... args) {
    return add_job(std::move(id), when, job_options{}, std::forward<F>(fn),
                   std::forward<A>(args)...);
  }
  /// A job that calls a registered function, runs a command or sends a request.
  job_info add_job(std::string id, const schedule& when, const work& what,
                   const job_options& options = {});
  /// A job object, as `POST /v1/jobs` takes it; defaults are filled in.
  job_info add_job_json(std::string_view job);

  /// Declares a job where its function is: `s.scheduled("report", cron("0 6 * * *")) = [] {…};`
  /// Adds it, or replaces the one of that id.
  class registration {
  public:
    template <class F>
    requires detail::takes<std::decay_t<F>>
    void operator=(F&& fn) && { // NOLINT: it is a statement, nothing to chain
      owner_.add_job(std::move(id_), when_, options_, std::forward<F>(fn));
    }

  private:
    friend class scheduler;
    registration(scheduler& owner, std::string id, schedule when, job_options options)
        : owner_(owner), id_(std::move(id)), when_(std::move(when)), options_(std::move(options)) {}
    scheduler& owner_;
    std::string id_;
    schedule when_;
    job_options options_;
  };
  [[nodiscard]] registration scheduled(std::string id, schedule when, job_options options = {}) {
    options.replace_existing = true;
    return {*this, std::move(id), std::move(when), std::move(options)};
  }

  /// Registers a function for jobs of `call(name, args…)`, which survive a restart: its parameters
  /// (numbers, bool, std::string, vector, map and optional of these, json_text) are read from the
  /// job's JSON. Replaces one of that name.
  template <class F>
  void function(std::string name, F fn) {
    register_function(std::move(name), detail::from_json<std::decay_t<F>>(std::move(fn)));
  }

  /// Changes members of a job: a JSON object. Keeps the next time unless the trigger changes.
  job_info modify(std::string_view id, std::string_view members);
  job_info modify(std::string_view id, const job_options& options);
  /// New trigger, planned from now; also ends a pause.
  job_info reschedule(std::string_view id, const schedule& when);
  job_info pause(std::string_view id, std::string_view reason = {});
  /// Times that passed during the pause are skipped, or decided as overdue.
  job_info resume(std::string_view id, resume_mode mode = resume_mode::skip);
  /// With its runs; those under way are cancelled. False if there is no such job.
  bool remove(std::string_view id);
  std::size_t remove_all();
  /// One run now, beside the schedule.
  run_info run_now(std::string_view id);

  // -- looking
  [[nodiscard]] std::optional<job_info> get(std::string_view id) const;
  [[nodiscard]] std::vector<job_info> list() const; ///< in the order of ids
  /// One line a job: `name (trigger: …, next run at: …)`, or `paused`, or `pending`.
  void print_jobs(std::ostream& out) const;
  /// Newest first.
  [[nodiscard]] std::vector<run_info> runs(std::string_view id, std::size_t limit = 100) const;
  /// The next planned times; none while paused or pending.
  [[nodiscard]] std::vector<time_point> next(std::string_view id, std::size_t count = 1) const;
  /// Why a job did not run at a time, or does not run now, in words.
  [[nodiscard]] std::string why(std::string_view id,
                                std::optional<time_point> at = std::nullopt) const;
  [[nodiscard]] std::string export_json() const; ///< a list of job objects
  /// Adds the jobs of such a list. Throws, adding none, when one is not valid.
  import_result import_json(std::string_view jobs, bool replace_existing = false);

  // -- all
  /// Nothing becomes due; runs under way go on.
  void pause_all();
  /// What is overdue is decided by each job's rules.
  void resume_all();

  /// Calls `callback` for events of the kinds, in order, on a thread of its own; what it throws is
  /// logged. One that is more than `buffer` events behind gets a `gap` for those it missed.
  [[nodiscard]] subscription on(events::mask kinds, std::function<void(const event&)> callback,
                                std::size_t buffer = 10'000);

private:
  job_info add_function(std::string id, const schedule& when, const job_options& options,
                        detail::function fn);
  void register_function(std::string name, detail::function fn);

  class LYCOSA_LOCAL impl;
  std::shared_ptr<impl> impl_;
};

} // namespace lycosa
