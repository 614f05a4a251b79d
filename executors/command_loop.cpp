#include "executors/command_loop.hpp"

#include "executors/command_plan.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace lycosa::executors {

namespace {

constexpr std::uint64_t inbox_tag = 0;
constexpr std::uint64_t timer_tag = 1;
constexpr std::uint64_t output_bit = 1; // tag of a run: serial * 2, + 1 for its output

// Work done before others are looked at again, so that neither a burst of starts nor a program
// that floods its output holds up time-outs.
constexpr int starts_a_turn = 32;
constexpr std::size_t read_size = 64 * 1024;

tl::unexpected<error> system_error(const char* what) {
  const int why = errno;
  return fail(errc::io_error, "command", std::string(what) + ": " + std::strerror(why));
}

/// A file in memory rather than a pipe: the program reads at its own pace, or never, and nobody
/// has to feed it.
result<unique_fd> make_stdin(const std::string& text) {
  if (text.empty()) {
    unique_fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null) return system_error("cannot open /dev/null");
    return null;
  }
  unique_fd file(::memfd_create("stdin", MFD_CLOEXEC));
  if (!file) return system_error("cannot make the input");
  for (std::size_t done = 0; done < text.size();) {
    const auto n =
        ::pwrite(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return system_error("cannot write the input");
    done += static_cast<std::size_t>(n);
  }
  return file;
}

/// Reads at most `limit` bytes; false at end of file.
bool read_some(int fd, tail_buffer& into, std::size_t limit) {
  std::array<char, read_size> buffer;
  while (limit > 0) {
    const auto n = ::read(fd, buffer.data(), std::min(limit, buffer.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (n == 0) return false;
    into.append({buffer.data(), static_cast<std::size_t>(n)});
    limit -= static_cast<std::size_t>(n);
  }
  return true;
}

std::string signal_text(int s) {
  const char* name = ::sigdescr_np(s); // strsignal is not safe with threads
  return "ended by signal " + std::to_string(s)
         + (name != nullptr ? std::string(" (") + name + ")" : "");
}

/// Reaps the leader; says how it ended.
void collect(const child& c, jobs::run_result& r) {
  siginfo_t info{};
  int rc = 0;
  do
    rc = ::waitid(P_PIDFD, static_cast<id_t>(c.pidfd.get()), &info, WEXITED);
  while (rc != 0 && errno == EINTR);
  if (rc != 0) {
    r.outcome = jobs::run_outcome::error;
    r.error = std::string("the exit status was lost: ") + std::strerror(errno);
  } else if (info.si_code == CLD_EXITED) {
    r.exit_code = info.si_status;
    if (info.si_status == 0) return;
    r.outcome = jobs::run_outcome::error;
    r.error = "exit code " + std::to_string(info.si_status);
  } else {
    r.signal = info.si_status;
    r.outcome = jobs::run_outcome::error;
    r.error = signal_text(info.si_status);
  }
}

} // namespace

result<std::unique_ptr<event_loop>> command_loop::make(command_options o) {
  if (o.environment.empty()) o.environment = base_environment();
  std::unique_ptr<command_loop> loop(new command_loop(std::move(o)));
  loop->epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  loop->timer_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  loop->wakeup_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!loop->epoll_ || !loop->timer_ || !loop->wakeup_
      || !loop->watch(loop->wakeup_.get(), inbox_tag)
      || !loop->watch(loop->timer_.get(), timer_tag))
    return system_error("cannot wait for commands");
  return loop;
}

void command_loop::wake() {
  const std::uint64_t one = 1;
  // Fails only if the counter is full, which wakes as well.
  [[maybe_unused]] const auto n = ::write(wakeup_.get(), &one, sizeof one);
}

bool command_loop::watch(int fd, std::uint64_t tag) const {
  epoll_event e{};
  e.events = EPOLLIN;
  e.data.u64 = tag;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &e) == 0;
}

void command_loop::run(inbox& in) {
  std::array<epoll_event, 256> events;
  while (!(stopping_ && runs_.empty() && backlog_.empty())) {
    arm_timer();
    const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                               backlog_.empty() ? -1 : 0);
    bool timer = false;
    for (int i = 0; i < n; ++i) {
      const auto tag = events[static_cast<std::size_t>(i)].data.u64;
      if (tag == inbox_tag) {
        std::uint64_t count = 0;
        [[maybe_unused]] const auto got = ::read(wakeup_.get(), &count, sizeof count);
        for (auto& o : in.take())
          backlog_.push_back(std::move(o));
      } else if (tag == timer_tag) {
        timer = true;
      } else if ((tag & output_bit) != 0) {
        on_output(tag / 2);
      } else {
        on_exit(tag / 2);
      }
    }
    // Last: a program that exited in this very turn was in time.
    if (timer) on_timer();
    serve_backlog();
  }
}

void command_loop::serve_backlog() {
  for (int starts = 0; !backlog_.empty() && starts < starts_a_turn;) {
    auto o = std::move(backlog_.front());
    backlog_.pop_front();
    if (std::holds_alternative<start_op>(o)) ++starts;
    std::visit([this](auto& x) { handle(x); }, o);
  }
}

void command_loop::handle(start_op& o) {
  if (auto begun = begin(o); !begun) {
    jobs::run_result r;
    r.outcome = jobs::run_outcome::error;
    r.error = begun.error().text();
    finish(o.done, std::move(r));
  }
}

result<void> command_loop::begin(start_op& o) {
  const auto* action = std::get_if<jobs::command_action>(&o.request.action);
  if (action == nullptr) return fail(errc::invalid_argument, "action", "is no command");
  if (by_key_.contains(o.request.key))
    return fail(errc::conflict, "run", "a run of this number is under way");
  auto plan = plan_command(o.request, *action, options_.environment);
  if (!plan) return tl::unexpected(plan.error());
  auto in = make_stdin(action->stdin_text);
  if (!in) return tl::unexpected(in.error());
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe");
  command_run r{.key = o.request.key,
                .done = {},
                .child = {},
                .output = unique_fd(ends[0]),
                .tail = tail_buffer(options_.output_cap),
                .timeout = o.request.timeout,
                .deadline = {}};
  // Ours alone: were the program's end non-blocking too, it would see EAGAIN.
  const unique_fd write_end(ends[1]);
  if (::fcntl(r.output.get(), F_SETFL, O_NONBLOCK) != 0) return system_error("cannot make a pipe");

  auto started = launch(*plan, in->get(), write_end.get());
  if (!started) return tl::unexpected(started.error());
  r.child = std::move(*started);
  const auto id = next_++;
  if (!watch(r.child.pidfd.get(), id * 2) || !watch(r.output.get(), id * 2 + output_bit)) {
    auto lost = system_error("cannot wait for the process");
    kill_group(r);
    jobs::run_result ignored;
    collect(r.child, ignored);
    return lost;
  }
  r.done = std::move(o.done);
  by_key_.emplace(r.key, id);
  auto& kept = runs_.emplace(id, std::move(r)).first->second;
  if (kept.timeout) set_deadline(id, kept, later(mono_now(), *kept.timeout));
  return {};
}

void command_loop::handle(const cancel_op& o) {
  if (const auto it = by_key_.find(o.key); it != by_key_.end())
    ask_to_end(it->second, runs_.at(it->second), jobs::run_outcome::cancelled,
               later(mono_now(), options_.kill_grace));
}

void command_loop::handle(const stop_op& o) {
  stopping_ = true;
  for (auto& [id, r] : runs_)
    ask_to_end(id, r, jobs::run_outcome::cancelled, o.deadline);
}

void command_loop::ask_to_end(serial id, command_run& r, jobs::run_outcome why,
                              mono_time deadline) {
  if (r.killed) return;
  if (r.ended_by != jobs::run_outcome::success) {
    if (r.deadline && deadline < *r.deadline) set_deadline(id, r, deadline);
    return;
  }
  r.ended_by = why;
  ::kill(-r.child.pid, SIGTERM);
  ::kill(-r.child.pid, SIGCONT); // a stopped process takes the signal only when it goes on
  set_deadline(id, r, deadline);
}

void command_loop::kill_group(command_run& r) {
  r.killed = true;
  // The leader is not reaped yet, so its id still means this group and no other.
  if (::kill(-r.child.pid, SIGKILL) != 0 && errno == EPERM)
    spdlog::warn("no permission to kill the process group {}", r.child.pid);
}

void command_loop::on_output(serial id) {
  const auto it = runs_.find(id);
  if (it == runs_.end() || !it->second.output) return; // ended earlier in this turn
  auto& r = it->second;
  if (read_some(r.output.get(), r.tail, read_size)) return;
  r.output.reset();
  if (r.leader_gone) complete(id);
}

void command_loop::on_exit(serial id) {
  const auto it = runs_.find(id);
  if (it == runs_.end()) return;
  auto& r = it->second;
  r.leader_gone = true;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, r.child.pidfd.get(), nullptr);
  // Was it told to end, then the rest of its group has the grace to do so as well.
  if (r.ended_by == jobs::run_outcome::success || r.killed || !r.output) complete(id);
}

void command_loop::on_timer() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(timer_.get(), &count, sizeof count);
  armed_.reset();
  const auto now = mono_now();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const auto id = timers_.begin()->second;
    auto& r = runs_.at(id);
    set_deadline(id, r, std::nullopt);
    if (r.ended_by == jobs::run_outcome::success) {
      ask_to_end(id, r, jobs::run_outcome::timeout, later(now, options_.kill_grace));
    } else {
      kill_group(r);
      if (r.leader_gone) complete(id);
    }
  }
}

void command_loop::complete(serial id) {
  auto node = runs_.extract(id);
  auto& r = node.mapped();
  set_deadline(id, r, std::nullopt);
  by_key_.erase(r.key);
  // All the leader wrote is in the pipe by now; what others add without end is not waited for.
  if (r.output) {
    const int size = ::fcntl(r.output.get(), F_GETPIPE_SZ);
    (void)read_some(r.output.get(), r.tail, size > 0 ? static_cast<std::size_t>(size) : read_size);
  }
  if (r.ended_by != jobs::run_outcome::success) kill_group(r);
  jobs::run_result out;
  collect(r.child, out);
  if (r.ended_by != jobs::run_outcome::success) {
    const bool late = r.ended_by == jobs::run_outcome::timeout;
    out.outcome = r.ended_by;
    out.error = late ? fmt::format("timed out after {} s",
                                   std::chrono::duration<double>(*r.timeout).count())
                     : "cancelled";
    if (out.signal) out.error += ", " + signal_text(*out.signal);
  }
  out.output_cut = r.tail.cut();
  out.output = r.tail.take();
  const auto done = std::move(r.done);
  node = {}; // all of the run is released when its end is told
  finish(done, std::move(out));
}

void command_loop::set_deadline(serial id, command_run& r, std::optional<mono_time> at) {
  if (r.deadline) timers_.erase({*r.deadline, id});
  r.deadline = at;
  if (at) timers_.emplace(*at, id);
}

void command_loop::arm_timer() {
  std::optional<mono_time> next;
  if (!timers_.empty()) next = timers_.begin()->first;
  if (next == armed_) return;
  armed_ = next;
  itimerspec spec{};
  if (next) {
    const auto at = next->time_since_epoch();
    const auto whole = std::chrono::floor<std::chrono::seconds>(at);
    spec.it_value.tv_sec = whole.count();
    spec.it_value.tv_nsec = std::chrono::nanoseconds(at - whole).count();
  }
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

result<std::unique_ptr<jobs::executor>> make_command_executor(command_options o) {
  auto loop = command_loop::make(std::move(o));
  if (!loop) return tl::unexpected(loop.error());
  return std::make_unique<event_thread>(std::move(*loop), "lycosa-command");
}

} // namespace lycosa::executors
