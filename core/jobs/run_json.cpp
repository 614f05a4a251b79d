#include "core/jobs/event.hpp"
#include "core/jobs/member_reader.hpp"
#include "core/jobs/run.hpp"

#include <algorithm>
#include <array>

namespace lycosa::jobs {

namespace {

using detail::dump;
using detail::json;

constexpr std::array<std::string_view, 14> states{
    "queued",    "buffered",        "running",          "retrying",     "success",
    "error",     "timeout",         "cancelled",        "lost",         "missed",
    "coalesced", "skipped_overlap", "dropped_catch_up", "dropped_queue"};
constexpr std::array<std::string_view, 5> causes{"schedule", "manual", "backfill", "start", "lost"};
constexpr std::array<std::string_view, 29> kinds{"SCHEDULER_STARTED",
                                                 "SCHEDULER_SHUTDOWN",
                                                 "SCHEDULER_PAUSED",
                                                 "SCHEDULER_RESUMED",
                                                 "EXECUTOR_ADDED",
                                                 "EXECUTOR_REMOVED",
                                                 "JOBSTORE_ADDED",
                                                 "JOBSTORE_REMOVED",
                                                 "ALL_JOBS_REMOVED",
                                                 "JOB_ADDED",
                                                 "JOB_REMOVED",
                                                 "JOB_MODIFIED",
                                                 "JOB_EXECUTED",
                                                 "JOB_ERROR",
                                                 "JOB_MISSED",
                                                 "JOB_SUBMITTED",
                                                 "JOB_MAX_INSTANCES",
                                                 "JOB_STARTED",
                                                 "JOB_RETRYING",
                                                 "JOB_CANCELLED",
                                                 "JOB_LOST",
                                                 "JOB_COALESCED",
                                                 "JOB_BUFFERED",
                                                 "CATCH_UP_DROPPED",
                                                 "QUEUE_DROPPED",
                                                 "JOB_PAUSED",
                                                 "JOB_RESUMED",
                                                 "JOB_FINISHED",
                                                 "GAP"};

/// Unix seconds; a double keeps microseconds until the year 2255.
double unix_seconds(wall_time t) {
  return detail::to_seconds(t.time_since_epoch());
}

json record_json(const run_record& r) {
  json o;
  o["job"] = r.job_id;
  o["run"] = r.number;
  o["cause"] = to_string(r.cause);
  o["outcome"] = to_string(r.state);
  o["nominal"] = unix_seconds(r.nominal);
  o["planned"] = unix_seconds(r.planned);
  if (r.count != 1) {
    o["count"] = r.count;
    o["last"] = unix_seconds(r.last);
    if (r.at_least) o["at_least"] = true;
  }
  if (r.started) o["started"] = unix_seconds(*r.started);
  if (r.ended) o["ended"] = unix_seconds(*r.ended);
  if (r.retry_at) o["retry_at"] = unix_seconds(*r.retry_at);
  o["attempt"] = r.attempt;
  o["late"] = detail::to_seconds(r.late);
  const auto& x = r.result;
  if (x.exit_code) o["exit_code"] = *x.exit_code;
  if (x.signal) o["signal"] = *x.signal;
  if (x.http_status) o["http_status"] = *x.http_status;
  if (!x.output.empty()) o["output"] = x.output;
  if (x.output_cut) o["output_cut"] = true;
  if (!x.value.empty()) {
    auto value = json::parse(x.value, nullptr, false);
    o["value"] = value.is_discarded() ? json(x.value) : std::move(value);
  }
  if (!x.error.empty()) o["error"] = x.error;
  if (!r.reason.empty()) o["reason"] = r.reason;
  return o;
}

} // namespace

std::string_view to_string(run_state s) {
  return states[static_cast<std::size_t>(s)];
}

bool is_final(run_state s) {
  return s > run_state::retrying;
}

std::string_view to_string(run_cause c) {
  return causes[static_cast<std::size_t>(c)];
}

std::string_view to_string(event_kind k) {
  return kinds[static_cast<std::size_t>(k)];
}

std::vector<std::string> event_names() {
  return {kinds.begin(), std::find(kinds.begin(), kinds.end(), to_string(event_kind::gap))};
}

std::string to_json(const run_record& r) {
  return dump(record_json(r));
}

std::string to_json(const job_event& e) {
  json o;
  o["type"] = to_string(e.kind);
  o["at"] = unix_seconds(e.at);
  if (!e.job_id.empty()) o["job_id"] = e.job_id;
  if (!e.alias.empty()) o["alias"] = e.alias;
  if (e.kind == event_kind::all_jobs_removed) o["count"] = e.count;
  if (e.kind == event_kind::gap) o["missing"] = e.count;
  if (e.run.number != 0) o["run"] = record_json(e.run);
  return dump(o);
}

} // namespace lycosa::jobs
