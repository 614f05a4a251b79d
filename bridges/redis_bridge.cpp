#include "bridges/outlet.hpp"
#include "bridges/redis_intake.hpp"
#include "bridges/stats_log.hpp"
#include <spdlog/spdlog.h>

#include <thread>

namespace lycosa::bridges {

namespace {

/// pyspider's fetchers look for tasks ten times a second; a list has no event for "there is room".
constexpr usec full_pause = std::chrono::milliseconds{50};

class redis_bridge final : public bridge {
public:
  redis_bridge(redis_config config, redis_address address, actors::node& node)
      : config_(std::move(config)), address_(std::move(address)), node_(node),
        outlet_(node, "redis", stop_),
        newtasks_(intake_kind::newtasks, config_, address_, node, stats_, stop_),
        statuses_(intake_kind::statuses, config_, address_, node, stats_, stop_) {}

  ~redis_bridge() override { stop(); }

  void start() {
    threads_.emplace_back([this] { newtasks_.run(); });
    threads_.emplace_back([this] { statuses_.run(); });
    threads_.emplace_back([this] { hand_out(); });
  }

  void stop() override {
    stop_.raise();
    outlet_.cancel();
    for (auto& t : threads_)
      if (t.joinable()) t.join();
  }

  [[nodiscard]] const bridge_stats& stats() const override { return stats_; }

private:
  void hand_out() {
    backoff pause{reinterpret_cast<std::uintptr_t>(&stats_)};
    while (!stop_.raised()) {
      auto link = redis_link::open(address_, stop_);
      if (link) {
        const steady_run lasted{pause};
        if (auto served = push(**link);
            !served && !stop_.raised() && pause.failures() < loud_failures)
          spdlog::warn("redis: {}: {}", config_.queues.out_queue, served.error().text());
        outlet_.give_back();
      }
      if (stop_.raised()) return;
      stats_.reconnects += 1;
      static_cast<void>(stop_.wait(pause.next()));
    }
  }

  result<void> push(redis_link& link) {
    const auto& queue = config_.queues.out_queue;
    const auto limit = config_.queues.out_queue_limit;
    std::uint64_t length = limit; // not known: asked first, later told by each push
    while (!stop_.raised()) {
      if (length >= limit) {
        auto now = link.run({"LLEN", queue});
        if (!now) return tl::unexpected(now.error());
        length = static_cast<std::uint64_t>(std::max<std::int64_t>(0, now->number()));
        if (length >= limit) {
          static_cast<void>(stop_.wait(full_pause));
          continue;
        }
      }
      const auto& bodies = outlet_.take(static_cast<std::size_t>(limit - length));
      told_.look("redis", stats_);
      if (bodies.empty()) continue;
      redis_link::command rpush{"RPUSH", queue};
      for (const auto& body : bodies)
        rpush.emplace_back(body);
      const auto n = bodies.size();
      auto done = link.run(rpush);
      if (!done) return tl::unexpected(done.error());
      outlet_.pushed(n);
      stats_.pushed += n;
      length = static_cast<std::uint64_t>(std::max<std::int64_t>(0, done->number()));
    }
    return {};
  }

  redis_config config_;
  redis_address address_;
  actors::node& node_;
  bridge_stats stats_;
  stop_signal stop_;
  stats_log told_;
  outlet outlet_;
  redis_intake newtasks_, statuses_;
  std::vector<std::thread> threads_;
};

} // namespace

result<std::unique_ptr<bridge>> start_redis(const redis_config& config, actors::node& node) {
  auto address = parse_redis_url(config.url);
  if (!address) return tl::unexpected(address.error());
  auto made = std::make_unique<redis_bridge>(config, std::move(*address), node);
  spdlog::info("redis: {} with {}, {}, {}", address->display(), config.queues.newtask_queue,
               config.queues.status_queue, config.queues.out_queue);
  made->start();
  return made;
}

} // namespace lycosa::bridges
