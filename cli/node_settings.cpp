#include "cli/node_settings.hpp"

#include "cli/version.hpp"
#include "conf/units.hpp"

namespace lycosa::cli {

actors::job_settings to_job_settings(const conf::jobs_settings& s) {
  actors::job_settings j;
  j.limits.catch_up_number = static_cast<std::uint32_t>(s.catch_up_number);
  j.limits.catch_up_age = s.catch_up_age;
  j.limits.buffer = static_cast<std::uint32_t>(s.buffer);
  j.limits.cache = s.cache;
  j.history.count = static_cast<std::uint32_t>(s.history_count);
  j.history.age = s.history_age;
  for (const auto& [name, one] : s.executors)
    j.limits.executors[name] = {static_cast<std::uint32_t>(one.concurrency),
                                static_cast<std::uint32_t>(one.queue_limit)};
  j.stop_wait = s.stop_wait;
  return j;
}

actors::node_config to_node_config(const conf::settings& s) {
  actors::node_config c;
  c.name = s.node.name;
  c.data = s.node.data;
  c.actor_threads = static_cast<std::uint32_t>(s.node.threads);
  c.shards = static_cast<std::uint16_t>(s.storage.shards);
  c.map_size = s.storage.map_size.count;
  c.reserve = s.storage.reserve.count;
  c.sync = s.storage.durability == "sync";
  c.commit_interval = s.storage.commit_interval;
  c.commit_batch = static_cast<std::uint32_t>(s.storage.commit_batch);
  c.processing_timeout = s.scheduler.processing_timeout;
  c.inqueue_limit = s.scheduler.inqueue_limit;
  c.loop_limit = static_cast<std::uint32_t>(s.scheduler.loop_limit);
  c.pause.fail_num = static_cast<int>(s.scheduler.fail_pause_num);
  c.pause.pause_time = s.scheduler.pause_time;
  c.pause.check_num = static_cast<int>(s.scheduler.unpause_check_num);
  c.get_info_wait = s.scheduler.get_info_wait;
  c.tick_catch_up = s.scheduler.tick_catch_up;
  c.finish_delay = s.scheduler.finish_delay;
  c.delete_time = s.scheduler.delete_time;
  c.active_tasks = s.scheduler.active_tasks;
  c.default_retry = s.scheduler.default_retry_delay;
  c.exception_limit = static_cast<std::uint32_t>(s.scheduler.exception_limit);
  c.jobs = to_job_settings(s.jobs);
  c.events = {s.events.buffer, s.events.buffer_size.count};
  return c;
}

bridges::amqp_config to_amqp_config(const conf::settings& s, const gateway::limits_config& limits) {
  return {s.amqp.url,
          {s.amqp.newtask_queue, s.amqp.status_queue, s.amqp.out_queue, s.amqp.out_queue_limit,
           limits}};
}

bridges::redis_config to_redis_config(const conf::settings& s,
                                      const gateway::limits_config& limits) {
  bridges::redis_config c;
  c.url = s.redis.url;
  c.reliable = s.redis.reliable;
  c.node = s.node.name;
  c.queues.newtask_queue = s.redis.newtask_queue;
  c.queues.status_queue = s.redis.status_queue;
  c.queues.out_queue = s.redis.out_queue;
  c.queues.out_queue_limit = s.redis.out_queue_limit;
  c.queues.limits = limits;
  return c;
}

result<gateway::server_config> to_server_config(const conf::settings& s) {
  auto at = conf::parse_endpoint(s.http.listen);
  if (!at) return tl::unexpected(error{at.error().code, "http.listen", at.error().why});
  gateway::server_config c;
  // The gateway wants a number; this is the one name everybody uses.
  c.host = at->host == "localhost" ? "127.0.0.1" : at->host;
  c.port = at->port;
  c.threads = static_cast<unsigned>(s.http.threads);
  c.max_body = s.http.max_body.count;
  c.max_header = s.http.max_header.count;
  c.idle_timeout = s.http.idle_timeout;
  c.header_timeout = s.http.header_timeout;
  c.body_timeout = s.http.body_timeout;
  c.event_keep_alive = s.events.keep_alive;
  c.max_connections = s.http.max_connections;
  c.max_in_flight_bytes = s.http.max_in_flight.count;
  c.limits.taskid = s.limits.taskid.count;
  c.limits.url = s.limits.url.count;
  c.limits.task = s.limits.task.count;
  c.limits.list = s.limits.list;
  c.metrics_projects = s.metrics.projects;
  c.version = version;
  c.tls_cert = s.http.tls_cert;
  c.tls_key = s.http.tls_key;
  return c;
}

result<gateway::server_config> to_xmlrpc_config(const conf::settings& s) {
  auto c = to_server_config(s);
  if (!c) return c;
  auto at = conf::parse_endpoint(s.xmlrpc.listen);
  if (!at) return tl::unexpected(error{at.error().code, "xmlrpc.listen", at.error().why});
  c->host = at->host == "localhost" ? "127.0.0.1" : at->host;
  c->port = at->port;
  c->threads = 1;
  c->max_body = s.xmlrpc.max_body.count;
  c->tls_cert.clear(); // pyspider's clients speak plain HTTP
  c->tls_key.clear();
  return c;
}

} // namespace lycosa::cli
