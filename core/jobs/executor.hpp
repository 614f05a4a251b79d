#pragma once

#include "core/jobs/action.hpp"
#include "core/types.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lycosa::jobs {

/// Number of a run, given by whoever starts it; unique among the runs an executor has at a time.
enum class run_key : std::uint64_t {};

/// One attempt to run a job.
struct run_request {
  run_key key{};
  std::string job_id;
  jobs::action action;
  wall_time nominal;           ///< the time of the schedule, not of the start
  std::uint32_t attempt = 0;   ///< 0 = first, n = n-th retry
  std::optional<usec> timeout; ///< from the start of the work; none = no limit
};

enum class run_outcome : std::uint8_t {
  success,
  error,     ///< it failed, or could not be started; `run_result::error` says why
  timeout,   ///< it was ended because its time was up
  cancelled, ///< it was ended by `cancel` or `stop`
};

/// How an attempt ended. Fields that do not apply to the kind of action stay empty.
struct run_result {
  run_outcome outcome = run_outcome::success;
  std::optional<int> exit_code;   ///< command: set if the program exited by itself
  std::optional<int> signal;      ///< command: the signal that ended the program
  std::optional<int> http_status; ///< http: the status of the last answer
  std::string output;      ///< last bytes of the output or the answer's body; may be no UTF-8
  bool output_cut = false; ///< bytes before `output` were dropped
  std::string value;       ///< return value, JSON; empty = none
  std::string error;       ///< one line for a person; empty if and only if `success`
};

using done_handler = std::function<void(run_result)>;

struct run_start {
  run_request request;
  done_handler done;
};

/// Carries out the actions of one kind. Callable from any thread.
class executor {
public:
  using done_handler = jobs::done_handler;

  virtual ~executor() = default;

  /// Starts a run and returns at once: never waits for the work, nor for a slot.
  /// `done` is called exactly once, on any thread, possibly before `start` returns; also for what
  /// cannot be started. It must be short and must not throw.
  virtual void start(run_request request, done_handler done) = 0;

  /// The same for runs that begin together, in their order.
  virtual void start_all(std::vector<run_start> runs) {
    for (auto& r : runs)
      start(std::move(r.request), std::move(r.done));
  }

  /// Asks a run to end; its `done` then says `cancelled`, unless it ended otherwise before.
  /// Nothing happens for a key that is not running.
  virtual void cancel(run_key key) = 0;

  /// Takes no more runs, asks those that run to end, ends them by force after `grace` (≥ 0), and
  /// returns when every `done` has been called. Called from inside a `done` it only begins that
  /// and does not wait. A second call may shorten the grace of the first.
  virtual void stop(usec grace) = 0;
};

} // namespace lycosa::jobs
