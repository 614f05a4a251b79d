#pragma once

#include "core/jobs/job.hpp"
#include "core/jobs/job_place.hpp"
#include "core/jobs/run.hpp"
#include "storage/blob_log.hpp"
#include "storage/catalog.hpp"
#include "storage/job_codec.hpp"
#include "storage/job_names.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lycosa::storage {

/// One commit's worth of changes: first `erased`, then the rest. What it points to is only read.
struct job_batch {
  std::vector<std::string> erased;           ///< jobs to forget, with all their runs
  std::vector<const jobs::job*> jobs;        ///< to store whole
  std::vector<const jobs::job*> places;      ///< of which only the place in time has changed
  std::vector<const jobs::run_record*> runs; ///< of jobs that are stored, here or before
};

/// What a start finds. Of jobs that rest only their place is read.
struct stored_jobs {
  std::vector<std::pair<std::string, jobs::job_place>> jobs; ///< in the order of their making
  std::vector<jobs::run_record> open_runs;                   ///< that have not ended, oldest first
  std::vector<std::string> unreadable;                       ///< ids of jobs left as they are
  std::uint64_t unreadable_runs = 0;
};

/// Jobs and their runs, kept in the catalog's space "jobs" (FORMAT.md has the names). In memory or
/// in LMDB, as the catalog is. Records of runs that have ended are appended and linked backwards,
/// so that a busy node writes a page after the other and not one a job. Calls block on the disk;
/// all from one thread, except `load`.
class job_store final : public jobs::job_source {
public:
  explicit job_store(catalog_store& catalog, jobs::history_limits limits = {})
      : log_(catalog, std::string(job_names::space), std::string(job_names::log)), limits_(limits) {
  }

  /// All or nothing, and durable when it returns.
  result<void> commit(const job_batch& batch);

  /// Reads everything once; to be called before anything else. What cannot be read is reported and
  /// left untouched.
  result<stored_jobs> open();

  /// A job whole, as it was last committed.
  result<jobs::job> load(std::string_view id) override;

  /// Runs that have ended, newest number first, with numbers below `before` (0 = all).
  result<std::vector<jobs::run_record>> runs(std::string_view id, std::uint64_t before,
                                             std::size_t limit, wall_time now);

  /// Looks for records that are no longer shown: a piece, when there is reason to. True when there
  /// is more to do. What it finds is erased by the next commit, if only an empty one.
  result<bool> sweep(wall_time now);

private:
  result<stored_place> place_of(const std::string& id);
  [[nodiscard]] bool is_shown(const stored_run& r, wall_time now);

  blob_log log_;
  jobs::history_limits limits_;
  std::uint64_t next_ = 1;    ///< of records and of jobs' numbers
  std::uint64_t records_ = 0; ///< runs that have ended and are stored
  std::uint64_t dead_ = 0;    ///< those among them that are no longer shown, about
  std::string cursor_;        ///< where a sweep is; empty = none is under way
  bool whole_sweep_ = false;  ///< it goes on past the first record that is shown
  std::optional<wall_time> swept_;
  std::vector<std::string> swept_names_;
};

} // namespace lycosa::storage
