#pragma once

#include "core/jobs/executor.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

namespace lycosa::executors {

/// What a function is told of the run it is called for.
struct function_call {
  std::string job_id;
  wall_time nominal;         ///< the time of the schedule
  std::uint32_t attempt = 0; ///< 0 = first, n = n-th retry
  std::string args;          ///< JSON
  std::stop_token stop;      ///< asked for at time-out, `cancel` and `stop`
};

/// Returns the run's value, JSON, or nothing. The text of what it throws is the run's error.
using job_function = std::function<std::string(const function_call&)>;

/// The function of a name; nothing if there is none. Called on the pool's threads.
using function_lookup = std::function<std::shared_ptr<const job_function>(const std::string& name)>;

struct function_options {
  function_lookup find;
  std::size_t threads = 10; ///< functions called at a time, ≥ 1; more wait
  /// From asking a function to end to leaving its thread behind.
  usec abandon_after = std::chrono::seconds{10};
};

/// Calls the functions of `function_action`s on a pool of threads, made as they are needed. They
/// have the signal mask of the thread that made the executor.
///
/// Nothing can end a function but itself. At time-out, `cancel` and `stop` it is asked to by its
/// stop token, and the run is over when it returns, whatever it returns. One that does not return
/// in time is left behind with its thread: the run is over and says so, and the pool makes another
/// thread in its place. What it uses must then outlive it.
[[nodiscard]] std::unique_ptr<jobs::executor> make_function_executor(function_options o);

} // namespace lycosa::executors
