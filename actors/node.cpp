#include "actors/node.hpp"

#include "actors/actor_executor.hpp"
#include "actors/counting.hpp"
#include "actors/dispatcher.hpp"
#include "actors/interfaces.hpp"
#include "actors/job_events.hpp"
#include "actors/local_jobs.hpp"
#include "actors/log.hpp"
#include "actors/project_census.hpp"
#include "actors/project_events.hpp"
#include "actors/registry.hpp"
#include "actors/scatter.hpp"
#include "actors/shard_reader.hpp"
#include "actors/shard_writer.hpp"
#include "actors/supervisor.hpp"
#include "storage/open.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <future>
#include <iterator>
#include <thread>
#include <unordered_map>

namespace lycosa::actors {

namespace {

/// Splits a listing cursor `shard:inner`.
std::optional<std::pair<std::uint16_t, std::string>> split_cursor(std::string_view text,
                                                                  std::size_t shards) {
  if (text.empty()) return std::pair{std::uint16_t{0}, std::string{}};
  std::uint16_t shard = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), shard);
  if (ec != std::errc{} || end == text.data() + text.size() || *end != ':' || shard >= shards)
    return std::nullopt;
  return std::pair{shard, std::string{end + 1, text.data() + text.size()}};
}

error bad_cursor() {
  return {errc::invalid_argument, "after", "not a cursor of this listing"};
}

class cancel_wait final : public lease_wait {
public:
  cancel_wait(dispatcher_actor to, std::uint64_t id) : to_(std::move(to)), id_(id) {}
  void cancel() override { caf::anon_send(to_, cancel_atom_v, id_); }

private:
  dispatcher_actor to_;
  std::uint64_t id_;
};

class local_node final : public node {
public:
  local_node(const node_config& config, std::unique_ptr<storage::data_dir> data)
      : data_(std::move(data)),
        events_(std::make_unique<event_hub>(
            all_event_types(),
            static_cast<std::uint64_t>(time_->now().wall.time_since_epoch().count() / 1000),
            config.events)),
        system_(configure(config)) {}

  ~local_node() override { stop(); }

  result<void> start(const node_config& config);

  void put_project(std::string name, project_patch patch, reply<put_project_answer> done) override {
    auto op = std::make_shared<change_project>();
    op->name = std::move(name);
    op->patch = std::move(patch);
    op->done = promise<put_project_answer>{std::move(done)};
    caf::anon_send(supervisor_, std::move(op));
  }

  void get_project(std::string name, reply<project_view> done) override {
    const auto found = projects_->find(name);
    if (!found) return done(tl::unexpected(no_such_project(name)));
    ask(*found, std::move(done));
  }

  void list_projects(reply<std::vector<project_view>> done) override;

  void delete_project(std::string name, reply<std::uint64_t> done) override {
    auto op = std::make_shared<drop_project>();
    op->name = std::move(name);
    op->done = promise<std::uint64_t>{std::move(done)};
    caf::anon_send(supervisor_, std::move(op));
  }

  void start_project(std::string name, reply<submit_answer> done) override;

  void submit(submit_request request, reply<submit_answer> done) override;
  std::unique_ptr<lease_wait> lease(lease_request request, reply<lease_answer> done) override;
  void report(report_request request, reply<report_answer> done) override;

  void extend(leases_request request, reply<leases_answer> done) override {
    change_leases(std::move(request), true, std::move(done));
  }
  void release(leases_request request, reply<leases_answer> done) override {
    change_leases(std::move(request), false, std::move(done));
  }

  void get_task(std::string project, std::string taskid, reply<task_answer> done) override {
    const auto found = projects_->find(project);
    if (!found) return done(tl::unexpected(no_such_project(project)));
    if (!found->actor) return done(tl::unexpected(no_actor(*found)));
    auto query = std::make_shared<task_query>();
    query->hash = hash_task(project, taskid);
    query->taskid = std::move(taskid);
    query->done = promise<task_answer>{std::move(done)};
    caf::anon_send(found->actor, std::move(query));
  }

  void list_tasks(std::string project, std::optional<task_status> status, std::string cursor,
                  std::size_t limit, reply<task_page> done) override {
    const auto found = projects_->find(project);
    if (!found) return done(tl::unexpected(no_such_project(project)));
    auto at = split_cursor(cursor, readers_.size());
    if (!at) return done(tl::unexpected(bad_cursor()));
    auto op = std::make_shared<list_tasks_op>();
    op->facts = found->facts;
    op->status = status;
    op->cursor = std::move(at->second);
    op->limit = limit;
    op->done = promise<task_page>{std::move(done)};
    caf::anon_send(readers_[at->first], std::move(op));
  }

  void active_tasks(std::string project, std::size_t limit,
                    reply<std::vector<active_entry>> done) override;

  void send_message(memory buffer, task what, reply<bool> done) override {
    const auto found = projects_->find(what.project);
    if (!found) return done(tl::unexpected(no_such_project(std::string{what.project})));
    if (!found->actor) return done(tl::unexpected(no_actor(*found)));
    auto op = std::make_shared<send_op>();
    op->what.buffer = std::move(buffer);
    op->what.record = what;
    op->done = promise<bool>{std::move(done)};
    caf::anon_send(found->actor, std::move(op));
  }

  std::shared_ptr<void> input_pending() override {
    inputs_->fetch_add(1);
    return {inputs_.get(), [inputs = inputs_](void*) { inputs->fetch_sub(1); }};
  }

  void counters(counter_set set, counter_kind kind,
                reply<std::vector<counter_view>> done) override {
    ask_counters(projects_->all(), set, kind, std::move(done));
  }

  void put_result(std::string project, stored_result entry, reply<bool> done) override {
    const auto found = projects_->find(project);
    if (!found) return done(tl::unexpected(no_such_project(project)));
    auto op = std::make_shared<result_op>();
    op->project = found->facts->id;
    op->hash = hash_task(project, entry.taskid);
    op->entry = std::move(entry);
    if (op->entry.updatetime == wall_time{}) op->entry.updatetime = time_->now().wall;
    op->done = promise<bool>{std::move(done)};
    const auto shard = shard_of(op->hash, shards());
    caf::anon_send(writers_[shard], std::move(op));
  }

  void get_result(std::string project, std::string taskid, reply<stored_result> done) override {
    const auto found = projects_->find(project);
    if (!found) return done(tl::unexpected(no_such_project(project)));
    auto op = std::make_shared<get_result_op>();
    op->project = found->facts->id;
    op->hash = hash_task(project, taskid);
    op->done = promise<stored_result>{std::move(done)};
    const auto shard = shard_of(op->hash, shards());
    caf::anon_send(readers_[shard], std::move(op));
  }

  void list_results(std::string project, std::string cursor, std::size_t limit,
                    reply<result_page> done) override {
    const auto found = projects_->find(project);
    if (!found) return done(tl::unexpected(no_such_project(project)));
    auto at = split_cursor(cursor, readers_.size());
    if (!at) return done(tl::unexpected(bad_cursor()));
    auto op = std::make_shared<list_results_op>();
    op->project = found->facts->id;
    op->cursor = std::move(at->second);
    op->limit = limit;
    op->done = promise<result_page>{std::move(done)};
    caf::anon_send(readers_[at->first], std::move(op));
  }

  void health(reply<health_view> done) override {
    auto op = std::make_shared<stats_op>();
    op->view.queues_loading = loading_->queues.load();
    op->view.tasks = loading_->tasks.load();
    op->view.tasks_loaded = loading_->loaded.load();
    op->view.ready = op->view.queues_loading == 0;
    if (!op->view.ready)
      op->view.why = std::to_string(op->view.queues_loading)
                     + " queues are being loaded: " + std::to_string(op->view.tasks_loaded) + " of "
                     + std::to_string(op->view.tasks) + " tasks";
    op->done = promise<health_view>{std::move(done)};
    caf::anon_send(readers_.front(), std::move(op));
  }

  metrics_view metrics(std::size_t projects) override;

  job_service& jobs() override { return *jobs_; }
  event_hub& events() override { return *events_; }

  void stop() override;

private:
  /// CAF reads its configuration from an object that must outlive the system.
  struct system_holder {
    caf::actor_system_config config;
    std::unique_ptr<caf::actor_system> system;
  };

  static std::unique_ptr<system_holder> configure(const node_config& config) {
    auto holder = std::make_unique<system_holder>();
    holder->config.add_message_types<caf::id_block::lycosa>();
    // Workers wait for one queue. CAF's default, stealing, looks for work on a timer of 50 us,
    // later 10 ms: an idle node would never rest, and what comes to one that rests would wait so
    // long.
    holder->config.set("scheduler.policy", caf::atom("sharing"));
    // Few: handing a message to a worker that sleeps costs more than most handlers do, and shards
    // and connections have threads of their own. CAF would take four at least.
    const std::size_t threads = config.actor_threads > 0
                                    ? config.actor_threads
                                    : std::max(1u, std::thread::hardware_concurrency() / 2);
    holder->config.set("scheduler.max-threads", threads);
    // By default an actor stays at a worker for as long as it has messages: a project that loads
    // its queue, or is flooded, would keep the dispatcher waiting.
    holder->config.set("scheduler.max-throughput", std::size_t{8});
    holder->system = std::make_unique<caf::actor_system>(holder->config);
    return holder;
  }

  [[nodiscard]] std::uint16_t shards() const { return static_cast<std::uint16_t>(writers_.size()); }

  static void ask(const registry::entry& e, reply<project_view> done) {
    if (!e.actor) {
      project_view view;
      view.record = *e.facts;
      view.gate = no_actor(e).why;
      return done(std::move(view));
    }
    auto query = std::make_shared<project_query>();
    query->done = promise<project_view>{std::move(done)};
    caf::anon_send(e.actor, std::move(query));
  }

  void change_leases(leases_request request, bool extend, reply<leases_answer> done);

  std::unique_ptr<storage::data_dir> data_;
  clock_ptr time_ = make_system_clock();
  std::unique_ptr<event_hub> events_; ///< before the actors that publish into it
  std::unique_ptr<system_holder> system_;
  std::shared_ptr<registry> projects_ = std::make_shared<registry>();
  std::shared_ptr<load_progress> loading_ = std::make_shared<load_progress>();
  std::shared_ptr<std::atomic<std::uint64_t>> inputs_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::shared_ptr<node_meters> meters_ = std::make_shared<node_meters>();
  project_census census_;
  std::vector<shard_writer_actor> writers_;
  std::vector<shard_reader_actor> readers_;
  catalog_actor catalog_;
  dispatcher_actor dispatcher_;
  supervisor_actor supervisor_;
  std::unique_ptr<local_jobs> jobs_;
  std::atomic<std::uint64_t> tickets_{0};
  std::atomic<bool> stopped_{false};
};

result<void> local_node::start(const node_config& config) {
  auto stored = data_->catalog->projects();
  if (!stored) return tl::unexpected(stored.error());
  auto& system = *system_->system;
  const auto n = data_->shards.size();
  project_environment env;
  env.time = time_;
  env.events = events_.get();
  env.processing_timeout = config.processing_timeout;
  env.inqueue_limit = config.inqueue_limit;
  env.active_tasks = config.active_tasks;
  env.loading = loading_;
  env.inputs = inputs_;
  env.meters = meters_;
  for (std::size_t i = 0; i < n; ++i)
    meters_->shards.push_back(std::make_unique<shard_meter>());
  env.pause = config.pause;
  env.loop_limit = config.loop_limit;
  env.get_info_wait = config.get_info_wait;
  env.tick_catch_up = config.tick_catch_up;
  env.finish_delay = config.finish_delay;
  readers_.resize(n);
  for (std::size_t i = n; i-- > 0;) { // the last first: each knows the next
    const auto shard = static_cast<std::uint16_t>(i);
    shard_writer_config w;
    w.store = data_->shards[i].get();
    w.shard = shard;
    w.time = time_;
    w.default_retry = config.default_retry;
    w.commit_batch = config.commit_batch;
    w.commit_interval = config.commit_interval;
    w.meter = meters_->shards[i].get();
    writers_.insert(writers_.begin(), system.spawn<caf::detached>(shard_writer, std::move(w)));
    shard_reader_config r;
    r.store = data_->shards[i].get();
    r.shard = shard;
    r.time = time_;
    if (i + 1 < n) r.next = readers_[i + 1];
    readers_[i] = system.spawn<caf::detached>(shard_reader, std::move(r));
    env.epochs.insert(env.epochs.begin(), data_->shards[i]->epoch());
  }
  env.writers = writers_;
  env.readers = readers_;
  dispatcher_ = system.spawn(dispatcher, time_);
  env.dispatch = dispatcher_;
  catalog_ = system.spawn<caf::detached>(catalog, data_->catalog.get(), time_);
  env.catalog = catalog_;
  auto counters = read_counters(*data_->catalog);
  if (!counters) return tl::unexpected(counters.error());
  supervisor_config s;
  s.counters = std::move(*counters);
  s.projects = projects_;
  s.environment = std::move(env);
  s.catalog = catalog_;
  s.stored = std::move(*stored);
  s.exception_limit = config.exception_limit;
  s.delete_time = config.delete_time;
  s.full_buckets = config.full_buckets;
  auto published = std::make_shared<std::promise<void>>();
  auto known = published->get_future();
  s.ready = [published] { published->set_value(); };
  supervisor_ = system.spawn(supervisor, std::move(s));
  known.wait();
  auto jobs = config.jobs;
  if (!jobs.executors.actor) jobs.executors.actor = make_actor_executor(system);
  jobs_ = std::make_unique<local_jobs>(system, *data_->catalog, time_, std::move(jobs),
                                       std::make_shared<job_events>(events_.get(), meters_));
  jobs_->watch_time();
  return {};
}

metrics_view local_node::metrics(std::size_t projects) {
  metrics_view view;
  const auto total = meters_->counts.look();
  census_.look(total, *projects_, projects, time_->now().mono, view);
  view.lateness = meters_->lateness.look();
  view.job_lateness = meters_->job_lateness.look();
  view.job_durations = meters_->job_durations.look();
  for (const auto& s : meters_->shards)
    view.shards.push_back({s->commit_seconds.look(), s->sync_seconds.look(),
                           s->commit_operations.look(), s->refused.load(std::memory_order_relaxed),
                           s->waiting.load(std::memory_order_relaxed)});
  return view;
}

void local_node::list_projects(reply<std::vector<project_view>> done) {
  auto entries = projects_->all();
  if (entries.empty()) return done(std::vector<project_view>{});
  auto all = std::make_shared<collecting<project_view>>();
  all->got.resize(entries.size());
  all->open = entries.size();
  all->done = std::move(done);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    ask(entries[i], [all, i, facts = entries[i].facts](result<project_view> view) {
      std::unique_lock lock(all->mutex);
      if (view)
        all->got[i] = std::move(*view);
      else
        all->got[i].record = *facts; // it ended while we asked
      all->finished(std::move(lock));
    });
  }
}

void local_node::active_tasks(std::string project, std::size_t limit,
                              reply<std::vector<active_entry>> done) {
  std::vector<registry::entry> entries;
  if (project.empty()) {
    entries = projects_->all();
  } else if (auto found = projects_->find(project)) {
    entries.push_back(std::move(*found));
  } else {
    return done(tl::unexpected(no_such_project(project)));
  }
  std::erase_if(entries, [](const registry::entry& e) { return !e.actor; });
  if (entries.empty()) return done(std::vector<active_entry>{});
  auto all = std::make_shared<collecting<active_entry>>();
  all->open = entries.size();
  all->done = [limit, done = std::move(done)](result<std::vector<active_entry>> got) {
    if (!got) return done(std::move(got));
    std::stable_sort(got->begin(), got->end(),
                     [](const active_entry& a, const active_entry& b) { return a.at > b.at; });
    if (got->size() > limit) got->resize(limit);
    done(std::move(got));
  };
  for (const auto& e : entries) {
    auto query = std::make_shared<active_query>();
    query->limit = limit;
    query->done = promise<std::vector<active_entry>>{[all](result<std::vector<active_entry>> got) {
      std::unique_lock lock(all->mutex);
      if (got) std::move(got->begin(), got->end(), std::back_inserter(all->got));
      all->finished(std::move(lock));
    }};
    caf::anon_send(e.actor, std::move(query));
  }
}

void local_node::start_project(std::string name, reply<submit_answer> done) {
  auto owned = std::make_shared<std::string>(std::move(name));
  submit_request request;
  task t;
  t.project = *owned;
  t.taskid = "on_start";
  t.url = "data:,on_start";
  t.process = R"({"callback":"on_start"})";
  t.sched.priority = 9;
  t.sched.age = usec{0};
  t.sched.force_update = true;
  request.items.push_back({t, 0});
  request.buffer = owned;
  if (!projects_->find(*owned)) return done(tl::unexpected(no_such_project(*owned)));
  submit(std::move(request), std::move(done));
}

void local_node::submit(submit_request request, reply<submit_answer> done) {
  scatter<submit_part>(
      *projects_, request.items, std::move(done),
      [](const submit_item& i) { return i.record.project; },
      [&](submit_part& part, const submit_item& i) {
        if (part.items.empty()) part.buffer = request.buffer;
        part.import = request.import;
        part.items.push_back(i);
      },
      [](submit_answer& a, const submit_item& i, const error& why) {
        a.rejected.push_back({i.index, std::string{i.record.taskid}, "project: " + why.text()});
        if (why.code == errc::unavailable && !a.failure) a.failure = why;
      });
}

void local_node::report(report_request request, reply<report_answer> done) {
  scatter<report_part>(
      *projects_, request.items, std::move(done), [](const report_item& i) { return i.project; },
      [&](report_part& part, const report_item& i) {
        if (part.items.empty()) part.buffer = request.buffer;
        part.items.push_back(i);
      },
      [](report_answer& a, const report_item& i, const error& why) {
        a.rejected.push_back({i.index, std::string{i.pack.taskid}, "project: " + why.text()});
        if (why.code == errc::unavailable && !a.failure) a.failure = why;
      });
}

void local_node::change_leases(leases_request request, bool extend, reply<leases_answer> done) {
  leases_answer refused;
  std::unordered_map<std::uint32_t, std::pair<project_actor, std::shared_ptr<leases_part>>> parts;
  for (std::uint32_t i = 0; i < request.leases.size(); ++i) {
    const auto& token = request.leases[i];
    const auto entry = token ? projects_->find(token->project) : std::nullopt;
    if (!entry || !entry->actor) {
      refused.rejected.push_back({i, "", "stale lease"});
      continue;
    }
    auto& [actor, part] = parts[static_cast<std::uint32_t>(token->project)];
    if (!part) {
      actor = entry->actor;
      part = std::make_shared<leases_part>();
      part->extend = extend;
      part->amount = request.amount;
    }
    part->items.push_back({i, *token});
  }
  auto whole = std::make_shared<gather<leases_answer>>(parts.size() + 1, std::move(done));
  for (auto& [id, p] : parts) {
    p.second->promise = part_promise<leases_answer>{whole};
    caf::anon_send(p.first, std::move(p.second));
  }
  whole->finish(std::move(refused));
}

std::unique_ptr<lease_wait> local_node::lease(lease_request request, reply<lease_answer> done) {
  auto t = std::make_shared<ticket>();
  t->id = ++tickets_;
  for (const auto& name : request.projects) {
    const auto found = projects_->find(name);
    if (!found) {
      done(fail(errc::not_found, "projects", "no such project: " + name));
      return nullptr;
    }
    t->projects.push_back(found->facts->id);
  }
  t->request = std::move(request);
  t->done = promise<lease_answer>{std::move(done)};
  auto wait = std::make_unique<cancel_wait>(dispatcher_, t->id);
  caf::anon_send(dispatcher_, std::move(t));
  return wait;
}

void local_node::stop() {
  if (stopped_.exchange(true)) return;
  // Every actor quits by itself when it is drained. What is sent to it afterwards is dropped, and
  // with the message its promise, which then answers `unavailable`.
  if (jobs_) jobs_->stop();
  if (supervisor_) caf::anon_send(supervisor_, drain_atom_v);
  system_->system->await_all_actors_done();
  events_->close();
}

} // namespace

result<std::unique_ptr<node>> node::open(const node_config& config) {
  std::unique_ptr<storage::data_dir> data;
  if (config.data.empty()) {
    data = storage::open_memory(config.shards);
  } else {
    storage::open_options options;
    options.dir = config.data;
    options.shards = config.shards;
    options.map_size = config.map_size;
    options.sync = config.sync;
    options.reserve_bytes = config.reserve;
    options.replicas = config.replicas;
    auto opened = storage::open_data_dir(options);
    if (!opened) return tl::unexpected(opened.error());
    data = std::move(*opened);
  }
  auto made = std::make_unique<local_node>(config, std::move(data));
  if (auto started = made->start(config); !started) return tl::unexpected(started.error());
  return made;
}

} // namespace lycosa::actors
