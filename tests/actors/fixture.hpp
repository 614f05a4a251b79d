#pragma once

#include "actors/dispatcher.hpp"
#include "actors/project_events.hpp"
#include "actors/registry.hpp"
#include "actors/shard_reader.hpp"
#include "actors/shard_writer.hpp"
#include "actors/supervisor.hpp"
#include "storage/open.hpp"

#include <caf/scheduler/test_coordinator.hpp>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lycosa::actors::test {

using namespace std::chrono_literals;

/// A node on one thread, in virtual time: CAF's deterministic scheduler, the memory store and a
/// clock that moves only when told to.
class node_fixture : public ::testing::Test {
protected:
  static constexpr std::uint16_t shards = 2;

  void SetUp() override {
    spdlog::set_level(spdlog::level::off);
    start({});
  }

  void TearDown() override { stop(); }

  struct options {
    usec processing_timeout = 10min;
    std::uint64_t inqueue_limit = 0;
    retry_policy retry{{{0, 5s}}, 5s};
    std::uint32_t exception_limit = 3;
    pause_settings pause;
    std::uint32_t loop_limit = 1000;
    usec delete_time = 24h;
  };

  /// Starts the actors over `data` (kept over a restart, as a disk would be).
  void start(const options& o) {
    if (!data) data = storage::open_memory(shards);
    config = std::make_unique<caf::actor_system_config>();
    config->add_message_types<caf::id_block::lycosa>();
    config->set("scheduler.policy", caf::atom("testing"));
    config->set("logger.verbosity", caf::atom("quiet"));
    system = std::make_unique<caf::actor_system>(*config);
    scheduler = dynamic_cast<caf::scheduler::test_coordinator*>(&system->scheduler());
    ASSERT_NE(scheduler, nullptr);
    projects = std::make_shared<registry>();
    project_environment env;
    env.time = time;
    env.events = &hub;
    env.processing_timeout = o.processing_timeout;
    env.inqueue_limit = o.inqueue_limit;
    env.loading = std::make_shared<load_progress>();
    env.readers.resize(shards);
    env.writers.resize(shards);
    for (std::size_t i = shards; i-- > 0;) {
      shard_writer_config w;
      w.store = data->shards[i].get();
      w.shard = static_cast<std::uint16_t>(i);
      w.time = time;
      w.default_retry = o.retry;
      env.writers[i] = system->spawn(shard_writer, w);
      shard_reader_config r;
      r.store = data->shards[i].get();
      r.shard = static_cast<std::uint16_t>(i);
      r.time = time;
      if (i + 1 < shards) r.next = env.readers[i + 1];
      env.readers[i] = system->spawn(shard_reader, r);
      // An opening of a directory would have counted it up.
      env.epochs.insert(env.epochs.begin(), data->shards[i]->epoch() + starts);
    }
    ++starts;
    dispatch = system->spawn(dispatcher, clock_ptr{time});
    env.dispatch = dispatch;
    catalog_handle = system->spawn(catalog, data->catalog.get(), clock_ptr{time});
    env.catalog = catalog_handle;
    env.pause = o.pause;
    env.loop_limit = o.loop_limit;
    supervisor_config s;
    s.projects = projects;
    s.environment = env;
    s.catalog = catalog_handle;
    auto stored = data->catalog->projects();
    ASSERT_TRUE(stored.has_value());
    s.stored = *stored;
    auto counters = read_counters(*data->catalog);
    ASSERT_TRUE(counters.has_value());
    s.counters = std::move(*counters);
    s.exception_limit = o.exception_limit;
    s.delete_time = o.delete_time;
    parent = system->spawn(supervisor, s);
    environment = env;
    run();
  }

  void stop() {
    if (!system) return;
    caf::anon_send(parent, drain_atom_v);
    run();
    parent = nullptr;
    dispatch = nullptr;
    catalog_handle = nullptr;
    environment = {};
    projects.reset();
    system.reset();
    config.reset();
  }

  void run() { scheduler->run(); }

  /// Time goes on for a node that is stopped, too.
  void advance(usec by) {
    time->advance(by);
    if (!system) return;
    scheduler->advance_time(by);
    run();
  }

  // -- what clients do ---------------------------------------------------------------------------

  result<put_project_answer> put(std::string name, project_patch patch) {
    auto op = std::make_shared<change_project>();
    op->name = std::move(name);
    op->patch = std::move(patch);
    std::optional<result<put_project_answer>> got;
    op->done = promise<put_project_answer>{[&](auto r) { got = std::move(r); }};
    caf::anon_send(parent, std::move(op));
    run();
    EXPECT_TRUE(got.has_value()) << "no answer to put_project";
    return got ? std::move(*got) : fail(errc::internal, "test", "no answer");
  }

  void running(std::string name, double rate = 1000, double burst = 1000) {
    project_patch p;
    p.status = project_status::running;
    p.rate = rate;
    p.burst = burst;
    ASSERT_TRUE(put(std::move(name), p).has_value());
  }

  project_view view(const std::string& name) {
    const auto e = projects->find(name);
    EXPECT_TRUE(e && e->actor);
    auto q = std::make_shared<project_query>();
    project_view out;
    q->done = promise<project_view>{[&](auto r) {
      if (r) out = std::move(*r);
    }};
    caf::anon_send(e->actor, std::move(q));
    run();
    return out;
  }

  static task make_task(std::string_view project, std::string_view id) {
    task t;
    t.project = project;
    t.taskid = id;
    t.url = "http://example.com/";
    return t;
  }

  submit_answer submit(const std::vector<task>& tasks) {
    const auto e = projects->find(tasks.front().project);
    EXPECT_TRUE(e && e->actor);
    std::optional<submit_answer> got;
    auto whole = std::make_shared<gather<submit_answer>>(1, [&](result<submit_answer> r) {
      if (r) got = std::move(*r);
    });
    auto part = std::make_shared<submit_part>();
    part->promise = part_promise<submit_answer>{whole};
    for (std::uint32_t i = 0; i < tasks.size(); ++i)
      part->items.push_back({tasks[i], i});
    caf::anon_send(e->actor, std::move(part));
    run();
    EXPECT_TRUE(got.has_value()) << "no answer to submit";
    return got.value_or(submit_answer{});
  }

  struct pending_lease {
    std::uint64_t id = 0;
    std::optional<lease_answer> answer;
  };

  std::shared_ptr<pending_lease> ask(std::uint32_t max, usec wait = 0s,
                                     std::vector<std::string> names = {}) {
    auto t = std::make_shared<ticket>();
    t->id = ++tickets;
    t->request.max = max;
    t->request.wait = wait;
    t->request.consumer = "test";
    for (const auto& n : names)
      t->projects.push_back(projects->find(n)->facts->id);
    auto out = std::make_shared<pending_lease>();
    out->id = t->id;
    t->done = promise<lease_answer>{[out](auto r) {
      if (r) out->answer = std::move(*r);
    }};
    caf::anon_send(dispatch, std::move(t));
    run();
    return out;
  }

  std::vector<leased_task> lease(std::uint32_t max, std::vector<std::string> names = {}) {
    auto got = ask(max, 0s, std::move(names));
    EXPECT_TRUE(got->answer.has_value()) << "no answer to lease";
    if (!got->answer) return {};
    kept.push_back(std::move(got->answer->buffers));
    return std::move(got->answer->tasks);
  }

  static std::vector<std::string> ids(const std::vector<leased_task>& tasks) {
    std::vector<std::string> out;
    for (const auto& t : tasks)
      out.emplace_back(t.record.taskid);
    return out;
  }

  report_answer report(std::string_view project, std::string_view taskid, bool ok,
                       std::string_view lease = {}) {
    report_item item;
    item.project = project;
    item.pack.taskid = taskid;
    item.pack.fetch_ok = ok;
    item.pack.process_ok = ok;
    item.pack.track = ok ? R"({"process":{"ok":true}})" : R"({"process":{"ok":false}})";
    if (!lease.empty()) item.lease = parse_lease(lease);
    return report(std::vector{item});
  }

  report_answer report(const std::vector<report_item>& items) {
    const auto e = projects->find(items.front().project);
    EXPECT_TRUE(e && e->actor);
    std::optional<report_answer> got;
    auto whole = std::make_shared<gather<report_answer>>(1, [&](result<report_answer> r) {
      if (r) got = std::move(*r);
    });
    auto part = std::make_shared<report_part>();
    part->promise = part_promise<report_answer>{whole};
    part->items = items;
    caf::anon_send(e->actor, std::move(part));
    run();
    EXPECT_TRUE(got.has_value()) << "no answer to report";
    return got.value_or(report_answer{});
  }

  report_answer settle(const leased_task& t, bool ok = true) {
    return report(t.record.project, t.record.taskid, ok, t.lease);
  }

  leases_answer change_lease(const leased_task& t, bool extend, usec amount) {
    const auto e = projects->find(t.record.project);
    std::optional<leases_answer> got;
    auto whole = std::make_shared<gather<leases_answer>>(1, [&](result<leases_answer> r) {
      if (r) got = std::move(*r);
    });
    auto part = std::make_shared<leases_part>();
    part->promise = part_promise<leases_answer>{whole};
    part->extend = extend;
    part->amount = amount;
    part->items.push_back({0, *parse_lease(t.lease)});
    caf::anon_send(e->actor, std::move(part));
    run();
    return got.value_or(leases_answer{});
  }

  std::shared_ptr<manual_clock> time =
      std::make_shared<manual_clock>(wall_time{std::chrono::seconds{1'700'000'000}});
  std::unique_ptr<storage::data_dir> data;
  event_hub hub{all_event_types(), 1};
  std::unique_ptr<caf::actor_system_config> config;
  std::unique_ptr<caf::actor_system> system;
  caf::scheduler::test_coordinator* scheduler = nullptr;
  std::shared_ptr<registry> projects;
  project_environment environment;
  dispatcher_actor dispatch;
  catalog_actor catalog_handle;
  supervisor_actor parent;
  std::uint64_t tickets = 0;
  std::uint64_t starts = 0;
  std::vector<std::vector<memory>> kept; ///< what leased tasks point into
};

} // namespace lycosa::actors::test
