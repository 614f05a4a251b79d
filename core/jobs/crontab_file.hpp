#pragma once

#include "core/jobs/job.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lycosa::jobs {

/// How a crontab is to be read.
struct crontab_options {
  bool system = false;   ///< as /etc/crontab: between times and command stands a user
  std::string user;      ///< whom a user's crontab belongs to; empty = the node's own user
  std::string timezone;  ///< of entries without CRON_TZ; empty = the node's own
  std::string source;    ///< the file's name, for the tag `crontab`
  std::string id_prefix; ///< put before every id: keeps several crontabs apart
  wall_time now{};       ///< becomes `created`
};

/// Something to say about a line.
struct crontab_remark {
  std::size_t line = 0;
  std::string field; ///< `minute`, `command`, the name of a variable …
  std::string why;   ///< "column N: reason" where a column can be named

  friend bool operator==(const crontab_remark&, const crontab_remark&) = default;
};

/// One entry as a job.
struct crontab_entry {
  std::size_t line = 0;
  jobs::job job;    ///< checked and compiled
  std::string json; ///< the job object to send
};

struct crontab_file {
  std::vector<crontab_entry> entries;
  std::vector<crontab_remark> errors; ///< when there is one, the entries are not to be used
  std::vector<crontab_remark> warnings;
};

/// Reads a crontab in cronie's form as jobs that do what crond did:
///
/// - Variables hold for the entries below them and go into the action's environment. `SHELL` runs
///   the command, `HOME` is its working directory, `CRON_TZ` the zone of the times, `RANDOM_DELAY`
///   (minutes) the jitter; `MAILTO` and `MAILFROM` are kept as tags too.
/// - The first `%` of a command begins its input. A `-` before the times becomes the tag `nolog`.
/// - Comments right above an entry become its name (first line) and the tag `description`.
/// - `overlap` is `allow`, for crond starts a run beside one that goes on; `misfire_grace_time` is
///   60 s, for crond does not make up for minutes it was not there. Clock changes are followed as
///   cronie does (`dst`), except under CRON_TZ, where cronie's own rule does not hold either.
/// - Ids are made of a command's words and a digest of command and user: moving a line or changing
///   its times keeps the id, so that importing again with replacement changes the job. The second
///   entry with the same command gets `-2`.
///
/// Reads past what crond refuses without need: lines ending in CR LF, a last line without a
/// newline, a byte order mark. Never fails as a whole; every bad line is an error of its own.
[[nodiscard]] crontab_file read_crontab(std::string_view text, const crontab_options& options);

} // namespace lycosa::jobs
