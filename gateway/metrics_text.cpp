#include "gateway/metrics_text.hpp"

#include "gateway/budget.hpp"
#include "gateway/metric_families.hpp"
#include "gateway/router.hpp"
#include "gateway/session.hpp"

#include <array>

namespace lycosa::gateway {
namespace {

constexpr std::array<std::string_view, route_meter::classes> class_names{"1xx", "2xx", "3xx", "4xx",
                                                                         "5xx"};
double seconds_of(wall_time at) {
  return std::chrono::duration<double>(at.time_since_epoch()).count();
}

void add_projects(metric_families& all, const actors::metrics_view& v) {
  auto events = all.counter("lycosa_task_events_total",
                            "Decisions about tasks since the node started: queued (pending), done "
                            "(success), to be tried again (retry), given up (failed).");
  static constexpr std::array<std::string_view, 4> names{"pending", "success", "retry", "failed"};
  for (const auto& p : v.projects)
    for (std::size_t i = 0; i < names.size(); ++i)
      events.add({{"project", p.project}, {"event", names[i]}}, p.counts[i]);
  auto refused = all.counter("lycosa_tasks_refused_total",
                             "Tasks that were refused because their project's queue was full.");
  for (const auto& p : v.projects)
    refused.add({{"project", p.project}}, p.counts[4]);
  auto states = all.gauge("lycosa_tasks",
                          "Tasks that wait or are handed out, as their project last saw them.");
  for (const auto& p : v.projects) {
    states.add({{"project", p.project}, {"state", "ready"}}, p.ready);
    states.add({{"project", p.project}, {"state", "delayed"}}, p.delayed);
    states.add({{"project", p.project}, {"state", "processing"}}, p.processing);
    states.add({{"project", p.project}, {"state", "on_disk"}}, p.on_disk);
  }
  auto paused = all.gauge("lycosa_project_paused",
                          "Whether a project is paused, by its status or by its failures; of "
                          "`other`: how many are.");
  for (const auto& p : v.projects)
    paused.add({{"project", p.project}}, p.paused);
  auto oldest = all.gauge("lycosa_oldest_lease_seconds",
                          "How long ago the task that has been handed out longest was handed out, "
                          "or its lease extended; 0 = none is handed out.");
  for (const auto& p : v.projects)
    oldest.add({{"project", p.project}}, p.oldest_lease);
  all.gauge("lycosa_projects", "Projects there are.").add({}, v.projects_known);
  auto late = all.histogram("lycosa_task_lateness_seconds",
                            "Time from when a task was due until it was handed out: what waits for "
                            "its project's rate or for a consumer is late too. Tasks handed out "
                            "together count as the latest of them.");
  if (!v.lateness.buckets.empty()) late.add({}, v.lateness);
}

void add_readiness(metric_families& all, const std::optional<actors::health_view>& h) {
  const auto v = h.value_or(actors::health_view{});
  all.gauge("lycosa_ready", "1 when every queue is loaded and every part is up.")
      .add({}, std::uint64_t{h && v.ready ? 1U : 0U});
  all.gauge("lycosa_queues_loading", "Projects whose queue is being read from disk.")
      .add({}, v.queues_loading);
  all.gauge("lycosa_load_tasks", "Queued tasks found on disk at the start, as far as known.")
      .add({}, v.tasks);
  all.gauge("lycosa_load_tasks_loaded", "Of these, tasks that are loaded.").add({}, v.tasks_loaded);
}

void add_shards(metric_families& all, const metrics_input& in) {
  const auto& commits = in.node.shards;
  auto seconds = all.histogram("lycosa_commit_duration_seconds",
                               "Time a shard took to write and sync one commit.");
  for (std::size_t i = 0; i < commits.size(); ++i)
    seconds.add({{"shard", std::to_string(i)}}, commits[i].seconds);
  auto syncs = all.histogram("lycosa_commit_sync_seconds",
                             "Of that, time until the disk had taken and synced everything.");
  for (std::size_t i = 0; i < commits.size(); ++i)
    syncs.add({{"shard", std::to_string(i)}}, commits[i].syncs);
  auto sizes = all.histogram("lycosa_commit_operations", "Single changes in one commit.");
  for (std::size_t i = 0; i < commits.size(); ++i)
    sizes.add({{"shard", std::to_string(i)}}, commits[i].operations);
  auto refused = all.counter("lycosa_commits_refused_total",
                             "Commits of which something could not be written.");
  for (std::size_t i = 0; i < commits.size(); ++i)
    refused.add({{"shard", std::to_string(i)}}, commits[i].refused);
  auto waiting = all.gauge("lycosa_shard_mailbox_messages",
                           "Messages, of any number of tasks each, that waited for the shard's "
                           "writer when its last commit was over.");
  for (std::size_t i = 0; i < commits.size(); ++i)
    waiting.add({{"shard", std::to_string(i)}}, commits[i].waiting);

  const auto shards = in.health ? in.health->shards : std::vector<actors::shard_view>{};
  const auto each = [&](std::string name, std::string help, auto value) {
    auto family = all.gauge(std::move(name), std::move(help));
    for (std::size_t i = 0; i < shards.size(); ++i)
      family.add({{"shard", std::to_string(i)}}, static_cast<double>(value(shards[i])));
  };
  using shard = actors::shard_view;
  each("lycosa_shard_tasks", "Tasks a shard keeps, in whatever state.",
       [](const shard& s) { return s.tasks; });
  each("lycosa_shard_active_tasks", "Of these, tasks that are not settled.",
       [](const shard& s) { return s.active; });
  each("lycosa_shard_results", "Results a shard keeps.", [](const shard& s) { return s.results; });
  each("lycosa_shard_file_bytes", "Size of a shard's file.",
       [](const shard& s) { return s.file_bytes; });
  each("lycosa_shard_used_bytes", "Of it, bytes in use.",
       [](const shard& s) { return s.used_bytes; });
  each("lycosa_shard_map_bytes", "Size that the file may grow to (storage.map_size).",
       [](const shard& s) { return s.map_bytes; });
  each("lycosa_shard_last_lsn", "Number of a shard's last commit.",
       [](const shard& s) { return s.last_lsn; });
  each("lycosa_shard_low_space", "1 when the shard refuses new tasks for want of room.",
       [](const shard& s) { return s.low_space ? 1 : 0; });
}

void add_jobs(metric_families& all, const metrics_input& in) {
  const auto j = in.jobs.value_or(actors::job_statistics{});
  all.counter("lycosa_job_runs_total", "Runs of jobs since the node started, by what came of them.")
      .add({{"outcome", "success"}}, j.succeeded)
      .add({{"outcome", "failed"}}, j.failed)
      .add({{"outcome", "missed"}}, j.missed)
      .add({{"outcome", "skipped"}}, j.skipped)
      .add({{"outcome", "dropped"}}, j.dropped);
  all.gauge("lycosa_jobs", "Jobs there are.").add({}, j.jobs);
  all.gauge("lycosa_jobs_paused", "Of these, jobs that are paused.").add({}, j.paused);
  all.gauge("lycosa_job_runs", "Runs that have not ended.")
      .add({{"state", "running"}}, j.running)
      .add({{"state", "queued"}}, j.queued)
      .add({{"state", "buffered"}}, j.buffered);
  all.gauge("lycosa_jobs_unreadable", "Stored jobs that cannot be read.")
      .add({}, std::uint64_t{j.unreadable.size()});
  all.gauge("lycosa_job_scheduler_paused", "1 while no job becomes due, by request.")
      .add({}, std::uint64_t{j.scheduler_paused ? 1U : 0U});
  all.gauge("lycosa_job_next_due_timestamp_seconds",
            "When the next job is due; 0 = nothing is planned.")
      .add({}, j.next_at ? seconds_of(*j.next_at) : 0.0);
  auto late = all.histogram("lycosa_job_lateness_seconds",
                            "Time from when a run was planned until it started.");
  if (!in.node.job_lateness.buckets.empty()) late.add({}, in.node.job_lateness);
  auto took = all.histogram("lycosa_job_run_duration_seconds",
                            "Time the last attempt of a run took, whatever came of it.");
  if (!in.node.job_durations.buckets.empty()) took.add({}, in.node.job_durations);
}

void add_http(metric_families& all, const shared_state* front) {
  const auto routes = all_routes();
  const auto each = [&](auto use) {
    if (front == nullptr) return;
    for (std::size_t i = 0; i < routes.size(); ++i)
      use(routes[i].pattern, routes[i].method, front->meters.at(i));
    use(std::string_view{"none"}, std::string_view{"none"}, front->meters.at(routes.size()));
  };
  auto requests =
      all.counter("lycosa_http_requests_total",
                  "Requests answered, by route, method and class of the status. `none`: "
                  "no such route, or no request that could be read.");
  each([&](auto route, auto method, const route_meter& m) {
    for (std::size_t c = 0; c < route_meter::classes; ++c)
      if (const auto n = m.answers(c); n > 0)
        requests.add({{"route", route}, {"method", method}, {"status", class_names[c]}}, n);
  });
  auto seconds = all.histogram("lycosa_http_request_duration_seconds",
                               "Time from when a request was read until its answer was ready, "
                               "waiting for tasks included.");
  each([&](auto route, auto method, const route_meter& m) {
    const auto counts = m.seconds();
    for (const auto n : counts.buckets)
      if (n > 0) {
        seconds.add({{"route", route}, {"method", method}}, counts);
        break;
      }
  });
  all.gauge("lycosa_http_connections", "Connections that are open.")
      .add({}, std::uint64_t{front != nullptr ? front->connections.load() : 0});
  all.gauge("lycosa_http_connections_limit", "Connections that may be open (http.max_connections).")
      .add({}, std::uint64_t{front != nullptr ? front->config.max_connections : 0});
  all.gauge("lycosa_http_in_flight_bytes",
            "Bytes of request bodies being worked on; small bodies are not counted.")
      .add({}, std::uint64_t{front != nullptr && front->in_flight ? front->in_flight->used() : 0});
  all.gauge("lycosa_http_in_flight_bytes_limit",
            "Bytes past which requests are refused with 429 (http.max_in_flight).")
      .add({}, std::uint64_t{front != nullptr ? front->config.max_in_flight_bytes : 0});
}

void add_answers(metric_families& all, const metrics_input& in) {
  auto took = all.gauge("lycosa_answer_seconds",
                        "Time a part took to answer for this scrape, behind what waited for it.");
  if (in.shards_took) took.add({{"part", "shards"}}, in.shards_took->count());
  if (in.jobs_took) took.add({{"part", "jobs"}}, in.jobs_took->count());
}

void add_process(metric_families& all, const metrics_input& in) {
  const auto& p = in.process;
  all.gauge("lycosa_build_info", "Always 1; the version is a label.")
      .add({{"version", in.version}}, std::uint64_t{1});
  all.counter("process_cpu_seconds_total", "User and system time the process has used.")
      .add({}, p.cpu_seconds);
  all.gauge("process_resident_memory_bytes", "Memory of the process that is in use.")
      .add({}, p.resident_bytes);
  all.gauge("process_virtual_memory_bytes",
            "Address space of the process; most of it belongs to storage.map_size.")
      .add({}, p.virtual_bytes);
  all.gauge("process_open_fds", "Open files and connections.").add({}, p.open_files);
  all.gauge("process_max_fds", "Files that may be open.").add({}, p.most_files);
  all.gauge("process_threads", "Threads of the process.").add({}, p.threads);
  all.gauge("process_start_time_seconds", "When the process started.").add({}, p.start_time);
}

} // namespace

std::string metrics_text(const metrics_input& in) {
  metric_families all;
  add_projects(all, in.node);
  add_readiness(all, in.health);
  add_shards(all, in);
  add_jobs(all, in);
  add_http(all, in.front);
  add_answers(all, in);
  add_process(all, in);
  return all.text();
}

} // namespace lycosa::gateway
