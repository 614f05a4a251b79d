#include "executors/function_executor.hpp"

#include "executors/event_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace lycosa::executors {

namespace {

constexpr mono_time never = mono_time::max();

std::string seconds_text(usec d) {
  auto text = std::to_string(static_cast<double>(d.count()) / 1e6);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

std::chrono::steady_clock::time_point steady(mono_time t) {
  return std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(t.time_since_epoch()));
}

/// One thread of the pool; `left` once its function has been given up.
struct worker {
  std::thread thread;
  bool left = false;
};

struct open_run {
  jobs::run_request request;
  jobs::executor::done_handler done;
  std::stop_source stop;
  std::optional<jobs::run_outcome> asked; ///< timeout or cancelled: how it was asked to end
  mono_time next = never;                 ///< its time-out, then when it is left behind
  worker* by = nullptr;                   ///< none = it waits for a thread
  bool over = false;                      ///< its `done` has been, or is being, called
};
using run_ptr = std::shared_ptr<open_run>;

/// How many `done`s this thread is inside of.
thread_local int inside_done = 0;

/// What the threads share; it lives as long as the last of them, also one left behind.
class pool : public std::enable_shared_from_this<pool> {
public:
  explicit pool(function_options o) : options_(std::move(o)) {
    options_.threads = std::max<std::size_t>(options_.threads, 1);
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
  }

  void start(jobs::run_request request, jobs::executor::done_handler done) {
    auto run = std::make_shared<open_run>();
    run->request = std::move(request);
    run->done = std::move(done);
    std::unique_lock lock(mutex_);
    if (stopping_) {
      lock.unlock();
      return refuse(*run, jobs::run_outcome::cancelled, "the executor has stopped");
    }
    if (idle_ <= queue_.size() && at_work_ < options_.threads && !add_worker() && at_work_ == 0) {
      lock.unlock();
      return refuse(*run, jobs::run_outcome::error, "the system gives no thread");
    }
    runs_[run->request.key] = run;
    queue_.push_back(run);
    lock.unlock();
    work_.notify_one();
  }

  void cancel(jobs::run_key key) {
    std::unique_lock lock(mutex_);
    const auto found = runs_.find(key);
    if (found == runs_.end()) return;
    const auto run = found->second;
    if (!run->by) {
      std::erase(queue_, run);
      return end(std::move(lock), run, cancelled("cancelled before it started"));
    }
    ask(*run, jobs::run_outcome::cancelled, options_.abandon_after);
  }

  void stop(usec grace) {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    for (const auto& run : std::exchange(queue_, {})) {
      end(std::move(lock), run, cancelled("cancelled before it started"));
      lock = std::unique_lock(mutex_);
    }
    for (const auto& [key, run] : runs_)
      ask(*run, jobs::run_outcome::cancelled, grace);
    work_.notify_all();
    if (is_own_thread() || inside_done > 0) return;
    ended_.wait(lock, [&] { return runs_.empty(); });
    auto workers = std::exchange(workers_, {});
    auto watch = std::exchange(watch_, {});
    watching_.notify_all();
    lock.unlock();
    for (auto& w : workers)
      if (w->thread.joinable()) w->thread.join();
    if (watch.joinable()) watch.join();
  }

  /// No thread is waited for: the last one to end takes what is shared with it.
  void leave() {
    const std::lock_guard lock(mutex_);
    for (auto& w : workers_) {
      w->thread.detach();
      left_.push_back(std::move(w));
    }
    workers_.clear();
    if (watch_.joinable()) watch_.detach();
  }

  [[nodiscard]] bool called_from_own_thread() {
    const std::lock_guard lock(mutex_);
    return is_own_thread();
  }

private:
  static jobs::run_result cancelled(std::string why) {
    jobs::run_result r;
    r.outcome = jobs::run_outcome::cancelled;
    r.error = std::move(why);
    return r;
  }

  static void refuse(open_run& run, jobs::run_outcome how, std::string why) {
    auto r = cancelled(std::move(why));
    r.outcome = how;
    finish(run.done, std::move(r));
  }

  [[nodiscard]] bool is_own_thread() const {
    const auto self = std::this_thread::get_id();
    return watch_.get_id() == self
           || std::any_of(workers_.begin(), workers_.end(),
                          [&](const auto& w) { return w->thread.get_id() == self; });
  }

  template <class Work>
  [[nodiscard]] static std::thread make_thread(Work work) {
    // Signals are for the threads that wait for them.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread t;
    try {
      t = std::thread(std::move(work));
    } catch (const std::system_error&) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (t.joinable()) ::pthread_setname_np(t.native_handle(), "lycosa-function");
    return t;
  }

  bool add_worker() {
    auto w = std::make_unique<worker>();
    auto* self = w.get();
    w->thread = make_thread([p = shared_from_this(), self] { p->work(self); });
    if (!w->thread.joinable()) return false;
    workers_.push_back(std::move(w));
    ++at_work_;
    return true;
  }

  /// Asks a run to end; what it was asked first stays.
  void ask(open_run& run, jobs::run_outcome how, usec grace) {
    if (run.over) return;
    const auto limit = later(mono_now(), grace);
    run.next = run.asked ? std::min(run.next, limit) : limit;
    if (!run.asked) run.asked = how;
    // The callbacks of a token may take their time, or come back here.
    to_stop_.push_back(run.stop);
    look_sooner();
  }

  void look_sooner() {
    if (!watch_.joinable() && !watch_ended_)
      watch_ = make_thread([p = shared_from_this()] { p->watch(); });
    watching_.notify_all();
  }

  void end(std::unique_lock<std::mutex> lock, const run_ptr& run, jobs::run_result result) {
    if (std::exchange(run->over, true)) return;
    run->next = never;
    lock.unlock();
    ++inside_done;
    // Before it counts as ended, for `stop` waits for that; and a thread left behind must not keep
    // alive what the handler holds.
    finish(std::exchange(run->done, nullptr), std::move(result));
    --inside_done;
    lock.lock();
    runs_.erase(run->request.key);
    lock.unlock();
    ended_.notify_all();
  }

  void work(worker* self) {
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      work_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      --idle_;
      if (queue_.empty()) break;
      const auto run = queue_.front();
      queue_.pop_front();
      run->by = self;
      if (run->request.timeout) {
        run->next = later(mono_now(), *run->request.timeout);
        look_sooner();
      }
      lock.unlock();
      auto result = carry_out(*run);
      lock.lock();
      if (self->left) { // another thread has its place
        std::erase_if(left_, [&](const auto& w) { return w.get() == self; });
        return;
      }
      say_how_asked(*run, result);
      end(std::move(lock), run, std::move(result));
      lock = std::unique_lock(mutex_);
    }
    --at_work_;
  }

  jobs::run_result carry_out(const open_run& run) const {
    jobs::run_result r;
    const auto& action = std::get<jobs::function_action>(run.request.action);
    const auto fail = [&](std::string why) {
      r.outcome = jobs::run_outcome::error;
      std::replace(why.begin(), why.end(), '\n', ' ');
      r.error = why.empty() ? "the function threw" : std::move(why);
    };
    try {
      const auto function = options_.find(action.name);
      if (!function) {
        fail("no function is registered as " + action.name);
        return r;
      }
      r.value = (*function)({run.request.job_id, run.request.nominal, run.request.attempt,
                             action.args, run.stop.get_token()});
    } catch (const std::exception& e) {
      fail(e.what());
    } catch (...) {
      fail("the function threw something that is no exception");
    }
    return r;
  }

  static void say_how_asked(const open_run& run, jobs::run_result& r) {
    if (!run.asked) return;
    r.outcome = *run.asked;
    const auto what = *run.asked == jobs::run_outcome::timeout
                          ? "its time of " + seconds_text(*run.request.timeout) + " was up"
                          : std::string("it was asked to end");
    r.error = r.error.empty() ? what : what + ": " + r.error;
  }

  /// Time-outs, and runs that do not end when asked.
  void watch() {
    std::unique_lock lock(mutex_);
    for (;;) {
      for (auto& s : std::exchange(to_stop_, {})) {
        lock.unlock();
        s.request_stop();
        lock.lock();
      }
      const auto now = mono_now();
      auto soonest = never;
      run_ptr due;
      for (const auto& [key, run] : runs_) {
        if (run->next <= now) due = run;
        soonest = std::min(soonest, run->next);
      }
      if (due) {
        if (!due->asked)
          ask(*due, jobs::run_outcome::timeout, options_.abandon_after);
        else
          lock = abandon(std::move(lock), due);
        continue;
      }
      if (!to_stop_.empty()) continue;
      if (stopping_ && runs_.empty()) break;
      if (soonest == never)
        watching_.wait(lock);
      else
        watching_.wait_until(lock, steady(soonest));
    }
    watch_ended_ = true;
  }

  std::unique_lock<std::mutex> abandon(std::unique_lock<std::mutex> lock, const run_ptr& run) {
    jobs::run_result r;
    say_how_asked(*run, r);
    r.error += "; it did not return and was left behind";
    run->by->left = true;
    --at_work_;
    const auto i = std::find_if(workers_.begin(), workers_.end(),
                                [&](const auto& w) { return w.get() == run->by; });
    if (i != workers_.end()) {
      (*i)->thread.detach();
      left_.push_back(std::move(*i));
      workers_.erase(i);
    }
    if (!queue_.empty()) (void)add_worker();
    end(std::move(lock), run, std::move(r));
    return std::unique_lock(mutex_);
  }

  function_options options_;
  sigset_t mask_{};
  std::mutex mutex_;
  std::condition_variable work_, watching_, ended_;
  std::deque<run_ptr> queue_;             ///< wait for a thread
  std::map<jobs::run_key, run_ptr> runs_; ///< whose `done` has not returned
  std::vector<std::stop_source> to_stop_; ///< for the watch to ask
  std::list<std::unique_ptr<worker>> workers_, left_;
  std::thread watch_;
  std::size_t idle_ = 0;
  std::size_t at_work_ = 0; ///< threads without those left behind
  bool watch_ended_ = false;
  bool stopping_ = false;
};

class function_executor final : public jobs::executor {
public:
  explicit function_executor(function_options o) : pool_(std::make_shared<pool>(std::move(o))) {}
  ~function_executor() override {
    pool_->stop(usec{0});
    if (pool_->called_from_own_thread()) pool_->leave();
  }
  function_executor(const function_executor&) = delete;
  function_executor& operator=(const function_executor&) = delete;

  void start(jobs::run_request request, done_handler done) override {
    pool_->start(std::move(request), std::move(done));
  }
  void cancel(jobs::run_key key) override { pool_->cancel(key); }
  void stop(usec grace) override { pool_->stop(grace); }

private:
  std::shared_ptr<pool> pool_;
};

} // namespace

std::unique_ptr<jobs::executor> make_function_executor(function_options o) {
  return std::make_unique<function_executor>(std::move(o));
}

} // namespace lycosa::executors
