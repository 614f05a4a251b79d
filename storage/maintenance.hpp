#pragma once

#include "storage/open.hpp"

#include <string>
#include <vector>

/// What operators do to a data directory. All of it also works while a node runs on the directory:
/// each shard is looked at as of one commit.
namespace lycosa::storage {

struct check_report {
  bool ok = true;
  std::vector<std::string> problems; ///< one line each, at most 100
  std::uint64_t problem_count = 0;   ///< all of them
  std::uint64_t shards = 0;
  std::uint64_t projects = 0;
  std::uint64_t tasks = 0;
  std::uint64_t active = 0;
  std::uint64_t settled = 0;
  std::uint64_t results = 0;
  std::uint64_t log_batches = 0;
  std::uint64_t jobs = 0;
  std::uint64_t job_runs = 0; ///< records of runs, ended or not
};

/// Reads everything and compares: every record decodes and has its index entry, its place in the
/// queue or among the settled, and nothing else has one; queues kept in order are; counts, sequence
/// numbers and the log agree; jobs can be run and their histories hang together. A directory that
/// cannot be opened is a problem in the report; `not_found` is an error.
result<check_report> check_data_dir(const std::string& dir);

struct dir_stats {
  std::uint32_t format = 0;
  std::uint64_t epoch = 0;
  std::uint64_t projects = 0;
  std::uint64_t catalog_bytes = 0;
  std::vector<shard_stats> shards;
};

/// Sizes, counts and versions.
result<dir_stats> stats_data_dir(const std::string& dir);

/// Writes a compacted copy of every environment to `out`, a zstd-compressed pax archive (`tar`
/// reads it) whose last member MANIFEST has a checksum for each file. `out` appears only when it is
/// complete and on disk. `conflict` when it exists. Needs room beside `out` for one uncompressed
/// shard. For a running process's own directory.
result<void> backup_data_dir(const data_dir& source, const std::string& out);
/// The same for a directory that another process may have open.
result<void> backup_data_dir(const std::string& dir, const std::string& out);

/// Unpacks a backup. `dir` must not exist or be empty; it appears only when every checksum is
/// right and all is on disk. `corrupt` when the archive is damaged or is none.
result<void> restore_data_dir(const std::string& in, const std::string& dir);

} // namespace lycosa::storage
