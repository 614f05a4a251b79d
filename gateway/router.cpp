#include "gateway/router.hpp"

#include "gateway/handlers.hpp"
#include "gateway/items.hpp"

#include <array>

namespace lycosa::gateway {
namespace {

constexpr std::array routes{
    route_entry{"GET", "/v1/projects", list_projects},
    route_entry{"GET", "/v1/projects/{}", get_project},
    route_entry{"PUT", "/v1/projects/{}", put_project},
    route_entry{"DELETE", "/v1/projects/{}", delete_project},
    route_entry{"POST", "/v1/projects/{}/start", start_project},

    route_entry{"POST", "/v1/tasks", submit_tasks},
    route_entry{"GET", "/v1/projects/{}/tasks", list_tasks},
    route_entry{"GET", "/v1/projects/{}/tasks/{}", get_task},

    route_entry{"POST", "/v1/lease", lease_tasks},
    route_entry{"POST", "/v1/report", report_tasks},
    route_entry{"POST", "/v1/extend", extend_leases},
    route_entry{"POST", "/v1/release", release_leases},

    route_entry{"GET", "/v1/projects/{}/results", list_results},
    route_entry{"GET", "/v1/projects/{}/results/{}", get_result},
    route_entry{"PUT", "/v1/projects/{}/results/{}", put_result},

    route_entry{"POST", "/v1/jobs", add_jobs},
    route_entry{"GET", "/v1/jobs", list_jobs},
    route_entry{"DELETE", "/v1/jobs", delete_all_jobs},
    route_entry{"GET", "/v1/jobs/{}", get_job},
    route_entry{"PATCH", "/v1/jobs/{}", modify_job},
    route_entry{"DELETE", "/v1/jobs/{}", delete_job},
    route_entry{"POST", "/v1/jobs/{}/pause", pause_job},
    route_entry{"POST", "/v1/jobs/{}/resume", resume_job},
    route_entry{"POST", "/v1/jobs/{}/run", run_job},
    route_entry{"POST", "/v1/jobs/{}/backfill", backfill_job},
    route_entry{"POST", "/v1/jobs/{}/reschedule", reschedule_job},
    route_entry{"GET", "/v1/jobs/{}/runs", list_runs},
    route_entry{"GET", "/v1/jobs/{}/next", next_runs},
    route_entry{"GET", "/v1/jobs/{}/why", why_job},
    route_entry{"GET", "/v1/scheduler/jobs", show_job_scheduler},
    route_entry{"POST", "/v1/scheduler/jobs/pause", pause_all_jobs},
    route_entry{"POST", "/v1/scheduler/jobs/resume", resume_all_jobs},
    route_entry{"POST", "/v1/triggers/next", preview_trigger},
    route_entry{"GET", "/v1/events", stream_events},
    route_entry{"POST", "/v1/import/tasks", import_tasks},
    route_entry{"POST", "/v1/import/results", import_results},
    route_entry{"GET", "/v1/counters/{}", show_counters},
    route_entry{"GET", "/v1/size", show_size},
    route_entry{"GET", "/v1/active", show_active},
    route_entry{"GET", "/healthz", show_health},
    route_entry{"GET", "/readyz", show_readiness},
    route_entry{"GET", "/v1/cluster", show_cluster},
    route_entry{"POST", "/v1/cluster/move", move_leadership},
    route_entry{"POST", "/v1/cluster/drain", drain_node},
    route_entry{"GET", "/metrics", show_metrics},
    route_entry{"GET", "/", show_dashboard},
    route_entry{"GET", "/assets/{}", show_asset},
};

bool matches(std::string_view pattern, const request& r, std::vector<std::string>& captured) {
  captured.clear();
  pattern.remove_prefix(1);
  for (std::size_t i = 0;; ++i) {
    if (i == r.segments.size()) return false;
    const auto slash = pattern.find('/');
    const auto part = pattern.substr(0, slash);
    if (part == "{}") {
      if (r.segments[i].empty() || !is_utf8(r.segments[i])) return false;
      captured.push_back(r.segments[i]);
    } else if (part != r.segments[i]) {
      return false;
    }
    if (slash == std::string_view::npos) return i + 1 == r.segments.size();
    pattern.remove_prefix(slash + 1);
  }
}

} // namespace

std::span<const route_entry> all_routes() {
  return routes;
}

std::size_t find_route(const request& r) {
  std::vector<std::string> captured;
  for (std::size_t i = 0; i < routes.size(); ++i)
    if (routes[i].method == r.method && matches(routes[i].pattern, r, captured)) return i;
  return routes.size();
}

std::size_t route(service& s, request r, const exchange_ptr& x) {
  std::string allowed;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const auto& entry = routes[i];
    if (!matches(entry.pattern, r, r.captured)) continue;
    if (entry.method == r.method) {
      entry.run(s, r, x);
      return i;
    }
    if (!allowed.empty()) allowed += ", ";
    allowed += entry.method;
    if (entry.method == "GET") allowed += ", HEAD";
  }
  if (allowed.empty()) {
    answer_now(x, problem(404, "there is nothing at this address"));
    return routes.size();
  }
  auto no = problem(405, "allowed here: " + allowed);
  no.headers.emplace_back("Allow", allowed);
  answer_now(x, std::move(no));
  return routes.size();
}

} // namespace lycosa::gateway
