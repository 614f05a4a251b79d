#pragma once

#include "core/result.hpp"
#include "core/triggers/trigger.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lycosa::trigger {

/// A trigger as it is written down: its kind and the text of each of its members. What clients
/// send, what is stored, and what is printed; `compile` makes the working form of it.
struct spec {
  std::string
      type; ///< date, interval, cron, crontab, calendar_interval, oncalendar, and, or, except
  std::map<std::string, std::string, std::less<>> fields; ///< numbers as text too
  std::vector<spec> children;     ///< of `and` and `or`: the members; of `except`: the base first
  std::vector<std::string> dates; ///< of `except`: days and ranges of days left out

  friend bool operator==(const spec&, const spec&) = default;
};

/// What a spec may leave open.
struct compile_options {
  zone default_zone{};    ///< for triggers that name none
  std::uint64_t seed = 0; ///< chooses the values of `~`; a job's id, so that they stay
  /// When given, intervals and calendar steps without a start are counted from this moment, as if
  /// they had a `start_date`; so is a date without `run_date`. Give the time the job was added.
  std::optional<wall_time> anchor{};
};

/// Checks a spec and makes the trigger.
///
/// Members every kind has: `timezone`, `start_date`, `end_date` (included), `jitter`, `gap` =
/// `skip` (the default), `run_after` or `shift`, `fold` = `both`, `first` or `second`. The default
/// of `fold` is `both` for cron and crontab, and `first` for what is counted in dates:
/// calendar_interval, oncalendar (as systemd does) and intervals by the wall clock. Dialects left
/// out are aps3 for cron and vixie for crontab. Errors are `invalid_argument` with the member's
/// name in `what` (`triggers[1].hour`) and "column N: reason" in `why`.
[[nodiscard]] result<trigger> compile(const spec& s, const compile_options& options = {});

/// Reads whatever a person may type: a JSON object, five crontab fields, `@daily` and its kin,
/// `every 90s`, `oncalendar: Mon..Fri 09:00`, `CRON_TZ=Zone` before crontab fields.
[[nodiscard]] result<spec> parse_spec_text(std::string_view text);

/// The same trigger in its shortest regular form: defaults left out, names in lower case, blanks
/// single, intervals in one unit. Equal specs mean equal triggers. Fails as `compile` does.
[[nodiscard]] result<spec> canonical(const spec& s);

/// A text `parse_spec_text` reads back to the same spec: the bare expression where that says it
/// all, else one line of JSON.
[[nodiscard]] std::string to_text(const spec& s);

/// What the trigger means, in words, for a person who wrote it.
[[nodiscard]] result<std::string> explain(const spec& s, const compile_options& options = {});

/// The five fields an `@name` stands for; empty when it is none (`@reboot` included).
[[nodiscard]] std::string_view crontab_alias(std::string_view name);

} // namespace lycosa::trigger
