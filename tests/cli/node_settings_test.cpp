#include "cli/node_settings.hpp"

#include <gtest/gtest.h>

using namespace lycosa;
using namespace lycosa::cli;

TEST(node_settings, defaults_of_the_file_are_those_of_the_parts) {
  auto node = to_node_config({});
  actors::node_config own;
  EXPECT_EQ(node.shards, own.shards);
  EXPECT_EQ(node.sync, own.sync);
  EXPECT_EQ(node.commit_interval, own.commit_interval);
  EXPECT_EQ(node.commit_batch, own.commit_batch);
  EXPECT_EQ(node.processing_timeout, own.processing_timeout);
  EXPECT_EQ(node.delete_time, own.delete_time);
  EXPECT_EQ(node.exception_limit, own.exception_limit);
  EXPECT_EQ(node.events.count, own.events.count);
  EXPECT_EQ(node.events.bytes, own.events.bytes);
  EXPECT_EQ(node.jobs.history.age, own.jobs.history.age);
  EXPECT_EQ(node.jobs.stop_wait, own.jobs.stop_wait);
  EXPECT_EQ(node.jobs.limits.catch_up_number, own.jobs.limits.catch_up_number);
  EXPECT_EQ(node.jobs.limits.catch_up_age, own.jobs.limits.catch_up_age);
  EXPECT_EQ(node.jobs.limits.buffer, own.jobs.limits.buffer);
  EXPECT_EQ(node.jobs.limits.cache, own.jobs.limits.cache);
  EXPECT_EQ(node.jobs.history.count, own.jobs.history.count);
  const jobs::executor_limits executor;
  EXPECT_EQ(node.jobs.limits.executors.at("default").concurrency, executor.concurrency);
  EXPECT_EQ(node.jobs.limits.executors.at("default").queue_limit, executor.queue_limit);

  auto server = to_server_config({}).value();
  gateway::server_config front;
  EXPECT_EQ(server.host, front.host);
  EXPECT_EQ(server.port, front.port);
  EXPECT_EQ(server.max_body, front.max_body);
  EXPECT_EQ(server.max_header, front.max_header);
  EXPECT_EQ(server.idle_timeout, front.idle_timeout);
  EXPECT_EQ(server.header_timeout, front.header_timeout);
  EXPECT_EQ(server.body_timeout, front.body_timeout);
  EXPECT_EQ(server.event_keep_alive, front.event_keep_alive);
  EXPECT_EQ(server.max_connections, front.max_connections);
  EXPECT_EQ(server.max_in_flight_bytes, front.max_in_flight_bytes);
  EXPECT_EQ(server.limits.list, front.limits.list);
  EXPECT_EQ(server.limits.task, front.limits.task);
  EXPECT_EQ(server.limits.taskid, front.limits.taskid);
  EXPECT_EQ(server.limits.url, front.limits.url);
}

TEST(node_settings, what_is_set_reaches_the_parts) {
  conf::settings s;
  s.node.name = "east";
  s.storage.durability = "async";
  s.storage.shards = 7;
  s.http.listen = "[::1]:99";
  s.limits.list = 5;
  s.jobs.executors["heavy"] = {2, 3};
  auto node = to_node_config(s);
  EXPECT_EQ(node.name, "east");
  EXPECT_FALSE(node.sync);
  EXPECT_EQ(node.shards, 7);
  EXPECT_EQ(node.jobs.limits.executors.at("heavy").concurrency, 2u);
  EXPECT_EQ(node.jobs.limits.executors.at("heavy").queue_limit, 3u);
  auto server = to_server_config(s).value();
  EXPECT_EQ(server.host, "::1");
  EXPECT_EQ(server.port, 99);
  EXPECT_EQ(server.limits.list, 5u);
}

TEST(node_settings, localhost_is_the_loopback_address) {
  conf::settings s;
  s.http.listen = "localhost:0";
  EXPECT_EQ(to_server_config(s).value().host, "127.0.0.1");
}
