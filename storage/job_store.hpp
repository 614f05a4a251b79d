#pragma once

#include "core/jobs/job.hpp"
#include "core/jobs/run.hpp"
#include "storage/catalog.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lycosa::storage {

/// One commit's worth of changes: first `erased`, then the rest.
struct job_batch {
  std::vector<std::string> erased; ///< jobs to forget, with all their runs
  std::vector<jobs::job> jobs;
  std::vector<jobs::run_record> runs;
  std::vector<std::pair<std::string, std::uint64_t>> forgotten; ///< runs to forget
};

/// What a start finds.
struct stored_jobs {
  std::vector<jobs::job> jobs;
  std::vector<jobs::run_record> open_runs; ///< that have not ended, oldest first
  std::vector<std::string> unreadable;     ///< ids of jobs left as they are
  std::uint64_t unreadable_runs = 0;
};

/// Jobs and their runs, kept in the catalog's space "jobs" (FORMAT.md has the names). In memory or
/// in LMDB, as the catalog is. Calls block on the disk; may be made from any thread, writes from
/// one at a time.
class job_store {
public:
  explicit job_store(catalog_store& catalog) : catalog_(catalog) {}

  /// All or nothing, and durable when it returns.
  result<void> commit(const job_batch& batch);

  /// Reads everything once. What cannot be read is reported and left untouched.
  result<stored_jobs> load();

  /// Runs with numbers below `before` (0 = all), newest first.
  result<std::vector<jobs::run_record>> runs(std::string_view id, std::uint64_t before,
                                             std::size_t limit);

  /// Names of runs that ended before `oldest`, at most `limit`, looked for after `cursor`, which is
  /// moved on; empty at the end.
  result<std::vector<std::pair<std::string, std::uint64_t>>>
  ended_before(wall_time oldest, std::string& cursor, std::size_t limit);

private:
  catalog_store& catalog_;
};

} // namespace lycosa::storage
