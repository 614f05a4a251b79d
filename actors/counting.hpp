#pragma once

#include "actors/registry.hpp"

#include <vector>

namespace lycosa::actors {

/// Asks the projects for one window of their counters. One consistent answer, in the order of
/// `projects`, without those that counted nothing; one message a project, whatever they counted.
void ask_counters(const std::vector<registry::entry>& projects, counter_set set, counter_kind kind,
                  reply<std::vector<counter_view>> done);

} // namespace lycosa::actors
