#include "crawl/fetcher.hpp"

#include "crawl/transfer.hpp"
#include <curl/curl.h>

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace lycosa::crawl {

namespace {

constexpr int longest_poll_ms = 60'000;

struct multi_deleter {
  void operator()(CURLM* m) const { curl_multi_cleanup(m); }
};

class curl_fetcher final : public fetcher {
public:
  explicit curl_fetcher(const fetcher_config& config) : config_(config), multi_(curl_multi_init()) {
    curl_multi_setopt(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS,
                      static_cast<long>(config.concurrency));
    curl_multi_setopt(multi_.get(), CURLMOPT_MAX_HOST_CONNECTIONS,
                      static_cast<long>(config.per_host));
    thread_ = std::thread([this] { run(); });
  }

  ~curl_fetcher() override { stop(); }

  void start(fetch_request request, std::function<void(fetched)> done) override {
    if (request.url.starts_with("data:")) return done(from_data_url(request.url));
    {
      const std::lock_guard lock(mutex_);
      if (!stopping_) {
        waiting_.emplace_back(std::move(request), std::move(done));
        curl_multi_wakeup(multi_.get());
        return;
      }
    }
    done(not_fetched(request.url, "stopped"));
  }

  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      stopping_ = true;
      curl_multi_wakeup(multi_.get());
    }
    thread_.join();
  }

private:
  void run() {
    for (;;) {
      begin_waiting();
      int running = 0;
      curl_multi_perform(multi_.get(), &running);
      finish_ended();
      {
        const std::lock_guard lock(mutex_);
        if (stopping_) break;
        if (!waiting_.empty()) continue;
      }
      curl_multi_poll(multi_.get(), nullptr, 0, longest_poll_ms, nullptr);
    }
    for (auto& [handle, t] : under_way_) {
      curl_multi_remove_handle(multi_.get(), handle);
      t->fail("stopped");
    }
    under_way_.clear();
    for (auto& [request, done] : waiting_)
      done(not_fetched(request.url, "stopped"));
  }

  void begin_waiting() {
    std::deque<std::pair<fetch_request, std::function<void(fetched)>>> fresh;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      fresh.swap(waiting_);
    }
    for (auto& [request, done] : fresh) {
      auto t = std::make_unique<transfer>(std::move(request), config_, std::move(done));
      auto* handle = t->handle();
      if (!t->why().empty()) {
        t->fail(t->why());
        continue;
      }
      curl_multi_add_handle(multi_.get(), handle);
      under_way_.emplace(handle, std::move(t));
    }
  }

  void finish_ended() {
    int left = 0;
    while (const auto* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      auto* handle = message->easy_handle;
      const auto code = message->data.result;
      auto found = under_way_.find(handle);
      if (found == under_way_.end()) continue;
      auto t = std::move(found->second);
      under_way_.erase(found);
      curl_multi_remove_handle(multi_.get(), handle);
      t->finish(code);
    }
  }

  fetcher_config config_;
  std::unique_ptr<CURLM, multi_deleter> multi_;
  std::mutex mutex_;
  bool stopping_ = false;
  std::deque<std::pair<fetch_request, std::function<void(fetched)>>> waiting_;
  std::map<CURL*, std::unique_ptr<transfer>> under_way_;
  std::thread thread_;
};

} // namespace

std::unique_ptr<fetcher> fetcher::make(const fetcher_config& config) {
  curl_global_init(CURL_GLOBAL_DEFAULT);
  return std::make_unique<curl_fetcher>(config);
}

} // namespace lycosa::crawl
