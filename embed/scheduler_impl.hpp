#pragma once

#include "actors/job_host.hpp"
#include "core/jobs/job_json.hpp"
#include "executors/function_executor.hpp"

#include "embed/convert.hpp"
#include "embed/pending_jobs.hpp"

#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

namespace lycosa {

namespace embed {

/// Marks the calling thread as inside a job's function or a listener of a scheduler, where waiting
/// for that scheduler's end would wait for oneself.
class inside_scope {
public:
  explicit inside_scope(const void* owner);
  ~inside_scope();
  inside_scope(const inside_scope&) = delete;
  inside_scope& operator=(const inside_scope&) = delete;

  [[nodiscard]] static bool of(const void* owner);

private:
  const void* owner_;
  const inside_scope* outer_;
};

/// The functions of a program by name.
class function_table {
public:
  void put(const std::string& name, std::shared_ptr<const executors::job_function> f);
  [[nodiscard]] std::shared_ptr<const executors::job_function> find(const std::string& name) const;
  void erase(const std::string& name);
  /// Erases those with a prefix whose rest `wanted` does not name.
  void keep_only(std::string_view prefix, const std::function<bool(const std::string&)>& wanted);

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const executors::job_function>> functions_;
};

} // namespace embed

struct subscription::state {
  std::function<void(const event&)> callback;
  events::mask kinds = 0;
  std::shared_ptr<const void> token;

  std::mutex calling; ///< held during a call
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  bool saw_shutdown = false;
  std::unique_ptr<actors::event_subscription> inner;

  void receive(const jobs::job_event& e);
  void end();
};

/// Life of a scheduler: pending, running, closing, closed. Closing is the work of a thread of its
/// own, so that a job or a listener may ask for it.
class scheduler::impl : public std::enable_shared_from_this<impl> {
public:
  explicit impl(scheduler_options options);

  void start();
  void run();
  void shutdown(bool wait, std::optional<duration> deadline);
  /// Shuts down and lets go of the closing thread.
  void leave();
  [[nodiscard]] bool running();
  [[nodiscard]] bool pending();
  [[nodiscard]] const scheduler_options& options() const { return options_; }

  /// The answer of one request; throws its error. `ask(service, reply)` makes the request.
  template <class T, class Ask>
  T call(Ask ask) {
    {
      std::unique_lock lock(mutex_);
      if (phase_ == phase::pending) {
        result<T> answer = fail(errc::internal, "", "no answer");
        ask(static_cast<actors::job_service&>(pending_),
            actors::job_reply<T>([&](result<T> r) { answer = std::move(r); }));
        return embed::value_or_throw(std::move(answer));
      }
      if (!host_) throw scheduler_error(failure::unavailable, "", "the scheduler was shut down");
      ++calls_;
    }
    auto given = std::make_shared<std::promise<result<T>>>();
    auto later = given->get_future();
    ask(host_->jobs(),
        actors::job_reply<T>([given](result<T> r) { given->set_value(std::move(r)); }));
    auto answer = later.get();
    {
      const std::lock_guard lock(mutex_);
      if (--calls_ == 0) changed_.notify_all();
    }
    return embed::value_or_throw(std::move(answer));
  }

  /// Reads a job's text and fills in the defaults.
  [[nodiscard]] jobs::job_input read(std::string_view job) const;
  job_info add(std::string_view job);
  job_info add_function(std::string id, const schedule& when, const job_options& options,
                        detail::function fn);
  void register_function(const std::string& name, detail::function fn);
  void forget_function_of(std::string_view id);
  [[nodiscard]] std::vector<jobs::job> all();
  [[nodiscard]] std::shared_ptr<subscription::state>
  listen(events::mask kinds, std::function<void(const event&)> callback, std::size_t buffer);
  [[nodiscard]] std::string new_id();

private:
  enum class phase { pending, running, closing, closed };

  [[nodiscard]] actors::job_host_config host_config();
  void close();
  void wait_for_listeners();
  [[nodiscard]] bool inside() const { return embed::inside_scope::of(token_.get()); }

  const scheduler_options options_;
  const jobs::engine_limits limits_;
  /// What marks threads as this scheduler's; outlives it.
  const std::shared_ptr<const void> token_ = std::make_shared<int>(0);
  const std::shared_ptr<embed::function_table> functions_ =
      std::make_shared<embed::function_table>();
  const std::shared_ptr<actors::job_events> events_ = std::make_shared<actors::job_events>();

  std::mutex mutex_;
  std::condition_variable changed_;
  phase phase_ = phase::pending;
  embed::pending_jobs pending_;
  std::unique_ptr<actors::job_host> host_;
  std::size_t calls_ = 0; ///< that use `host_` right now
  std::thread closer_;

  std::mutex adding_; ///< one function job is added at a time
  std::size_t added_ = 0;
  std::mutex listening_;
  std::vector<std::weak_ptr<subscription::state>> listeners_;
};

} // namespace lycosa
