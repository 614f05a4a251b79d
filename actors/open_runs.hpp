#pragma once

#include "core/jobs/actor_name.hpp"
#include "core/jobs/executor.hpp"

#include <caf/actor.hpp>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace lycosa::actors {

/// A run of an `actor` action.
struct actor_run {
  jobs::run_request request;
  jobs::actor_name to;
  std::optional<std::chrono::steady_clock::time_point> deadline;

  // kept by open_runs
  jobs::executor::done_handler done;
  caf::actor worker; ///< waits for the answer; none = nobody does yet
  bool over = false;
};
using actor_run_ptr = std::shared_ptr<actor_run>;

/// The runs of an executor that have not ended; each ends once, whoever is first to end it. Called
/// from any thread.
class open_runs {
public:
  /// Whether it is taken: not after `stop`. It is not told then.
  [[nodiscard]] bool add(const actor_run_ptr& run);
  /// Says who works on it. False: it is over, nobody need.
  [[nodiscard]] bool assign(const actor_run_ptr& run, const caf::actor& worker);
  void end(const actor_run_ptr& run, jobs::run_result result);
  void cancel(jobs::run_key key);
  /// Takes no more and cancels all. Returns when every `done` has returned, unless called from
  /// inside one.
  void stop();

  /// Whether this thread is inside a `done`.
  [[nodiscard]] static bool inside_done();

private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::map<jobs::run_key, actor_run_ptr> runs_; ///< whose `done` has not returned
  bool stopping_ = false;
};

/// Runs on their way to the actor that is told of them by a message.
class run_inbox {
public:
  void put(actor_run_ptr run);
  [[nodiscard]] std::vector<actor_run_ptr> take();

private:
  std::mutex mutex_;
  std::vector<actor_run_ptr> runs_;
};

[[nodiscard]] jobs::run_result failed_run(jobs::run_outcome how, std::string why);

} // namespace lycosa::actors
