#pragma once

#include "executors/child.hpp"
#include "executors/command_executor.hpp"
#include "executors/event_thread.hpp"
#include "executors/tail_buffer.hpp"

#include <cstdint>
#include <deque>
#include <set>
#include <unordered_map>

namespace lycosa::executors {

/// One running command. States: running → (time-out, cancel, stop) ending → killed; in each of
/// them the leader may be gone.
struct command_run {
  jobs::run_key key{};
  jobs::executor::done_handler done;
  executors::child child;
  unique_fd output; ///< read end, non-blocking; closed at end of file
  tail_buffer tail;
  std::optional<usec> timeout;
  std::optional<mono_time> deadline; ///< of the present state; also in the loop's timers
  jobs::run_outcome ended_by = jobs::run_outcome::success; ///< success = nobody asked it to end
  bool killed = false;
  bool leader_gone = false; ///< exited, but not yet reaped: so its group's id stays taken
};

/// epoll over the leaders' pidfds, their output pipes, one timerfd for all deadlines, and an
/// eventfd for the inbox.
class command_loop final : public event_loop {
public:
  [[nodiscard]] static result<std::unique_ptr<event_loop>> make(command_options o);

  void run(inbox& in) override;
  void wake() override;

private:
  using serial = std::uint64_t;
  using runs = std::unordered_map<serial, command_run>;

  explicit command_loop(command_options o) : options_(std::move(o)) {}

  void serve_backlog();
  void handle(start_op& o);
  void handle(const cancel_op& o);
  void handle(const stop_op& o);

  [[nodiscard]] result<void> begin(start_op& o);
  [[nodiscard]] bool watch(int fd, std::uint64_t tag) const;
  void on_output(serial id);
  void on_exit(serial id);
  void on_timer();
  void ask_to_end(serial id, command_run& r, jobs::run_outcome why, mono_time deadline);
  void kill_group(command_run& r);
  void complete(serial id);
  void set_deadline(serial id, command_run& r, std::optional<mono_time> at);
  void arm_timer();

  command_options options_;
  unique_fd epoll_;
  unique_fd timer_;
  unique_fd wakeup_;
  std::deque<op> backlog_;
  runs runs_;
  std::unordered_map<jobs::run_key, serial> by_key_;
  std::set<std::pair<mono_time, serial>> timers_;
  std::optional<mono_time> armed_;
  serial next_ = 1; // tags 0 and 1 are those of the inbox and the timer
  bool stopping_ = false;
};

} // namespace lycosa::executors
