#include "bridges/amqp_link.hpp"
#include "bridges/intake.hpp"
#include "bridges/outlet.hpp"
#include "bridges/stats_log.hpp"
#include <spdlog/spdlog.h>

#include <thread>

namespace lycosa::bridges {

namespace {

constexpr std::uint16_t batch = 500;
constexpr usec idle = std::chrono::seconds{10}; ///< well within the heartbeat
/// A queue has no event for "there is room".
constexpr usec full_pause = std::chrono::milliseconds{50};

/// Messages are acknowledged when what they say is durable: a crash, a stop or a lost connection
/// gives them back to their queue.
class amqp_bridge final : public bridge {
public:
  amqp_bridge(amqp_config config, amqp_address address, actors::node& node)
      : config_(std::move(config)), address_(std::move(address)), node_(node),
        outlet_(node, "amqp", stop_),
        newtasks_(intake_kind::newtasks, node, config_.queues, stats_, stop_),
        statuses_(intake_kind::statuses, node, config_.queues, stats_, stop_) {}

  ~amqp_bridge() override { stop(); }

  void start() {
    threads_.emplace_back([this] {
      keep_up(config_.queues.newtask_queue, [this](amqp_link& link) {
        return take(link, config_.queues.newtask_queue, newtasks_);
      });
    });
    threads_.emplace_back([this] {
      keep_up(config_.queues.status_queue, [this](amqp_link& link) {
        return take(link, config_.queues.status_queue, statuses_);
      });
    });
    threads_.emplace_back([this] {
      keep_up(config_.queues.out_queue, [this](amqp_link& link) {
        auto served = push(link);
        outlet_.give_back();
        return served;
      });
    });
  }

  void stop() override {
    stop_.raise();
    outlet_.cancel();
    for (auto& t : threads_)
      if (t.joinable()) t.join();
  }

  [[nodiscard]] const bridge_stats& stats() const override { return stats_; }

private:
  template <class Serve>
  void keep_up(const std::string& queue, Serve&& serve) {
    backoff pause{reinterpret_cast<std::uintptr_t>(&queue)};
    while (!stop_.raised()) {
      auto link = amqp_link::open(address_, stop_);
      if (link) {
        const steady_run lasted{pause};
        if (pause.failures() > 0) spdlog::info("amqp: {}: connected again", queue);
        if (auto served = serve(**link);
            !served && !stop_.raised() && pause.failures() < loud_failures)
          spdlog::warn("amqp: {}: {}", queue, served.error().text());
      } else if (!stop_.raised() && pause.failures() == 0) {
        spdlog::warn("amqp: {}: {}: {}; trying again", address_.display(), queue,
                     link.error().text());
      }
      if (stop_.raised()) return;
      stats_.reconnects += 1;
      static_cast<void>(stop_.wait(pause.next()));
    }
  }

  result<void> take(amqp_link& link, const std::string& queue, intake& in) {
    if (auto done = link.declare(queue); !done) return done;
    if (auto done = link.consume(queue, batch); !done) return done;
    while (!stop_.raised()) {
      auto got = link.receive(batch, idle);
      if (!got) return tl::unexpected(got.error());
      if (got->empty()) continue;
      const auto pending = node_.input_pending();
      std::vector<std::string> messages;
      messages.reserve(got->size());
      for (auto& d : *got)
        messages.push_back(std::move(d.body));
      if (!in.hand_in(messages)) return {};
      if (auto done = link.acknowledge(got->back().tag); !done) return done;
    }
    return {};
  }

  result<void> push(amqp_link& link) {
    const auto& queue = config_.queues.out_queue;
    const auto limit = config_.queues.out_queue_limit;
    if (auto done = link.declare(queue); !done) return done;
    if (auto done = link.confirm(); !done) return done;
    while (!stop_.raised()) {
      auto length = link.length(queue);
      if (!length) return tl::unexpected(length.error());
      if (*length >= limit) {
        static_cast<void>(stop_.wait(full_pause));
        continue;
      }
      const auto& bodies = outlet_.take(static_cast<std::size_t>(limit - *length));
      told_.look("amqp", stats_);
      if (bodies.empty()) continue;
      const std::vector<std::string_view> views{bodies.begin(), bodies.end()};
      if (auto done = link.publish(queue, views); !done) return done;
      stats_.pushed += views.size();
      outlet_.pushed(views.size());
    }
    return {};
  }

  amqp_config config_;
  amqp_address address_;
  actors::node& node_;
  bridge_stats stats_;
  stop_signal stop_;
  stats_log told_;
  outlet outlet_;
  intake newtasks_, statuses_;
  std::vector<std::thread> threads_;
};

} // namespace

result<std::unique_ptr<bridge>> start_amqp(const amqp_config& config, actors::node& node) {
  auto address = parse_amqp_url(config.url);
  if (!address) return tl::unexpected(address.error());
  auto made = std::make_unique<amqp_bridge>(config, *address, node);
  spdlog::info("amqp: {} with {}, {}, {}", address->display(), config.queues.newtask_queue,
               config.queues.status_queue, config.queues.out_queue);
  made->start();
  return made;
}

} // namespace lycosa::bridges
