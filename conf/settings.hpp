#pragma once

#include "core/lifecycle.hpp"
#include "core/types.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

/// What can be configured, as plain structs that hold the defaults. `keys.hpp` says what each
/// member means and which values it takes; `load.hpp` fills them. Consumers take the struct they
/// need, so a test of theirs needs no file.
namespace lycosa::conf {

/// A number of bytes; a type of its own so that it is read and printed as `64MiB`.
struct bytes {
  std::uint64_t count = 0;
  friend bool operator==(bytes, bytes) = default;
};

constexpr bytes kib(std::uint64_t n) {
  return {n << 10};
}
constexpr bytes mib(std::uint64_t n) {
  return {n << 20};
}
constexpr bytes gib(std::uint64_t n) {
  return {n << 30};
}
constexpr bytes tib(std::uint64_t n) {
  return {n << 40};
}

struct node_settings {
  std::string name = "lycosa";
  std::string data = "data";
  std::uint64_t threads = 0;
};

struct http_settings {
  std::string listen = "127.0.0.1:8040";
  std::uint64_t threads = 0;
  bytes max_body = mib(64);
  bytes max_header = kib(16);
  usec idle_timeout = std::chrono::seconds{60};
  usec header_timeout = std::chrono::seconds{10};
  usec body_timeout = std::chrono::seconds{20};
  std::uint64_t max_connections = 4096;
  bytes max_in_flight = mib(256);
  std::string tls_cert;
  std::string tls_key;
};

struct xmlrpc_settings {
  std::string listen = "127.0.0.1:23333";
  bool enabled = true;
  bytes max_body = mib(8);
};

struct limits_settings {
  std::uint64_t list = 100'000;
  bytes task = mib(1);
  bytes taskid = {256};
  bytes url = kib(8);
};

struct storage_settings {
  std::uint64_t shards = 0;
  bytes map_size = tib(1);
  bytes reserve = mib(64);
  std::string durability = "sync";
  usec commit_interval = std::chrono::milliseconds{2};
  std::uint64_t commit_batch = 4096;
};

struct scheduler_settings {
  usec update_project_interval = std::chrono::minutes{5};
  std::uint64_t loop_limit = 1000;
  usec loop_interval = std::chrono::milliseconds{100};
  std::uint64_t active_tasks = 100;
  std::uint64_t inqueue_limit = 0;
  std::uint64_t exception_limit = 3;
  usec delete_time = std::chrono::hours{24};
  usec get_info_wait = std::chrono::seconds{3};
  usec tick_catch_up = std::chrono::minutes{1};
  usec finish_delay = std::chrono::seconds{1};
  retry_policy default_retry_delay;
  usec processing_timeout = std::chrono::minutes{10};
  std::uint64_t fail_pause_num = 10;
  usec pause_time = std::chrono::minutes{5};
  std::uint64_t unpause_check_num = 3;
};

struct dispatch_settings {
  std::uint64_t buffer = 1000;
};

/// What one named executor of jobs may carry.
struct executor_settings {
  std::uint64_t concurrency = 10;
  std::uint64_t queue_limit = 10'000;
  friend bool operator==(const executor_settings&, const executor_settings&) = default;
};
using executor_map = std::map<std::string, executor_settings>;

struct jobs_settings {
  std::uint64_t catch_up_number = 100;
  usec catch_up_age = std::chrono::days{365};
  std::uint64_t buffer = 1000;
  std::uint64_t cache = 16'384;
  std::uint64_t history_count = 100;
  usec history_age = std::chrono::days{30};
  usec stop_wait = std::chrono::seconds{10};
  executor_map executors{{"default", {}}, {"tasks", {10'000, 1'000'000}}};
};

struct events_settings {
  std::uint64_t buffer = 10'000;
  bytes buffer_size = mib(16);
  usec keep_alive = std::chrono::seconds{15};
  std::string log;
  std::map<std::string, std::string> webhooks; ///< name → URL
  std::map<std::string, std::string> webhook_types;
  std::map<std::string, std::string> webhook_headers;
  usec webhook_timeout = std::chrono::seconds{10};
};

struct metrics_settings {
  std::uint64_t projects = 50;
};

struct cluster_settings {
  std::string mode = "single";
  std::string name = "lycosa";
  std::string listen = "127.0.0.1:8050";
  std::string advertise;
  std::string http_advertise;
  std::vector<std::string> etcd = {"http://127.0.0.1:2379"};
  std::string etcd_user;
  std::string etcd_password;
  std::string etcd_ca;
  std::string etcd_cert;
  std::string etcd_key;
  usec session = std::chrono::seconds{3};
  std::uint64_t replicas = 3;
  std::uint64_t min_in_sync = 2;
  std::string failure_domain;
  usec heartbeat = std::chrono::milliseconds{500};
  usec slow_after = std::chrono::seconds{3};
  usec replace_after = std::chrono::minutes{5};
  bytes log_size = mib(1024);
  bytes copy_rate = mib(64);
  std::string secret;
  std::string tls_cert;
  std::string tls_key;
  std::string tls_ca;
};

struct auth_settings {
  std::vector<std::string> tokens;
};

struct redis_settings {
  std::string url;
  bool reliable = true;
  std::string newtask_queue = "newtask_queue";
  std::string status_queue = "status_queue";
  std::string out_queue = "scheduler2fetcher";
  std::uint64_t out_queue_limit = 100;
};

struct amqp_settings {
  std::string url;
  std::string newtask_queue = "newtask_queue";
  std::string status_queue = "status_queue";
  std::string out_queue = "scheduler2fetcher";
  std::uint64_t out_queue_limit = 100;
};

struct fetcher_settings {
  std::uint64_t concurrency = 100;
  std::uint64_t per_host = 8;
  std::string user_agent = "lycosa";
  usec connect_timeout = std::chrono::seconds{20};
  usec timeout = std::chrono::minutes{2};
  bytes max_body = mib(32);
  usec script_time_limit = std::chrono::minutes{2};
};

struct log_settings {
  std::string level = "info";
  std::map<std::string, std::string> levels; ///< subsystem → level
  std::string file;
  std::string format = "text";
  bytes max_size = mib(64);
  std::uint64_t keep = 5;
};

/// Handed to CAF as they are; the names are CAF's, e.g. `scheduler.max-threads`.
using caf_value = std::variant<bool, std::int64_t, double, std::string>;
using caf_settings = std::map<std::string, caf_value>;

struct settings {
  node_settings node;
  http_settings http;
  xmlrpc_settings xmlrpc;
  limits_settings limits;
  storage_settings storage;
  scheduler_settings scheduler;
  dispatch_settings dispatch;
  jobs_settings jobs;
  events_settings events;
  metrics_settings metrics;
  cluster_settings cluster;
  auth_settings auth;
  redis_settings redis;
  amqp_settings amqp;
  fetcher_settings fetcher;
  log_settings log;
  caf_settings caf;
};

} // namespace lycosa::conf
