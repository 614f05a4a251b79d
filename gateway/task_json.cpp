#include "gateway/task_json.hpp"

#include "core/md5.hpp"
#include "core/messages/names.hpp"
#include "gateway/items.hpp"
#include "gateway/json_writer.hpp"
#include "gateway/numbers.hpp"

#include <array>

namespace lycosa::gateway {
namespace {

using refusal = tl::unexpected<rejection>;

refusal reject(std::string field, std::string reason, errc code = errc::invalid_argument) {
  return refusal(rejection{std::move(field), std::move(reason), code});
}

refusal wrong_type(std::string field, json_kind wanted) {
  return reject(std::move(field), "must be " + std::string{describe(wanted)});
}

/// A member that must be a string if it is there.
tl::expected<std::string_view, rejection> read_string(const outline& item, std::string_view key) {
  const auto* m = item.find(key);
  if (m == nullptr || m->is(json_kind::null)) return std::string_view{};
  if (!m->is(json_kind::string)) return wrong_type(std::string{key}, json_kind::string);
  // Half a surrogate pair can be written as an escape; what comes of it is no text.
  if (m->text.size() + 2 != m->raw.size() && !is_utf8(m->text))
    return reject(std::string{key}, "is not valid Unicode");
  return m->text;
}

struct identity {
  std::string_view project, taskid, url;
};

/// What names a task, in submissions and reports alike.
tl::expected<identity, rejection> read_identity(const outline& item, text_arena& arena,
                                                const limits_config& limits) {
  if (item.kind() != json_kind::object) return reject("", "must be an object");
  if (item.raw().size() > limits.task)
    return reject("", "is larger than " + std::to_string(limits.task) + " bytes", errc::too_large);
  if (auto twice = item.duplicate()) return reject(*twice, "stands twice");

  identity id;
  auto project = read_string(item, "project");
  if (!project) return refusal(project.error());
  if (project->empty()) return reject("project", "required");
  if (auto ok = check_project_name(*project); !ok) return reject("project", ok.error().why);
  id.project = *project;

  auto url = read_string(item, "url");
  if (!url) return refusal(url.error());
  if (url->size() > limits.url)
    return reject("url", "is longer than " + std::to_string(limits.url) + " bytes");
  id.url = *url;

  auto taskid = read_string(item, "taskid");
  if (!taskid) return refusal(taskid.error());
  if (taskid->size() > limits.taskid)
    return reject("taskid", "is longer than " + std::to_string(limits.taskid) + " bytes");
  const auto* given = item.find("taskid");
  if (given != nullptr && given->is(json_kind::string) && taskid->empty())
    return reject("taskid", "is empty");
  if (taskid->empty() && url->empty()) return reject("url", "required");
  id.taskid = taskid->empty() ? arena.keep(md5_hex(*url)) : *taskid;
  return id;
}

/// An opaque part: an object or absent.
tl::expected<std::string_view, rejection> read_part(const outline& item, std::string_view key) {
  const auto* m = item.find(key);
  if (m == nullptr || m->is(json_kind::null)) return std::string_view{};
  if (!m->is(json_kind::object)) return wrong_type(std::string{key}, json_kind::object);
  return m->raw;
}

std::optional<rejection> read_int(const outline& item, const json_member& m, std::int64_t low,
                                  std::int32_t& to) {
  const auto value = m.is(json_kind::number) ? parse_integer(m.raw) : std::nullopt;
  if (!value || *value < low || *value > INT32_MAX)
    return rejection{item.path(m), integer_reason(low, INT32_MAX)};
  to = static_cast<std::int32_t>(*value);
  return std::nullopt;
}

std::optional<rejection> read_bool(const outline& item, const json_member& m, bool& to) {
  if (!m.is(json_kind::boolean)) return rejection{item.path(m), "must be true or false"};
  to = m.raw == "true";
  return std::nullopt;
}

std::optional<rejection> read_time(const outline& item, const json_member& m, usec& to) {
  constexpr usec most = std::chrono::seconds{100'000'000'000}; // the year 5138
  const auto value = m.is(json_kind::number) ? parse_seconds(m.raw) : std::nullopt;
  if (!value || *value > most || *value < -most)
    return rejection{item.path(m), "must be a number of seconds from -1e11 to 1e11"};
  to = *value;
  return std::nullopt;
}

std::optional<rejection> read_schedule_member(const outline& item, const json_member& m,
                                              schedule& s, std::string& extra) {
  const auto& key = m.key;
  if (key == "priority") return read_int(item, m, INT32_MIN, s.priority);
  if (key == "retries") return read_int(item, m, 0, s.retries);
  if (key == "retried") return read_int(item, m, 0, s.retried);
  if (key == "force_update") return read_bool(item, m, s.force_update);
  if (key == "auto_recrawl") return read_bool(item, m, s.auto_recrawl);
  if (key == "cancel") return read_bool(item, m, s.cancel);
  if (key == "age") return read_time(item, m, s.age);
  if (key == "exetime") {
    usec at{};
    if (auto no = read_time(item, m, at)) return no;
    s.exetime = wall_time{std::max(at, usec::zero())};
    return std::nullopt;
  }
  if (key == "itag") {
    if (m.is(json_kind::null)) return std::nullopt;
    // pyspider compares whatever a script puts here; most are numbers or text.
    if (m.is(json_kind::number) || m.is(json_kind::boolean)) {
      s.itag = m.raw;
      return std::nullopt;
    }
    if (!m.is(json_kind::string) || !is_utf8(m.text))
      return rejection{item.path(m), "must be a string, a number or null"};
    s.itag = m.text;
    return std::nullopt;
  }
  if (!extra.empty()) extra += ',';
  extra += m.pair;
  return std::nullopt;
}

std::optional<rejection> read_schedule(const outline& item, text_arena& arena, schedule& s) {
  const auto* object = item.find("schedule");
  if (object == nullptr || object->is(json_kind::null)) return std::nullopt;
  if (!object->is(json_kind::object)) return rejection{"schedule", "must be an object"};
  std::string extra;
  for (const auto& m : item.members())
    if (m.parent == item.index_of(*object))
      if (auto no = read_schedule_member(item, m, s, extra)) return no;
  s.extra = arena.keep(extra);
  return std::nullopt;
}

tl::expected<bool, rejection> read_ok(const outline& item, const json_member& track,
                                      std::string_view part, bool required) {
  const std::string path = "track." + std::string{part};
  const auto* object = item.find(part, &track);
  if (object != nullptr && !object->is(json_kind::object) && !object->is(json_kind::null))
    return wrong_type(path, json_kind::object);
  const auto* ok = object == nullptr ? nullptr : item.find("ok", object);
  if (ok == nullptr) {
    if (required) return reject(path + ".ok", "required");
    return false;
  }
  if (!ok->is(json_kind::boolean)) return wrong_type(path + ".ok", json_kind::boolean);
  return ok->raw == "true";
}

/// Seconds that a part of the crawl took. What is no number is the reporter's affair: it only
/// counts.
std::optional<double> read_time(const outline& item, const json_member& track,
                                std::string_view part) {
  const auto* object = item.find(part, &track);
  const auto* time = object == nullptr ? nullptr : item.find("time", object);
  if (time == nullptr || !time->is(json_kind::number)) return std::nullopt;
  return parse_double(time->raw);
}

constexpr std::array<std::string_view, 1> opened_of_task{"schedule"};
constexpr std::array<std::string_view, 4> opened_of_report{"schedule", "track", "track.fetch",
                                                           "track.process"};

} // namespace

std::span<const std::string_view> task_paths() noexcept {
  return opened_of_task;
}

std::span<const std::string_view> report_paths() noexcept {
  return opened_of_report;
}

std::string taskid_of(const outline& item) {
  const auto* m = item.kind() == json_kind::object ? item.find("taskid") : nullptr;
  if (m == nullptr || !m->is(json_kind::string) || m->text.size() > 1024 || !is_utf8(m->text))
    return {};
  return std::string{m->text};
}

tl::expected<task, rejection> read_task(const outline& item, text_arena& arena,
                                        const limits_config& limits) {
  auto id = read_identity(item, arena, limits);
  if (!id) return refusal(id.error());
  task t;
  t.project = id->project;
  t.taskid = id->taskid;
  t.url = id->url;
  if (auto no = read_schedule(item, arena, t.sched)) return refusal(std::move(*no));
  // A command for a known task need not repeat its url.
  if (t.url.empty() && !t.sched.cancel && !t.sched.force_update) return reject("url", "required");
  auto fetch = read_part(item, "fetch");
  if (!fetch) return refusal(fetch.error());
  auto process = read_part(item, "process");
  if (!process) return refusal(process.error());
  auto track = read_part(item, "track");
  if (!track) return refusal(track.error());
  t.fetch = *fetch;
  t.process = *process;
  t.track = *track;
  return t;
}

tl::expected<task, rejection> read_whole_task(const outline& item, text_arena& arena,
                                              const limits_config& limits) {
  auto t = read_task(item, arena, limits);
  if (!t) return t;
  if (const auto* m = item.find("status"); m != nullptr) {
    const auto number = m->is(json_kind::number) ? parse_integer(m->raw) : std::nullopt;
    const auto named =
        m->is(json_kind::string) ? parse_status(m->text) : std::optional<task_status>{};
    if (number && *number >= 1 && *number <= 4)
      t->status = static_cast<task_status>(*number);
    else if (named)
      t->status = *named;
    else
      return reject("status", "must be 1 to 4, or active, success, failed or bad");
  }
  const std::pair<std::string_view, wall_time*> times[]{{"lastcrawltime", &t->lastcrawltime},
                                                        {"updatetime", &t->updatetime}};
  for (const auto& [name, to] : times) {
    const auto* m = item.find(name);
    if (m == nullptr || m->is(json_kind::null)) continue;
    usec at{};
    if (auto no = read_time(item, *m, at)) return refusal(*no);
    *to = wall_time{std::max(at, usec::zero())};
  }
  return t;
}

tl::expected<actors::report_item, rejection> read_report(const outline& item, text_arena& arena,
                                                         const limits_config& limits) {
  auto id = read_identity(item, arena, limits);
  if (!id) return refusal(id.error());
  actors::report_item r;
  r.project = id->project;
  r.pack.taskid = id->taskid;

  const auto* track = item.find("track");
  if (track == nullptr) return reject("track", "required");
  if (!track->is(json_kind::object)) return wrong_type("track", json_kind::object);
  auto fetch_ok = read_ok(item, *track, "fetch", false);
  if (!fetch_ok) return refusal(fetch_ok.error());
  auto process_ok = read_ok(item, *track, "process", r.pack.taskid != get_info_id);
  if (!process_ok) return refusal(process_ok.error());
  r.pack.track = track->raw;
  r.pack.fetch_ok = *fetch_ok;
  r.pack.process_ok = *process_ok;
  r.pack.fetch_time = read_time(item, *track, "fetch");
  r.pack.process_time = read_time(item, *track, "process");

  if (const auto* sent = item.find("schedule"); sent != nullptr && !sent->is(json_kind::null)) {
    schedule s;
    if (auto no = read_schedule(item, arena, s)) return refusal(*no);
    r.pack.auto_recrawl = s.auto_recrawl;
    if (item.find("age", sent) != nullptr) r.pack.age = s.age;
  }

  const auto* lease = item.find("lease");
  if (lease != nullptr && !lease->is(json_kind::null)) {
    if (!lease->is(json_kind::string)) return wrong_type("lease", json_kind::string);
    r.lease = parse_lease(lease->text);
    if (!r.lease) return reject("", "stale lease", errc::stale_lease);
  }
  return r;
}

void append_task(std::string& to, const task& t) {
  const auto or_empty = [](std::string_view part) {
    return part.empty() ? std::string_view{"{}"} : part;
  };
  to += "\"project\":";
  append_string(to, t.project);
  to += ",\"taskid\":";
  append_string(to, t.taskid);
  to += ",\"url\":";
  append_string(to, t.url);
  to += ",\"status\":";
  append_unsigned(to, static_cast<unsigned>(t.status));
  const auto& s = t.sched;
  to += ",\"schedule\":{\"priority\":";
  append_integer(to, s.priority);
  to += ",\"retries\":";
  append_integer(to, s.retries);
  to += ",\"retried\":";
  append_integer(to, s.retried);
  to += ",\"exetime\":";
  append_seconds(to, s.exetime.time_since_epoch());
  to += ",\"age\":";
  append_seconds(to, s.age);
  to += ",\"itag\":";
  if (s.itag)
    append_string(to, *s.itag);
  else
    to += "null";
  if (s.force_update) to += ",\"force_update\":true";
  to += ",\"auto_recrawl\":";
  to += s.auto_recrawl ? "true" : "false";
  if (s.cancel) to += ",\"cancel\":true";
  if (!s.extra.empty()) {
    to += ',';
    to += s.extra;
  }
  to += "},\"fetch\":";
  to += or_empty(t.fetch);
  to += ",\"process\":";
  to += or_empty(t.process);
  to += ",\"track\":";
  to += or_empty(t.track);
  to += ",\"lastcrawltime\":";
  append_seconds(to, t.lastcrawltime.time_since_epoch());
  to += ",\"updatetime\":";
  append_seconds(to, t.updatetime.time_since_epoch());
}

void append_leased(std::string& to, const actors::leased_task& t) {
  append_task(to, t.record);
  to += ",\"type\":1,\"group\":";
  append_string(to, t.group);
  to += ",\"project_md5sum\":";
  append_string(to, t.project_md5sum);
  to += ",\"project_updatetime\":";
  append_seconds(to, t.project_updatetime.time_since_epoch());
  if (t.lease.empty()) return;
  to += ",\"lease\":";
  append_string(to, t.lease);
}

std::string_view status_name(task_status s) noexcept {
  switch (s) {
  case task_status::active:
    return "active";
  case task_status::success:
    return "success";
  case task_status::failed:
    return "failed";
  case task_status::bad:
    return "bad";
  }
  return "active";
}

std::optional<task_status> parse_status(std::string_view name) noexcept {
  for (const auto s :
       {task_status::active, task_status::success, task_status::failed, task_status::bad})
    if (status_name(s) == name) return s;
  return std::nullopt;
}

} // namespace lycosa::gateway
