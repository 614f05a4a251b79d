#pragma once

#include "gateway/router.hpp"

namespace lycosa::gateway {

void list_projects(service& s, const request& r, const exchange_ptr& x);
void get_project(service& s, const request& r, const exchange_ptr& x);
void put_project(service& s, const request& r, const exchange_ptr& x);
void delete_project(service& s, const request& r, const exchange_ptr& x);
void start_project(service& s, const request& r, const exchange_ptr& x);

void submit_tasks(service& s, const request& r, const exchange_ptr& x);
void get_task(service& s, const request& r, const exchange_ptr& x);
void list_tasks(service& s, const request& r, const exchange_ptr& x);

void import_tasks(service& s, const request& r, const exchange_ptr& x);
void import_results(service& s, const request& r, const exchange_ptr& x);

void add_jobs(service& s, const request& r, const exchange_ptr& x);
void list_jobs(service& s, const request& r, const exchange_ptr& x);
void get_job(service& s, const request& r, const exchange_ptr& x);
void modify_job(service& s, const request& r, const exchange_ptr& x);
void delete_job(service& s, const request& r, const exchange_ptr& x);
void pause_job(service& s, const request& r, const exchange_ptr& x);
void resume_job(service& s, const request& r, const exchange_ptr& x);
void run_job(service& s, const request& r, const exchange_ptr& x);
void list_runs(service& s, const request& r, const exchange_ptr& x);
void next_runs(service& s, const request& r, const exchange_ptr& x);
void why_job(service& s, const request& r, const exchange_ptr& x);
void backfill_job(service& s, const request& r, const exchange_ptr& x);
void reschedule_job(service& s, const request& r, const exchange_ptr& x);
void delete_all_jobs(service& s, const request& r, const exchange_ptr& x);
void show_job_scheduler(service& s, const request& r, const exchange_ptr& x);
void pause_all_jobs(service& s, const request& r, const exchange_ptr& x);
void resume_all_jobs(service& s, const request& r, const exchange_ptr& x);
void stream_events(service& s, const request& r, const exchange_ptr& x);
void preview_trigger(service& s, const request& r, const exchange_ptr& x);

void lease_tasks(service& s, const request& r, const exchange_ptr& x);
void report_tasks(service& s, const request& r, const exchange_ptr& x);
void extend_leases(service& s, const request& r, const exchange_ptr& x);
void release_leases(service& s, const request& r, const exchange_ptr& x);

void put_result(service& s, const request& r, const exchange_ptr& x);
void get_result(service& s, const request& r, const exchange_ptr& x);
void list_results(service& s, const request& r, const exchange_ptr& x);

void show_active(service& s, const request& r, const exchange_ptr& x);
void show_counters(service& s, const request& r, const exchange_ptr& x);
void show_size(service& s, const request& r, const exchange_ptr& x);
void show_health(service& s, const request& r, const exchange_ptr& x);
void show_readiness(service& s, const request& r, const exchange_ptr& x);
void show_cluster(service& s, const request& r, const exchange_ptr& x);
void move_leadership(service& s, const request& r, const exchange_ptr& x);
void drain_node(service& s, const request& r, const exchange_ptr& x);
void show_metrics(service& s, const request& r, const exchange_ptr& x);
/// Of a process in which no node runs at the moment.
void show_metrics_alone(const std::string& version, const std::weak_ptr<shared_state>& server,
                        const exchange_ptr& x);
void show_dashboard(service& s, const request& r, const exchange_ptr& x);
void show_asset(service& s, const request& r, const exchange_ptr& x);
/// A file of the dashboard; asks no node.
void show_file(std::string_view name, const request& r, const exchange_ptr& x);

/// What `POST /v1/lease` answers when there are no tasks.
[[nodiscard]] response no_tasks(const request& r);

/// The `limit` of a listing: 1 to 10,000, by default 100. Error: the field and the range.
[[nodiscard]] result<std::size_t> read_limit(const request& r);

/// Appends `[{"index":…,"taskid":…,"error":…},…]`.
/// `"ignored_reasons":{…}` with its comma, or nothing when nothing was ignored.
void append_ignored(std::string& to, const std::map<std::string_view, std::uint64_t>& reasons);
void append_rejected(std::string& to, const std::vector<actors::item_error>& rejected);

} // namespace lycosa::gateway
