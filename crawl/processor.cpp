#include "crawl/processor.hpp"

#include "executors/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace lycosa::crawl {

namespace {

using executors::child;
using executors::unique_fd;
using steady = std::chrono::steady_clock;

constexpr std::size_t longest_line = std::size_t{64} << 20;
// Of what is no answer, a task: a script must not be able to fill the disk with the log.
constexpr std::uint64_t most_logged_lines = 100;
constexpr std::size_t most_logged_bytes = 1000;

/// A running process and its two pipes.
class conversation {
public:
  static result<std::unique_ptr<conversation>> begin(const processor_config& config) {
    std::array<int, 2> in{}, out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0) return fail(errc::io_error, "pipe", "out of files");
    auto made = std::make_unique<conversation>();
    const unique_fd child_in{in[0]};
    made->in_ = unique_fd{in[1]};
    ::fcntl(in[1], F_SETFL, O_NONBLOCK); // of our end alone
    if (::pipe2(out.data(), O_CLOEXEC) != 0) return fail(errc::io_error, "pipe", "out of files");
    made->out_ = unique_fd{out[0]};
    const unique_fd child_out{out[1]};
    executors::launch_plan plan;
    plan.argv = config.command;
    plan.programs = candidates(config.command.front());
    for (char** e = environ; *e != nullptr; ++e)
      plan.env.emplace_back(*e);
    plan.env.insert(plan.env.end(), config.env.begin(), config.env.end());
    auto started = executors::launch(plan, child_in.get(), child_out.get());
    if (!started) return tl::unexpected(started.error());
    made->child_ = std::move(*started);
    return made;
  }

  ~conversation() {
    in_.reset();
    if (child_.pid > 0) {
      ::kill(-child_.pid, SIGKILL);
      ::waitpid(child_.pid, nullptr, 0);
    }
  }

  /// Tells it a line. What it writes meanwhile is kept for `hear`: a script that prints before it
  /// reads would otherwise wait for us as we for it.
  result<void> say(std::string_view line, steady::time_point until) {
    while (!line.empty()) {
      const auto n = ::write(in_.get(), line.data(), line.size());
      if (n > 0) {
        line.remove_prefix(static_cast<std::size_t>(n));
      } else if (n < 0 && errno == EAGAIN) {
        if (auto ready = await(true, until); !ready) return ready;
      } else if (errno != EINTR) {
        return ended();
      }
    }
    return {};
  }

  /// The next line, or why none comes.
  result<std::string> hear(steady::time_point until) {
    for (;;) {
      if (const auto end = heard_.find('\n', looked_); end != std::string::npos) {
        auto line = heard_.substr(begin_, end - begin_);
        begin_ = looked_ = end + 1;
        return line;
      }
      heard_.erase(0, std::exchange(begin_, 0)); // now that all whole lines are taken
      looked_ = heard_.size();
      if (heard_.size() > longest_line)
        return fail(errc::too_large, "script", "wrote a line without an end");
      if (auto ready = await(false, until); !ready) return tl::unexpected(ready.error());
    }
  }

  /// Ends a wait from another thread.
  void kill() const {
    if (child_.pid > 0) ::kill(-child_.pid, SIGKILL);
  }

private:
  static tl::unexpected<error> ended() {
    return fail(errc::io_error, "script", "its process has ended");
  }

  /// Waits until it has written something, which is then kept, or (`to_say`) takes more.
  result<void> await(bool to_say, steady::time_point until) {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady::now()).count();
      if (left <= 0) return fail(errc::unavailable, "script", "took longer than its time limit");
      const bool listening = !to_say || heard_.size() <= longest_line;
      std::array<pollfd, 2> fds{pollfd{listening ? out_.get() : -1, POLLIN, 0},
                                pollfd{to_say ? in_.get() : -1, POLLOUT, 0}};
      if (::poll(fds.data(), fds.size(), static_cast<int>(std::min<std::int64_t>(left, 1 << 30)))
          <= 0)
        continue;
      if (fds[0].revents != 0) {
        std::array<char, 65536> bytes{};
        const auto n = ::read(out_.get(), bytes.data(), bytes.size());
        if (n == 0) return ended();
        if (n > 0) heard_.append(bytes.data(), static_cast<std::size_t>(n));
      }
      return {};
    }
  }

  static std::vector<std::string> candidates(const std::string& program) {
    if (program.find('/') != std::string::npos) return {program};
    std::vector<std::string> out;
    const char* path = ::getenv("PATH");
    std::string_view left = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
    while (!left.empty()) {
      const auto end = std::min(left.find(':'), left.size());
      out.push_back(std::string{left.substr(0, end)} + "/" + program);
      left.remove_prefix(std::min(end + 1, left.size()));
    }
    return out;
  }

  child child_;
  unique_fd in_, out_;
  std::string heard_;
  std::size_t begin_ = 0;  ///< of what was not returned yet
  std::size_t looked_ = 0; ///< no line ends between `begin_` and here
};

class child_processor final : public processor {
public:
  explicit child_processor(processor_config config) : config_(std::move(config)) {
    thread_ = std::thread([this] { run(); });
  }
  ~child_processor() override { stop(); }

  void process(std::string request, std::function<void(result<std::string>)> done) override {
    {
      const std::lock_guard lock(mutex_);
      if (!stopping_) {
        waiting_.push_back({std::move(request), std::move(done)});
        there_.notify_one();
        return;
      }
    }
    done(fail(errc::unavailable, "script", "stopped"));
  }

  void restart() override {
    const std::lock_guard lock(mutex_);
    fresh_ = true;
  }

  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      stopping_ = true;
      if (talk_) talk_->kill();
      there_.notify_one();
    }
    thread_.join();
  }

private:
  struct item {
    std::string request;
    std::function<void(result<std::string>)> done;
  };

  void run() {
    // A process that has ended is an error of the write, not our end.
    sigset_t pipe;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    for (;;) {
      std::optional<item> next;
      {
        std::unique_lock lock(mutex_);
        there_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        if (stopping_) break;
        next = std::move(waiting_.front());
        waiting_.pop_front();
        if (std::exchange(fresh_, false)) talk_.reset();
      }
      auto answer = ask(next->request);
      if (!answer) {
        const std::lock_guard lock(mutex_);
        talk_.reset();
        failures_ += 1;
      } else {
        failures_ = 0;
      }
      next->done(std::move(answer));
    }
    for (auto& left : waiting_)
      left.done(fail(errc::unavailable, "script", "stopped"));
    const std::lock_guard lock(mutex_);
    talk_.reset();
  }

  result<std::string> ask(const std::string& request) {
    if (!talk_) {
      pause();
      auto begun = conversation::begin(config_);
      if (!begun) return tl::unexpected(begun.error());
      const std::lock_guard lock(mutex_);
      talk_ = std::move(*begun);
      if (stopping_) return fail(errc::unavailable, "script", "stopped");
    }
    const auto id = "{\"id\":" + std::to_string(++asked_);
    auto line = id + "," + request.substr(request.find('{') + 1) + "\n";
    const auto until = steady::now() + config_.time_limit;
    if (auto said = talk_->say(line, until); !said) return tl::unexpected(said.error());
    for (std::uint64_t others = 0;; ++others) {
      auto heard = talk_->hear(until);
      if (!heard) {
        told_too_much(others);
        return heard;
      }
      // json.dumps of Python writes `"id": 7`.
      if (heard->starts_with(id + ",")
          || heard->starts_with("{\"id\": " + std::to_string(asked_) + ",")) {
        told_too_much(others);
        return heard;
      }
      if (!heard->empty() && others < most_logged_lines)
        spdlog::info("script {}: {}", config_.project,
                     std::string_view{*heard}.substr(0, most_logged_bytes));
    }
  }

  void told_too_much(std::uint64_t lines) const {
    if (lines > most_logged_lines)
      spdlog::warn("script {}: {} more lines are not logged", config_.project,
                   lines - most_logged_lines);
  }

  /// Before a process is begun again that failed at once the last times.
  void pause() {
    if (failures_ < 2) return;
    const auto wait = std::chrono::milliseconds{100} * (1 << std::min(failures_ - 2, 6));
    std::unique_lock lock(mutex_);
    there_.wait_for(lock, wait, [this] { return stopping_; });
  }

  processor_config config_;
  std::mutex mutex_;
  std::condition_variable there_;
  std::deque<item> waiting_;
  bool stopping_ = false, fresh_ = false;
  std::unique_ptr<conversation> talk_; ///< changed under the mutex, used on the thread
  std::uint64_t asked_ = 0;
  int failures_ = 0;
  std::thread thread_;
};

} // namespace

std::unique_ptr<processor> processor::make(processor_config config) {
  return std::make_unique<child_processor>(std::move(config));
}

} // namespace lycosa::crawl
