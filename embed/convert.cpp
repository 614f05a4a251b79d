#include "embed/convert.hpp"

#include "core/jobs/job_json.hpp"
#include "core/triggers/json.hpp"
#include "core/triggers/spec.hpp"
#include "core/triggers/time_text.hpp"

#include <nlohmann/json.hpp>

#include <sstream>

namespace lycosa::embed {

namespace {

using json = nlohmann::ordered_json;

failure kind_of(errc code) {
  switch (code) {
  case errc::invalid_argument:
    return failure::invalid;
  case errc::not_found:
    return failure::not_found;
  case errc::conflict:
  case errc::stale_lease:
    return failure::conflict;
  case errc::too_large:
    return failure::too_large;
  case errc::busy:
  case errc::unavailable:
    return failure::unavailable;
  case errc::no_space:
  case errc::corrupt:
  case errc::incompatible:
  case errc::io_error:
    return failure::storage;
  case errc::internal:
    break;
  }
  return failure::internal;
}

json parse(std::string_view text, const char* field) {
  auto value = json::parse(text, nullptr, false);
  if (value.is_discarded()) throw scheduler_error(failure::invalid, field, "not JSON");
  return value;
}

std::string dump(const json& j) {
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
}

double seconds(duration d) {
  return static_cast<double>(d.count()) / 1e6;
}

const char* name_of(overlap o) {
  switch (o) {
  case overlap::skip:
    return "skip";
  case overlap::buffer_one:
    return "buffer_one";
  case overlap::buffer_all:
    return "buffer_all";
  case overlap::cancel_other:
    return "cancel_other";
  case overlap::allow:
    break;
  }
  return "allow";
}

const char* name_of(coalesce c) {
  switch (c) {
  case coalesce::latest:
    return "latest";
  case coalesce::earliest:
    return "earliest";
  case coalesce::all:
    break;
  }
  return "all";
}

json members(const job_options& o) {
  json out = json::object();
  const auto put = [&](const char* name, const auto& value) {
    if (value) out[name] = *value;
  };
  const auto put_seconds = [&](const char* name, const std::optional<duration>& d) {
    if (d && *d == duration::max())
      out[name] = nullptr; // no limit
    else if (d)
      out[name] = seconds(*d);
  };
  put("name", o.name);
  put("timezone", o.timezone);
  put("executor", o.executor);
  put("max_instances", o.max_instances);
  if (o.overlap) out["overlap"] = name_of(*o.overlap);
  if (o.coalesce) out["coalesce"] = name_of(*o.coalesce);
  put_seconds("misfire_grace_time", o.misfire_grace_time);
  put_seconds("jitter", o.jitter);
  put("retries", o.retries);
  if (o.retry_delay) {
    auto list = json::array();
    for (const auto d : *o.retry_delay)
      list.push_back(seconds(d));
    out["retry_delay"] = std::move(list);
  }
  put_seconds("timeout", o.timeout);
  put("run_on_start", o.run_on_start);
  put("rerun_lost", o.rerun_lost);
  put("keep_finished", o.keep_finished);
  if (o.paused) {
    out["paused"] = true;
    out["pause_reason"] = *o.paused;
  }
  if (!o.tags.empty()) out["tags"] = o.tags;
  return out;
}

} // namespace

void throw_error(const error& e) {
  throw scheduler_error(kind_of(e.code), e.what, e.why);
}

std::string trigger_json(const schedule& when) {
  const auto& text = when.text();
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') return text;
  auto spec = trigger::parse_spec_text(text);
  if (!spec) throw scheduler_error(failure::invalid, "trigger", spec.error().text());
  return trigger::to_json(*spec);
}

std::string job_json(std::string_view id, const schedule& when, std::string_view action,
                     const job_options& options) {
  json o = {{"id", id}};
  o["trigger"] = parse(trigger_json(when), "trigger");
  o["action"] = parse(action, "action");
  o.update(members(options));
  if (options.replace_existing) o["replace_existing"] = true;
  return dump(o);
}

std::string with_defaults(std::string_view job, const job_options& defaults,
                          std::string_view timezone) {
  auto o = parse(job, "job");
  if (!o.is_object()) throw scheduler_error(failure::invalid, "job", "expected an object");
  const auto given = members(defaults);
  for (const auto& [name, value] : given.items())
    if (!o.contains(name)) o[name] = value;
  if (!timezone.empty() && !o.contains("timezone")) o["timezone"] = timezone;
  return dump(o);
}

std::string options_json(const job_options& options) {
  return dump(members(options));
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> all;
  if (const auto list = json::parse(text, nullptr, false); list.is_array()) {
    for (const auto& item : list)
      all.push_back(dump(item));
    return all;
  } else if (list.is_object()) {
    return {dump(list)};
  }
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos)
      all.push_back(dump(parse(line, "jobs")));
  return all;
}

std::string join_list(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const auto& i : items)
    out += (out.size() > 1 ? ",\n " : "") + i;
  return out + "]\n";
}

job_info to_info(const jobs::job& j, bool pending) {
  job_info out;
  out.id = j.id;
  out.name = j.name;
  out.trigger = j.trigger_json;
  out.action = j.action_json;
  out.next_run_time = j.next_run_time();
  out.paused = j.paused;
  out.pause_reason = j.pause_reason;
  out.pending = pending;
  out.finished = !pending && j.finished();
  out.json = jobs::to_json(j);
  if (pending) {
    auto o = json::parse(out.json);
    o["finished"] = false;
    out.json = dump(o);
  }
  return out;
}

run_info to_info(const jobs::run_record& r) {
  static_assert(static_cast<int>(jobs::run_state::dropped_queue)
                == static_cast<int>(run_state::dropped_queue));
  run_info out;
  out.job_id = r.job_id;
  out.number = r.number;
  out.state = static_cast<run_state>(r.state);
  out.nominal_time = r.nominal;
  out.started = r.started;
  out.ended = r.ended;
  out.attempt = r.attempt;
  out.count = r.count;
  out.value = r.result.value;
  out.error = r.result.error;
  out.output = r.result.output;
  out.reason = r.reason;
  out.json = jobs::to_json(r);
  return out;
}

event to_event(const jobs::job_event& e) {
  static_assert(jobs::all_events == events::all);
  event out;
  out.kind = jobs::mask_of(e.kind);
  out.at = e.at;
  out.job_id = e.job_id;
  if (!e.run.job_id.empty()) out.run = to_info(e.run);
  out.count = e.count;
  out.alias = e.alias;
  return out;
}

std::string to_line(const jobs::job& j, bool pending) {
  const auto spec = trigger::parse_json(j.trigger_json);
  std::string out = j.name.empty() ? j.id : j.name;
  out += " (trigger: " + (spec ? trigger::to_text(*spec) : j.trigger_json) + ", ";
  if (j.paused)
    out += "paused" + (j.pause_reason.empty() ? "" : ": " + j.pause_reason);
  else if (pending)
    out += "pending";
  else if (const auto next = j.next_run_time())
    out += "next run at: " + trigger::to_iso(*next, j.trigger.timezone());
  else
    out += j.trigger.at_start() ? "runs at the start" : "finished";
  return out + ")";
}

} // namespace lycosa::embed

namespace lycosa {

std::string_view to_string(run_state s) {
  return jobs::to_string(static_cast<jobs::run_state>(s));
}

std::string_view event::name() const {
  for (unsigned bit = 0; bit < 29; ++bit)
    if (kind == 1u << bit) return jobs::to_string(static_cast<jobs::event_kind>(bit));
  return {};
}

scheduler_error::scheduler_error(failure kind, std::string field, std::string reason)
    : std::runtime_error(field.empty() ? reason : field + ": " + reason), kind_(kind),
      field_(std::move(field)), reason_(std::move(reason)) {}

scheduler_error::~scheduler_error() = default;

} // namespace lycosa
