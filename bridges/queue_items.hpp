#pragma once

#include "actors/node.hpp"
#include "gateway/server.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lycosa::bridges {

/// Why something that came through a queue was not taken.
struct refused_item {
  std::string what; ///< project/taskid as far as known
  std::string why;
};

/// Messages of `newtask_queue` as a submission: each holds one task or a list of them.
struct newtask_batch {
  actors::submit_request request;
  std::uint64_t malformed = 0; ///< messages that could not be read at all
  std::vector<refused_item> refused;
};
[[nodiscard]] newtask_batch read_newtasks(const std::vector<std::string>& messages,
                                          const gateway::limits_config& limits);

/// Messages of `status_queue` as reports, one each.
struct status_batch {
  actors::report_request request;
  std::uint64_t malformed = 0;
  std::vector<refused_item> refused;
};
[[nodiscard]] status_batch read_statuses(const std::vector<std::string>& messages,
                                         const gateway::limits_config& limits);

/// A task as pyspider's fetcher expects it (MessagePack); the lease is left out, because what
/// pyspider sends back does not carry it.
[[nodiscard]] std::string write_task(const actors::leased_task& t);

} // namespace lycosa::bridges
