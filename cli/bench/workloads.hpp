#pragma once

#include "cli/bench/child_node.hpp"
#include "cli/bench/load_run.hpp"

#include <iosfwd>

/// The workloads, one source file each. All count every delivery; what a figure means is in
/// bench/README.md.
namespace lycosa::cli::bench {

using load_result = result<load_figures>;

load_result run_lifecycle(load_target& target, const load_options& options);
load_result run_submit(load_target& target, const load_options& options);
load_result run_lease(load_target& target, const load_options& options);
load_result run_report(load_target& target, const load_options& options);
load_result run_duplicates(load_target& target, const load_options& options);
load_result run_hosts(load_target& target, const load_options& options);
load_result run_delayed(load_target& target, const load_options& options);
load_result run_recrawl(load_target& target, const load_options& options);
load_result run_jobs(load_target& target, const load_options& options);
load_result run_latency(load_target& target, const load_options& options);
/// `say` gets a line an interval.
load_result run_soak(load_target& target, const load_options& options, std::ostream& say);
/// These need a node that they may kill.
load_result run_restart(child_node& node, const load_options& options);
load_result run_memory(child_node& node, const load_options& options);

// -- what they are made of ---------------------------------------------------------------------

/// The tasks of the numbers from `first` to before `end`, appended to an empty list.
using task_filler =
    std::function<void(std::uint64_t first, std::uint64_t end, std::vector<load_task>& into)>;
void plain_tasks(std::uint64_t first, std::uint64_t end, std::vector<load_task>& into);

/// Longest time without a task settled before what is missing counts as lost.
inline constexpr std::chrono::seconds patience{30};

/// Each connection submits what `source` has, as fast as the answers come.
result<void> submit_all(load_run& run, load_source& source, const task_filler& fill);
/// Each connection submits a batch, leases a batch and reports it, until the source is dry and
/// `run.settled` has reached `until` (none = the source's size).
result<void> closed_loop(load_run& run, load_source& source, const task_filler& fill,
                         std::optional<std::uint64_t> until = {});
/// Submits at `options.rate`, each batch when it is due; beside it, if `consume`, connections that
/// wait for tasks and report them. Numbers must be given out in order, each once.
result<void> open_loop(load_run& run, load_source& source, bool consume);
/// Submits `tasks` plain tasks, outside of what is measured.
result<void> submit_first(load_run& run, std::uint64_t tasks);

} // namespace lycosa::cli::bench
