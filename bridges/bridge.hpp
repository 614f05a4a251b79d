#pragma once

#include "actors/node.hpp"
#include "gateway/server.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

/// Message queues as pyspider uses them: `newtask_queue` and `status_queue` are read, tasks go to
/// `scheduler2fetcher`. A bridge stands on `actors/node.hpp` like any other client: what it reads
/// is submitted and reported, and it is one more consumer whose credit is the room in its queue.
namespace lycosa::bridges {

struct queue_config {
  std::string newtask_queue = "newtask_queue";
  std::string status_queue = "status_queue";
  std::string out_queue = "scheduler2fetcher";
  std::uint64_t out_queue_limit = 100;
  gateway::limits_config limits;
};

/// What has happened since the start; read by any thread.
struct bridge_stats {
  std::atomic<std::uint64_t> popped{0};    ///< messages taken from the two in-queues
  std::atomic<std::uint64_t> pushed{0};    ///< tasks put into the out-queue
  std::atomic<std::uint64_t> malformed{0}; ///< messages that could not be read
  std::atomic<std::uint64_t> refused{0}; ///< items that were not taken, each with its reason logged
  std::atomic<std::uint64_t> reconnects{0};
};

/// Runs from `start_…` to `stop`.
class bridge {
public:
  virtual ~bridge() = default; ///< stops

  /// Ends its threads within a second or so. What was taken from a queue and is not durable yet
  /// goes back to it; tasks that were not pushed go back to the node. Before the node is stopped.
  virtual void stop() = 0;

  [[nodiscard]] virtual const bridge_stats& stats() const = 0;
};

struct redis_config {
  std::string url;
  /// Messages stay in `QUEUE:lycosa:NODE` until what they say is durable: a crash loses none, and
  /// hands in again what was not. Needs Redis 6.2 or newer; an older one is used without.
  bool reliable = true;
  std::string node = "lycosa";
  queue_config queues;
};

struct amqp_config {
  std::string url;
  queue_config queues;
};

/// RabbitMQ, likewise. Messages are acknowledged when what they say is durable.
result<std::unique_ptr<bridge>> start_amqp(const amqp_config& config, actors::node& node);

/// The server need not be there: it is tried again, ever more slowly, until it is. Errors:
/// `invalid_argument` for a URL that makes no sense.
result<std::unique_ptr<bridge>> start_redis(const redis_config& config, actors::node& node);

} // namespace lycosa::bridges
