#pragma once

#include "core/result.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lycosa::conf {
struct settings;
}

/// What is loaded: a node over HTTP or one inside this process. Workloads know tasks as numbers; a
/// target turns them into tasks and back.
namespace lycosa::cli::bench {

/// How the tasks of a run are called and what they carry.
struct task_names {
  std::string run;                       ///< begins each task id: new to a store used before
  std::vector<std::string> projects;     ///< at least one
  std::vector<std::uint32_t> project_of; ///< by number: place in `projects`; empty = the first
  std::string filler;                    ///< opaque text each task carries
  bool from_all = false;                 ///< leases ask for tasks of any project

  [[nodiscard]] const std::string& project(std::uint64_t number) const {
    return projects[number < project_of.size() ? project_of[number] : 0];
  }
};

struct load_task {
  std::uint64_t number = 0;
  std::int64_t exetime = 0; ///< not before, microseconds since the epoch; 0 = at once
  std::int32_t age = -1;    ///< seconds that a crawl stays fresh; negative = for ever
  std::uint32_t itag = 0;   ///< 0 = none
};

struct leased_number {
  std::uint64_t number = 0;
  std::array<char, 48> lease{};
};

struct submit_counts {
  std::uint64_t created = 0, restarted = 0, ignored = 0;
};

/// One client. Blocking; one thread. An item that the node refuses is an error: a load has none.
class load_session {
public:
  virtual ~load_session() = default;
  virtual result<submit_counts> submit(std::span<const load_task> tasks) = 0;
  /// Replaces `into` by what was handed out, at most `max`; waits up to `wait` seconds for the
  /// first. Tasks of other runs are left out.
  virtual result<void> lease(std::uint32_t max, unsigned wait,
                             std::vector<leased_number>& into) = 0;
  /// Reports success for each. Answers how many it settled.
  virtual result<std::uint64_t> report(std::span<const leased_number> done) = 0;
};

/// Any thread. `names` outlives the sessions.
class load_target {
public:
  virtual ~load_target() = default;
  virtual result<std::unique_ptr<load_session>> open(const task_names& names) = 0;
  /// Whether sessions wait in `wait_readable`, so that one thread can serve many (interleave.hpp).
  [[nodiscard]] virtual bool interleaves() const { return false; }
  /// Makes projects that run, with a rate that limits nothing.
  virtual result<void> put_projects(std::span<const std::string> projects) = 0;
  /// Adds jobs, a JSON list as of POST /v1/jobs.
  virtual result<void> add_jobs(const std::string& list) = 0;
  /// How late each run of a job was decided, in seconds.
  virtual result<std::vector<double>> job_lateness(const std::string& id) = 0;
  virtual result<void> remove_job(const std::string& id) = 0;
};

/// A node over HTTP at a numeric address.
std::unique_ptr<load_target> http_target(std::string host, std::uint16_t port);
/// A node in this process as `settings` say; its directory must be there.
result<std::unique_ptr<load_target>> embedded_target(const conf::settings& settings);

/// The number that a task id of this run stands for; none for a task of another.
[[nodiscard]] bool read_number(const task_names& names, std::string_view taskid,
                               std::uint64_t& number);

} // namespace lycosa::cli::bench
