#include "conf/keys.hpp"

#include "conf/cluster_keys.hpp"
#include "conf/units.hpp"
#include "core/edit_distance.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace lycosa::conf {

namespace {

constexpr std::uint64_t ms = 1'000;
constexpr std::uint64_t second = 1'000 * ms;
constexpr std::uint64_t minute = 60 * second;
constexpr std::uint64_t hour = 60 * minute;
constexpr std::uint64_t day = 24 * hour;
constexpr std::uint64_t million = 1'000'000;
constexpr std::uint64_t unbounded = std::numeric_limits<std::int64_t>::max();

const std::vector<std::string_view> levels{"trace", "debug",    "info", "warn",
                                           "error", "critical", "off"};

// Captureless, so that the table stays plain data.
#define AT(member) [](settings& s) -> field { return &s.member; }

std::vector<key_info> make_keys() {
  using enum effect;
  return {
      // -- node
      {"node", "name", AT(node.name),
       "Name of this node in logs, in the ready line and towards other nodes.", ""},
      {"node", "data", AT(node.data),
       "Directory that holds everything the node keeps; made when missing. Relative to the working "
       "directory. Empty = memory only: nothing survives the process.",
       ""},
      {"node", "threads", AT(node.threads),
       "Threads that run the scheduler's actors; every shard has two more of its own. 0 = one "
       "for every two cores.",
       "threads", 0, 256},

      // -- http
      {.section = "http",
       .name = "listen",
       .get = AT(http.listen),
       .meaning = "Address of the HTTP interface. Port 0 = any free one; the ready line tells "
                  "which. There is no authentication: listen on a trusted network only.",
       .unit = "",
       .address = true},
      {"http", "threads", AT(http.threads),
       "Threads that read and write connections. 0 = one for every two cores.", "threads", 0, 256},
      {"http", "max_body", AT(http.max_body),
       "Largest request body, as sent and decompressed; larger ones get 413.", "", 1024,
       std::uint64_t{16} << 30},
      {"http", "max_header", AT(http.max_header), "Largest request header; larger ones get 431.",
       "", 1024, 1 << 20},
      {"http", "idle_timeout", AT(http.idle_timeout),
       "A connection without a request is closed after so long. Waiting for a lease is a request.",
       "", second, day},
      {"http", "header_timeout", AT(http.header_timeout),
       "Longest time from the first to the last byte of a request's header.", "", 100 * ms, hour},
      {"http", "body_timeout", AT(http.body_timeout),
       "Time a body may take to arrive and an answer to be read, plus one second for each 64 KiB "
       "moved.",
       "", 100 * ms, hour},
      {"http", "max_connections", AT(http.max_connections),
       "Connections held open at once; one more gets 503.", "connections", 1, million},
      {"http", "max_in_flight", AT(http.max_in_flight),
       "Memory that request bodies being worked on may take together; past it, writes get 429 with "
       "Retry-After.",
       "", 1 << 20, unbounded},
      {"http", "tls_cert", AT(http.tls_cert),
       "Certificate chain (PEM file) to serve HTTPS with; empty = plain HTTP.", ""},
      {"http", "tls_key", AT(http.tls_key), "Private key (PEM file) of tls_cert.", ""},

      // -- xmlrpc
      {.section = "xmlrpc",
       .name = "listen",
       .get = AT(xmlrpc.listen),
       .meaning =
           "Address of the XML-RPC interface that pyspider's programs speak. Port 0 = any free "
           "one. If the default's port is taken the node goes on without XML-RPC; any other "
           "address must be free.",
       .unit = "",
       .address = true},
      {"xmlrpc", "enabled", AT(xmlrpc.enabled), "Whether XML-RPC is served.", ""},
      {"xmlrpc", "max_body", AT(xmlrpc.max_body), "Largest call; larger ones get 413.", "", 1024,
       std::uint64_t{1} << 30},

      // -- limits
      {"limits", "list", AT(limits.list), "Most tasks, reports or leases in one request.", "items",
       1, million},
      {"limits", "task", AT(limits.task), "Largest task, as JSON.", "", 256, 64 << 20},
      {"limits", "taskid", AT(limits.taskid), "Longest task id.", "", 32, 4096},
      {"limits", "url", AT(limits.url), "Longest URL.", "", 64, 1 << 20},

      // -- storage
      {"storage", "shards", AT(storage.shards),
       "Parts the data is cut into, each with a writer thread. Fixed when the data directory is "
       "made; a different number later is refused. 0 = as many as there are; a new directory gets "
       "one for each core, 4 at most.",
       "shards", 0, 1024},
      {"storage", "map_size", AT(storage.map_size),
       "Size each shard's file may grow to. Reserves address space, not disk. When it is full, "
       "writes get 507.",
       "", 1 << 20, std::uint64_t{64} << 40},
      {"storage", "reserve", AT(storage.reserve),
       "Disk space kept back, so that reports can still be committed when the disk is full; at "
       "most "
       "a sixteenth of the file system.",
       "", 0, std::uint64_t{1} << 40},
      {.section = "storage",
       .name = "durability",
       .get = AT(storage.durability),
       .meaning = "\"sync\" answers a write when it is on disk, so it survives a power cut. "
                  "\"async\" answers earlier: a crash of the machine (not of the process) may lose "
                  "the last writes.",
       .unit = "",
       .choices = {"sync", "async"}},
      {"storage", "commit_interval", AT(storage.commit_interval),
       "Longest time a commit gathers operations while more keep coming. An idle shard commits at "
       "once.",
       "", 0, 10 * second},
      {"storage", "commit_batch", AT(storage.commit_batch),
       "Operations that end the gathering of a commit early.", "operations", 1, million},

      // -- scheduler
      {.section = "scheduler",
       .name = "update_project_interval",
       .get = AT(scheduler.update_project_interval),
       .meaning = "How often projects changed behind the scheduler's back are looked for. Projects "
                  "change through the node itself, at once.",
       .unit = "",
       .min = second,
       .max = 365 * day,
       .takes = reserved},
      {.section = "scheduler",
       .name = "loop_limit",
       .get = AT(scheduler.loop_limit),
       .meaning =
           "Items of a submitted or reported list that a project looks at before it turns to "
           "other work, so that no producer keeps it from handing out tasks.",
       .unit = "items",
       .min = 1,
       .max = 1'000'000},
      {.section = "scheduler",
       .name = "loop_interval",
       .get = AT(scheduler.loop_interval),
       .meaning = "pyspider's pause between loops; this scheduler has no such loop.",
       .unit = "",
       .max = hour,
       .takes = reserved},
      {.section = "scheduler",
       .name = "active_tasks",
       .get = AT(scheduler.active_tasks),
       .meaning = "Latest tasks remembered a project.",
       .unit = "tasks",
       .max = million},
      {"scheduler", "inqueue_limit", AT(scheduler.inqueue_limit),
       "Most tasks queued, delayed and leased a project, where the project sets no queue_limit of "
       "its own. 0 = no limit.",
       "tasks"},
      {"scheduler", "exception_limit", AT(scheduler.exception_limit),
       "Restarts in a row of a project's failing scheduler part before the project is set aside "
       "and "
       "the others go on.",
       "restarts", 0, 1000},
      {"scheduler", "delete_time", AT(scheduler.delete_time),
       "A project that is STOP, has `delete` in its group and has not changed for so long is "
       "deleted with its tasks.",
       "", 0, 3650 * day},
      {"scheduler", "get_info_wait", AT(scheduler.get_info_wait),
       "A project with a script is asked for its settings (`_on_get_info`) when it starts or its "
       "script changes. Its tasks wait so long for the answer, then they go out without; it is "
       "asked again until it answers. pyspider waits for ever.",
       "", 0, 3650 * day},
      {"scheduler", "tick_catch_up", AT(scheduler.tick_catch_up),
       "Ticks (`_on_cronjob`) that could not be sent in time are made up for when they are at most "
       "this old; older ones are dropped and reported in the log.",
       "", 0, day},
      {"scheduler", "finish_delay", AT(scheduler.finish_delay),
       "A project gets `on_finished` when nothing of it has been queued, delayed, handed out or on "
       "its way in for so long. Processors may report a page before they submit its links.",
       "", 0, hour},
      {"scheduler", "default_retry_delay", AT(scheduler.default_retry_delay),
       "Delay before each retry of a failed task, by the number of failures before it; \"\" is for "
       "all others. For projects that set no retry_delay. What is written here replaces the whole "
       "table; without \"\" the others wait 24h.",
       "", 0, 3650 * day},
      {"scheduler", "processing_timeout", AT(scheduler.processing_timeout),
       "How long a lease lasts. A task not reported, extended or released by then is handed out "
       "again.",
       "", second, 365 * day},
      {.section = "scheduler",
       .name = "fail_pause_num",
       .get = AT(scheduler.fail_pause_num),
       .meaning = "Reports in a row that must fail for a project to be paused. 0 = never.",
       .unit = "reports",
       .max = 10'000},
      {.section = "scheduler",
       .name = "pause_time",
       .get = AT(scheduler.pause_time),
       .meaning = "How long such a pause lasts before a trial.",
       .unit = "",
       .max = 365 * day},
      {.section = "scheduler",
       .name = "unpause_check_num",
       .get = AT(scheduler.unpause_check_num),
       .meaning = "Reports a trial waits for: one that succeeds ends the pause.",
       .unit = "reports",
       .min = 1,
       .max = 10'000},

      // -- dispatch
      {.section = "dispatch",
       .name = "buffer",
       .get = AT(dispatch.buffer),
       .meaning = "Tasks loaded ahead of demand.",
       .unit = "tasks",
       .max = million,
       .takes = reserved},

      // -- jobs
      {"jobs", "catch_up_number", AT(jobs.catch_up_number),
       "Overdue times of a job that are looked at after downtime, the latest; the misfire grace "
       "and "
       "coalescing decide among them. Older ones are dropped and told as one event.",
       "times", 1, million},
      {"jobs", "catch_up_age", AT(jobs.catch_up_age),
       "Overdue times older than this are dropped likewise.", "", 0, 3650 * day},
      {"jobs", "buffer", AT(jobs.buffer),
       "Runs of one job that may wait for each other, also those of one backfill.", "runs", 1,
       million},
      {"jobs", "cache", AT(jobs.cache),
       "Jobs due within ten minutes that are held whole in memory, at most; of the others only "
       "their place in time is, some 300 bytes each, and they are read when they are due.",
       "jobs", 0, 100 * million},
      {"jobs", "history_count", AT(jobs.history_count), "Latest runs kept a job.", "runs", 1,
       million},
      {"jobs", "history_age", AT(jobs.history_age), "Runs are forgotten after so long. 0 = never.",
       "", 0, 3650 * day},
      {"jobs", "stop_wait", AT(jobs.stop_wait),
       "Time that runs under way get to end by themselves when the node stops; then they are "
       "ended.",
       "", 0, day},
      {.section = "jobs",
       .name = "executors",
       .get = AT(jobs.executors),
       .meaning =
           "What a job's `executor` may name, and how many runs each carries at a time and "
           "lets wait; more are dropped. `default` is always there, and so is `tasks`, "
           "which takes the jobs of `default` whose action is a task: handing one over keeps "
           "nothing busy.",
       .unit = "",
       .min = 0,
       .max = million},

      // -- events
      {"events", "buffer", AT(events.buffer),
       "Latest events that can be read again, by `Last-Event-ID` and by listeners that were slow; "
       "what they missed beyond is told as a gap.",
       "events", 1, million},
      {"events", "buffer_size", AT(events.buffer_size),
       "About what these may take; fewer are kept.", "", 1 << 16, std::uint64_t{16} << 30},
      {"events", "keep_alive", AT(events.keep_alive),
       "A stream in which nothing happens gets a comment after so long.", "", 100 * ms, hour},
      {"events", "log", AT(events.log),
       "Events written to the log (subsystem events), e.g. \"job_error,job_missed\", or \"all\". "
       "Empty = none.",
       ""},
      {"events", "webhooks", AT(events.webhooks),
       "Addresses events are posted to as JSON lists, e.g. { ops = \"https://example.org/hook\" }. "
       "They are tried again until one is taken with a status of 2xx.",
       ""},
      {"events", "webhook_types", AT(events.webhook_types),
       "Which events a webhook gets, e.g. { ops = \"job_error,job_lost\" }; unset = all.", ""},
      {"events", "webhook_headers", AT(events.webhook_headers),
       "Headers a webhook is sent, one a line, e.g. { ops = \"Authorization: Bearer x\" }.", ""},
      {"events", "webhook_timeout", AT(events.webhook_timeout), "Longest a post may take.", "",
       100 * ms, hour},

      // -- metrics
      {"metrics", "projects", AT(metrics.projects),
       "Projects that /metrics names, those with the most tasks and events; the others are counted "
       "together as `other`.",
       "projects", 0, 10'000},

      // -- auth
      {.section = "auth",
       .name = "tokens",
       .get = AT(auth.tokens),
       .meaning = "Secrets a client must show one of.",
       .unit = "",
       .takes = refused},

      // -- redis
      {"redis", "url", AT(redis.url),
       "Redis server with pyspider's queues: redis://[user:password@]host:port/db, rediss:// with "
       "TLS (?ca=FILE, ?verify=no), unix:///path?db=N. Empty = no bridge.",
       ""},
      {"redis", "reliable", AT(redis.reliable),
       "Messages stay in QUEUE:lycosa:NODE until what they say is on disk, so that a crash loses "
       "none. Needs Redis 6.2; without, a crash loses those that are being handed in.",
       ""},
      {"redis", "newtask_queue", AT(redis.newtask_queue), "List that new tasks are read from.", ""},
      {"redis", "status_queue", AT(redis.status_queue), "List that reports are read from.", ""},
      {"redis", "out_queue", AT(redis.out_queue), "List that tasks are pushed to.", ""},
      {"redis", "out_queue_limit", AT(redis.out_queue_limit),
       "Longest that list may be: while it is, no tasks are handed to it.", "tasks", 1, million},

      // -- amqp
      {"amqp", "url", AT(amqp.url),
       "RabbitMQ with pyspider's queues: amqp://user:password@host:port/vhost, amqps:// with TLS "
       "(?ca=FILE, ?verify=no). Empty = no bridge.",
       ""},
      {"amqp", "newtask_queue", AT(amqp.newtask_queue), "Queue that new tasks are read from.", ""},
      {"amqp", "status_queue", AT(amqp.status_queue), "Queue that reports are read from.", ""},
      {"amqp", "out_queue", AT(amqp.out_queue), "Queue that tasks are published to.", ""},
      {"amqp", "out_queue_limit", AT(amqp.out_queue_limit),
       "Longest that queue may be: while it is, no tasks are handed to it.", "tasks", 1, million},

      // -- fetcher
      {"fetcher", "concurrency", AT(fetcher.concurrency), "Fetches at a time.", "fetches", 1,
       10'000},
      {"fetcher", "per_host", AT(fetcher.per_host), "Connections to one host at a time.",
       "connections", 1, 1000},
      {"fetcher", "user_agent", AT(fetcher.user_agent),
       "What fetches call themselves where neither a task nor its project says.", ""},
      {"fetcher", "connect_timeout", AT(fetcher.connect_timeout),
       "Longest wait for a connection, where a task names none.", "", ms, hour},
      {"fetcher", "timeout", AT(fetcher.timeout), "Longest fetch, where a task names none.", "", ms,
       day},
      {"fetcher", "max_body", AT(fetcher.max_body), "Largest answer; a larger one fails its task.",
       "", 1024, std::uint64_t{4} << 30},
      {"fetcher", "script_time_limit", AT(fetcher.script_time_limit),
       "Longest a script may take over one task; then its process is killed.", "", ms, day},

      // -- log
      {.section = "log",
       .name = "level",
       .get = AT(log.level),
       .meaning = "Least severe lines that are written.",
       .unit = "",
       .choices = levels},
      {.section = "log",
       .name = "levels",
       .get = AT(log.levels),
       .meaning = "Levels of single subsystems, e.g. { http = \"debug\", storage = \"warn\" }.",
       .unit = "",
       .choices = levels},
      {"log", "file", AT(log.file), "File to write to; empty = standard error.", ""},
      {.section = "log",
       .name = "format",
       .get = AT(log.format),
       .meaning = "\"text\" for people, \"json\" (one object a line) for programs.",
       .unit = "",
       .choices = {"text", "json"}},
      {"log", "max_size", AT(log.max_size),
       "The log file is renamed to FILE.1 (and older ones on) when it is so large.", "", 4096,
       unbounded},
      {"log", "keep", AT(log.keep), "Renamed log files that are kept.", "files", 0, 1000},
  };
}

#undef AT

template <class... F>
struct overloaded : F... {
  using F::operator()...;
};
template <class... F>
overloaded(F...) -> overloaded<F...>;

std::string choices_text(const std::vector<std::string_view>& choices) {
  std::string out;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) out += i + 1 == choices.size() ? " or " : ", ";
    out += '"' + std::string{choices[i]} + '"';
  }
  return out;
}

template <class Format>
std::string bounds_text(const key_info& key, Format format) {
  if (key.max >= unbounded) return format(key.min) + " or more";
  return format(key.min) + " to " + format(key.max);
}

} // namespace

std::string key_info::path() const {
  return std::string{section} + "." + std::string{name};
}

std::span<const key_info> all_keys() {
  static const auto keys = [] {
    auto all = make_keys();
    const auto behind = std::find_if(all.begin(), all.end(),
                                     [](const key_info& k) { return k.section == "auth"; });
    auto of_cluster = cluster_keys();
    all.insert(behind, of_cluster.begin(), of_cluster.end());
    return all;
  }();
  return keys;
}

std::span<const section_info> all_sections() {
  static constexpr std::array<section_info, 17> sections{{
      {"node", "The node itself."},
      {"http", "The HTTP interface."},
      {"xmlrpc", "The XML-RPC interface of pyspider's scheduler."},
      {"limits", "What a single request may bring."},
      {"storage", "The data directory and how writes reach it."},
      {"scheduler", "Queues, leases and retries."},
      {"dispatch", "Handing tasks to consumers."},
      {"jobs", "Jobs: what is made up after downtime, what is kept, what runs at a time."},
      {"events", "What happens, told to those who listen (docs/events.md)."},
      {"metrics", "Numbers for Prometheus (docs/metrics.md)."},
      {"cluster", "Several nodes as one scheduler."},
      {"auth", "Who may use the interfaces."},
      {"redis", "The bridge to Redis."},
      {"amqp", "The bridge to RabbitMQ."},
      {"fetcher", "The fetcher and the scripts of `lycosa one`."},
      {"log", "What is written about the work."},
      {"caf", "Settings for the actor framework, under its own names, e.g. "
              "scheduler.max-throughput = 100. Lycosa does not check them. Reserved: no effect in "
              "this version."},
  }};
  return sections;
}

const key_info* find_key(std::string_view path) {
  auto keys = all_keys();
  auto found = std::ranges::find_if(keys, [&](const key_info& k) { return k.path() == path; });
  return found == keys.end() ? nullptr : &*found;
}

std::string nearest_key(std::string_view path) {
  std::string best;
  auto best_distance = std::max<std::size_t>(2, path.size() / 3) + 1;
  auto consider = [&](const std::string& candidate, std::size_t d) {
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  };
  auto dot = path.find('.');
  if (dot == std::string_view::npos)
    for (const auto& s : all_sections())
      consider(std::string{s.name}, edit_distance(path, s.name));
  for (const auto& k : all_keys()) {
    // A key put into the wrong section is one slip, however far the section names are apart.
    auto d = edit_distance(path, k.path());
    auto name = path.substr(dot == std::string_view::npos ? 0 : dot + 1);
    if (name == k.name) d = std::min<std::size_t>(d, 1);
    consider(k.path(), d);
  }
  return best;
}

std::string_view type_name(const key_info& key) {
  settings s;
  return std::visit(
      overloaded{
          [&](std::string*) -> std::string_view { return key.address ? "HOST:PORT" : "text"; },
          [](bool*) -> std::string_view { return "true or false"; },
          [](std::uint64_t*) -> std::string_view { return "whole number"; },
          [](usec*) -> std::string_view { return "duration"; },
          [](bytes*) -> std::string_view { return "size"; },
          [](std::vector<std::string>*) -> std::string_view { return "list of texts"; },
          [](std::map<std::string, std::string>*) -> std::string_view { return "table of texts"; },
          [](executor_map*) -> std::string_view { return "table of executors"; },
          [](retry_policy*) -> std::string_view { return "table of durations"; }},
      key.get(s));
}

std::string range_text(const key_info& key) {
  if (!key.choices.empty()) return choices_text(key.choices);
  settings s;
  auto duration = [](std::uint64_t v) {
    return format_duration(usec{static_cast<std::int64_t>(v)});
  };
  return std::visit(
      overloaded{[&](std::uint64_t*) {
                   return bounds_text(key, [](std::uint64_t v) { return std::to_string(v); });
                 },
                 [&](executor_map*) {
                   return bounds_text(key, [](std::uint64_t v) { return std::to_string(v); })
                          + " each";
                 },
                 [&](usec*) { return bounds_text(key, duration); },
                 [&](retry_policy*) { return bounds_text(key, duration); },
                 [&](bytes*) {
                   return bounds_text(key, [](std::uint64_t v) { return format_size({v}); });
                 },
                 [](auto*) { return std::string{}; }},
      key.get(s));
}

} // namespace lycosa::conf
