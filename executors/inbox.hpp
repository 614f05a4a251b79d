#pragma once

#include "core/jobs/executor.hpp"

#include <mutex>
#include <utility>
#include <variant>
#include <vector>

namespace lycosa::executors {

struct start_op {
  jobs::run_request request;
  jobs::executor::done_handler done;
};
struct cancel_op {
  jobs::run_key key{};
};
struct stop_op {
  mono_time deadline; ///< what still runs then is ended by force
};
using op = std::variant<start_op, cancel_op, stop_op>;

/// What callers ask of an event thread, in their order.
class inbox {
public:
  /// False, and `o` is left alone, for a start after a stop.
  [[nodiscard]] bool post(op&& o) {
    const std::lock_guard hold(lock_);
    if (stopped_ && std::holds_alternative<start_op>(o)) return false;
    stopped_ = stopped_ || std::holds_alternative<stop_op>(o);
    ops_.push_back(std::move(o));
    return true;
  }

  [[nodiscard]] std::vector<op> take() {
    const std::lock_guard hold(lock_);
    return std::exchange(ops_, {});
  }

private:
  std::mutex lock_;
  std::vector<op> ops_;
  bool stopped_ = false;
};

} // namespace lycosa::executors
