#include "executors/http_executor.hpp"

#include "executors/event_thread.hpp"
#include "executors/http_transfer.hpp"

#include <algorithm>
#include <climits>
#include <unordered_map>

namespace lycosa::executors {

namespace {

struct multi_free {
  void operator()(CURLM* m) const { ::curl_multi_cleanup(m); }
};

/// All transfers in one curl multi handle, which waits for their sockets, its own timers and the
/// inbox at once.
class http_loop final : public event_loop {
public:
  static result<std::unique_ptr<event_loop>> make(http_options o) {
    static const auto ready = ::curl_global_init(CURL_GLOBAL_DEFAULT);
    std::unique_ptr<http_loop> loop(new http_loop(std::move(o)));
    if (ready != CURLE_OK || !loop->multi_)
      return fail(errc::io_error, "http", "libcurl cannot be set up");
    return loop;
  }

  ~http_loop() override {
    for (auto& [key, f] : flights_)
      ::curl_multi_remove_handle(multi_.get(), f.transfer->handle());
  }

  void run(inbox& in) override {
    while (!(deadline_ && flights_.empty())) {
      for (auto& o : in.take())
        std::visit([this](auto& x) { handle(x); }, o);
      int running = 0;
      ::curl_multi_perform(multi_.get(), &running);
      collect();
      if (deadline_ && mono_now() >= *deadline_) give_up_all();
      // A wake-up that comes before the poll is kept for it.
      if (!(deadline_ && flights_.empty()))
        ::curl_multi_poll(multi_.get(), nullptr, 0, patience(), nullptr);
    }
  }

  void wake() override { ::curl_multi_wakeup(multi_.get()); }

private:
  struct flight {
    std::unique_ptr<http_transfer> transfer;
    jobs::executor::done_handler done;
  };

  explicit http_loop(http_options o) : options_(std::move(o)), multi_(::curl_multi_init()) {}

  void handle(start_op& o) {
    if (auto begun = begin(o); !begun) {
      jobs::run_result r;
      r.outcome = jobs::run_outcome::error;
      r.error = begun.error().text();
      finish(o.done, std::move(r));
    }
  }

  result<void> begin(start_op& o) {
    auto* action = std::get_if<jobs::http_action>(&o.request.action);
    if (action == nullptr) return fail(errc::invalid_argument, "action", "is no http request");
    const auto key = o.request.key;
    if (flights_.contains(key))
      return fail(errc::conflict, "run", "a run of this number is under way");
    auto made = http_transfer::make(key, std::move(*action), o.request.timeout, options_);
    if (!made) return tl::unexpected(made.error());
    if (const auto rc = ::curl_multi_add_handle(multi_.get(), (*made)->handle()); rc != CURLM_OK)
      return fail(errc::io_error, "http", ::curl_multi_strerror(rc));
    flights_.emplace(key, flight{std::move(*made), std::move(o.done)});
    return {};
  }

  void handle(const cancel_op& o) {
    if (flights_.contains(o.key)) give_up(o.key);
  }

  void handle(const stop_op& o) {
    deadline_ = deadline_ ? std::min(*deadline_, o.deadline) : o.deadline;
  }

  void collect() {
    int left = 0;
    while (const CURLMsg* m = ::curl_multi_info_read(multi_.get(), &left)) {
      if (m->msg != CURLMSG_DONE) continue;
      const auto code = m->data.result; // the message goes with the handle
      land(http_transfer::of(m->easy_handle).key(),
           [code](http_transfer& t) { return t.outcome(code); });
    }
  }

  void give_up(jobs::run_key key) {
    land(key, [](http_transfer& t) { return t.cancelled(); });
  }

  void give_up_all() {
    while (!flights_.empty())
      give_up(flights_.begin()->first);
  }

  /// Takes a transfer out, releases it, and tells its end.
  template <class Judge>
  void land(jobs::run_key key, Judge judge) {
    auto node = flights_.extract(key);
    auto& f = node.mapped();
    ::curl_multi_remove_handle(multi_.get(), f.transfer->handle());
    auto result = judge(*f.transfer);
    const auto done = std::move(f.done);
    node = {};
    finish(done, std::move(result));
  }

  /// Milliseconds to wait; curl shortens it to its own next timer.
  [[nodiscard]] int patience() const {
    if (!deadline_) return INT_MAX;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - mono_now()).count();
    return static_cast<int>(std::clamp<decltype(left)>(left, 0, INT_MAX));
  }

  http_options options_;
  std::unique_ptr<CURLM, multi_free> multi_;
  std::unordered_map<jobs::run_key, flight> flights_;
  std::optional<mono_time> deadline_; ///< set once it is to stop
};

} // namespace

result<std::unique_ptr<jobs::executor>> make_http_executor(http_options o) {
  auto loop = http_loop::make(std::move(o));
  if (!loop) return tl::unexpected(loop.error());
  return std::make_unique<event_thread>(std::move(*loop), "lycosa-http");
}

} // namespace lycosa::executors
