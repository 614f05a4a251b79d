#include "cli/scheduler.hpp"

#include "cli/node_settings.hpp"
#include "executors/command_executor.hpp"
#include "executors/http_executor.hpp"
#include "gateway/task_executor.hpp"

#include <utility>

namespace lycosa::cli {

result<std::unique_ptr<scheduler>> scheduler::start(const conf::settings& s,
                                                    actors::node_config config) {
  auto commands = executors::make_command_executor();
  if (!commands) return tl::unexpected(commands.error());
  auto requests = executors::make_http_executor();
  if (!requests) return tl::unexpected(requests.error());
  const auto tasks = gateway::task_executor::make();
  config.jobs.executors.command = std::move(*commands);
  config.jobs.executors.http = std::move(*requests);
  config.jobs.executors.task = tasks;
  auto node = actors::node::open(config);
  if (!node) return tl::unexpected(node.error());
  auto made = std::make_unique<scheduler>();
  made->node_ = std::move(*node);
  tasks->attach(*made->node_);
  if (auto ok = made->told_.start(s.events, made->node_->events()); !ok) {
    made->stop();
    return tl::unexpected(ok.error());
  }
  return made;
}

result<void> scheduler::start_bridges(const conf::settings& s,
                                      const gateway::limits_config& limits) {
  const auto add = [&](result<std::unique_ptr<bridges::bridge>> started) -> result<void> {
    if (!started) return tl::unexpected(started.error());
    bridges_.push_back(std::move(*started));
    return {};
  };
  if (!s.redis.url.empty())
    if (auto ok = add(bridges::start_redis(to_redis_config(s, limits), *node_)); !ok) return ok;
  if (!s.amqp.url.empty()) return add(bridges::start_amqp(to_amqp_config(s, limits), *node_));
  return {};
}

void scheduler::stop_bridges() {
  for (auto& b : bridges_)
    b->stop();
  bridges_.clear();
}

void scheduler::stop() {
  stop_bridges();
  node_->stop();
  told_.stop();
}

} // namespace lycosa::cli
