#pragma once

#include "core/jobs/executor.hpp"
#include "core/result.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace lycosa::embed {

/// An executor that is made when it is first needed: a program whose jobs are functions has no
/// thread and no descriptor for the others.
class lazy_executor final : public jobs::executor {
public:
  using maker = std::function<result<std::unique_ptr<jobs::executor>>()>;
  explicit lazy_executor(maker make) : make_(std::move(make)) {}

  void start(jobs::run_request request, done_handler done) override {
    jobs::run_result refused;
    if (auto* e = get(refused)) return e->start(std::move(request), std::move(done));
    done(std::move(refused));
  }
  void cancel(jobs::run_key key) override {
    if (auto* e = existing(false)) e->cancel(key);
  }
  void stop(usec grace) override {
    if (auto* e = existing(true)) e->stop(grace);
  }

private:
  jobs::executor* get(jobs::run_result& refused) {
    const std::lock_guard lock(mutex_);
    if (made_) return made_.get();
    refused.outcome = stopped_ ? jobs::run_outcome::cancelled : jobs::run_outcome::error;
    refused.error = "the executor has stopped";
    if (stopped_) return nullptr;
    auto made = make_();
    if (!made) {
      refused.error = made.error().text();
      return nullptr;
    }
    made_ = std::move(*made);
    return made_.get();
  }
  jobs::executor* existing(bool stopped) {
    const std::lock_guard lock(mutex_);
    stopped_ = stopped_ || stopped;
    return made_.get();
  }

  maker make_;
  std::mutex mutex_;
  std::unique_ptr<jobs::executor> made_;
  bool stopped_ = false;
};

} // namespace lycosa::embed
