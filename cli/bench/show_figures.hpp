#pragma once

#include "cli/bench/load_run.hpp"

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace lycosa::cli::bench {

/// The place of the run with the median rate; of an even number the lower one. `runs` is not empty.
[[nodiscard]] std::size_t median_of(const std::vector<load_figures>& runs);

/// A table for people: the run with the median rate, and the rates of all if there are several.
void show_table(std::ostream& out, std::string_view workload, const load_options& options,
                const std::vector<load_figures>& runs);

/// The same as one line of JSON.
[[nodiscard]] std::string to_json(std::string_view workload, const load_options& options,
                                  const std::vector<load_figures>& runs);

/// Tasks a second over time, or, when the workload is about latency, the curves of percentiles.
[[nodiscard]] std::string to_plot(std::string_view workload, const load_options& options,
                                  const load_figures& f, bool latency);

} // namespace lycosa::cli::bench
