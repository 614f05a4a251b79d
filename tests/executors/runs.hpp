#pragma once

#include "core/jobs/executor.hpp"

#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace lycosa::executors::test {

/// Starts runs with numbers of their own and waits for their ends.
class runs {
public:
  explicit runs(jobs::executor& e) : executor_(e) {}

  /// A run under way. `wait` fails the test by its outcome if nothing comes for a minute.
  struct pending {
    jobs::run_key key{};
    std::future<jobs::run_result> result;

    jobs::run_result wait() {
      if (result.wait_for(std::chrono::minutes{1}) == std::future_status::ready)
        return result.get();
      jobs::run_result lost;
      lost.outcome = jobs::run_outcome::error;
      lost.error = "the run never ended";
      return lost;
    }
  };

  pending start(jobs::action action, std::optional<usec> timeout = {}) {
    jobs::run_request request;
    request.key = jobs::run_key{++last_};
    request.job_id = "nightly";
    request.action = std::move(action);
    request.timeout = timeout;
    return start(std::move(request));
  }

  pending start(jobs::run_request request) {
    const auto key = request.key;
    // A second call of the handler would throw from set_value: that it is called once is checked.
    auto promise = std::make_shared<std::promise<jobs::run_result>>();
    auto future = promise->get_future();
    executor_.start(std::move(request),
                    [promise](jobs::run_result r) { promise->set_value(std::move(r)); });
    return {key, std::move(future)};
  }

  jobs::run_result run(jobs::action action, std::optional<usec> timeout = {}) {
    return start(std::move(action), timeout).wait();
  }

private:
  jobs::executor& executor_;
  std::uint64_t last_ = 0;
};

inline jobs::command_action sh(std::string text) {
  jobs::command_action a;
  a.shell = std::move(text);
  return a;
}

inline jobs::command_action argv(std::vector<std::string> args) {
  jobs::command_action a;
  a.argv = std::move(args);
  return a;
}

} // namespace lycosa::executors::test
