#include "core/jobs/crontab_file.hpp"

#include "core/jobs/crontab_line.hpp"
#include "core/jobs/job_json.hpp"
#include "core/jobs/member_reader.hpp"
#include "core/md5.hpp"
#include "core/triggers/spec.hpp"
#include "core/triggers/text.hpp"

#include <charconv>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace lycosa::jobs {

namespace {

using detail::json;
using trigger::is_blank;

constexpr auto npos = std::string_view::npos;
/// Linux takes no argument and no variable of 128 KiB or more.
constexpr std::size_t longest_argument = 128 * 1024 - 1;
constexpr std::size_t most_variables = 1000;
constexpr std::size_t longest_name = 100, longest_description = 4000;
constexpr std::uint32_t longest_delay = 7 * 24 * 60; ///< minutes
constexpr std::string_view default_shell = "/bin/sh";

std::string column_text(std::size_t column, std::string_view why) {
  return "column " + std::to_string(column) + ": " + std::string(why);
}

/// Comments may hold anything; names and tags are text.
std::string plain(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto good = text.substr(0, detail::find_bad_utf8(text));
    for (const char c : good)
      if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) out += c;
    text.remove_prefix(good.size());
    if (text.empty()) break;
    out += "\xef\xbf\xbd";
    text.remove_prefix(1);
  }
  return out;
}

/// Walks over a line; knows the column.
struct line_cursor {
  std::string_view line;
  std::size_t at = 0;

  void skip_blanks() {
    while (at < line.size() && is_blank(line[at]))
      ++at;
  }
  std::string_view word() {
    const auto start = at;
    while (at < line.size() && !is_blank(line[at]))
      ++at;
    return line.substr(start, at - start);
  }
  [[nodiscard]] bool done() const { return at >= line.size(); }
};

class reader {
public:
  reader(const crontab_options& options, crontab_file& out) : options_(options), out_(out) {}

  void line(std::string_view text, std::size_t number) {
    number_ = number;
    line_cursor in{text};
    in.skip_blanks();
    if (in.done()) return comment_.clear();
    if (text[in.at] == '#') return comment(text.substr(in.at + 1));
    if (const auto nul = text.find('\0'); nul != npos)
      error("line", column_text(nul + 1, "a NUL byte"));
    else if (const auto bad = detail::find_bad_utf8(text); bad != npos)
      error("line", column_text(bad + 1, "not UTF-8, which a job cannot hold"));
    else if (auto v = detail::read_variable(text.substr(in.at)))
      variable(std::move(*v));
    else
      entry(in);
    comment_.clear();
  }

  void warn(std::string field, std::string why) {
    out_.warnings.push_back({number_, std::move(field), std::move(why)});
  }

private:
  void error(std::string field, std::string why) {
    out_.errors.push_back({number_, std::move(field), std::move(why)});
  }

  void comment(std::string_view text) {
    while (!text.empty() && (text.front() == '#' || is_blank(text.front())))
      text.remove_prefix(1);
    if (detail::classify_comment(text) == detail::comment_kind::template_)
      return comment_.clear(); // what stood above belongs to it
    const auto words = plain(trigger::trim(text));
    if (words.empty()) return;
    if (comment_.size() < longest_description) comment_ += (comment_.empty() ? "" : "\n") + words;
  }

  void variable(detail::crontab_variable v) {
    if (v.name.empty()) return error("variable", column_text(1, "the name before = is missing"));
    if (v.name.size() + v.value.size() + 1 >= longest_argument)
      return error(v.name, "longer than the system takes (128 KiB)");
    if (v.name == "RANDOM_DELAY") {
      std::uint32_t minutes = 0;
      const char* end = v.value.data() + v.value.size();
      const auto r = std::from_chars(v.value.data(), end, minutes);
      if (r.ec != std::errc{} || r.ptr != end || minutes > longest_delay)
        return error(v.name, "expected a whole number of minutes, at most "
                                 + std::to_string(longest_delay));
      delay_ = minutes;
    } else if (v.name == "CRON_TZ") {
      if (const auto zone = trigger::zone::find(v.value); !v.value.empty() && !zone)
        return error(v.name, zone.error().why);
      zone_ = v.value;
    } else if (v.name == "TZ") {
      warn(v.name, "is for the commands only, as in cronie; the zone of the times is CRON_TZ");
    }
    if (v.value.find('$') != npos)
      warn(v.name, "$ is not expanded in a crontab's variables; the value is taken as it stands");
    if (env_.size() >= most_variables && !env_.contains(v.name))
      return error(v.name, "more than " + std::to_string(most_variables) + " variables");
    env_[std::move(v.name)] = std::move(v.value);
  }

  /// The times, tidied, into `expr`; where they stand into `first`. The cursor is behind them.
  bool times(line_cursor& in, std::string& expr, std::size_t& first) {
    first = in.at;
    if (in.line[in.at] == '@') {
      expr = in.word();
      return true;
    }
    for (int i = 0; i < 5; ++i) {
      in.skip_blanks();
      if (in.done()) {
        const char c = in.line[first];
        const bool like_times = trigger::is_digit(c) || c == '*' || c == '~';
        error("times", column_text(in.line.size() + 1,
                                   like_times ? "expected five times and a command"
                                              : "neither NAME=value nor five times and a command"));
        return false;
      }
      expr += (expr.empty() ? "" : " ") + std::string(in.word());
    }
    return true;
  }

  void entry(line_cursor in) {
    bool no_log = false;
    if (in.line[in.at] == '-') {
      no_log = true;
      ++in.at;
      in.skip_blanks();
      if (in.done()) return error("times", column_text(in.at + 1, "expected the times"));
    }
    std::string expr;
    std::size_t first = 0;
    if (!times(in, expr, first)) return;
    const auto times_end = in.at;
    // Reading the times first: with one field too few the user or command is taken for a time, and
    // that is what should be told.
    if (auto bad = check_times(in.line.substr(0, times_end), first))
      return error(bad->what, bad->why);
    in.skip_blanks();
    std::string user = options_.user;
    if (options_.system) {
      const auto column = in.at + 1;
      user = in.word();
      if (user.empty()) return error("user", column_text(column, "the user is missing"));
      if (user.find_first_of("/|&;<>()$`\\\"'*=%") != std::string::npos || user.front() == '-')
        return error("user", column_text(column, "'" + user
                                                     + "' is no user; a user's own crontab has none"
                                                       " (leave out --system)"));
      in.skip_blanks();
    }
    const auto text = in.line.substr(in.at);
    if (text.empty()) return error("command", column_text(in.at + 1, "the command is missing"));
    if (!options_.system && (text.starts_with("root ") || text.starts_with("root\t")))
      warn("command", "begins with 'root': a system crontab is read with --system");
    const auto command = detail::split_percent(text);
    if (trigger::trim(command.shell).empty())
      return error("command", column_text(in.at + 1, "there is no command before the %"));
    if (command.shell.size() >= longest_argument)
      return error("command",
                   column_text(in.at + 1, "longer than the system takes (128 KiB): make it a "
                                          "script"));
    if (command.percent != npos)
      warn("command", column_text(in.at + command.percent + 1,
                                  "% ends the command, the rest is its input; a % of the command "
                                  "is written \\%"));
    if (trigger::lower(expr) == "@reboot")
      warn("times", "runs when the node starts, not only when the machine does");
    add(make_job(expr, user, command, text, no_log));
  }

  /// The error in the times with the column in the line.
  [[nodiscard]] std::optional<lycosa::error> check_times(std::string_view line,
                                                         std::size_t first) const {
    trigger::spec spec;
    spec.type = "crontab";
    spec.fields["expr"] = std::string(first, ' ') + std::string(line.substr(first));
    const auto compiled = trigger::compile(spec);
    if (compiled) return std::nullopt;
    auto e = compiled.error();
    if (e.what == "expr") e.what = "times";
    return e;
  }

  [[nodiscard]] std::string unused_id(const std::string& user, std::string_view text) {
    const auto base = options_.id_prefix + detail::command_slug(text) + "-"
                      + md5_hex(user + "\n" + std::string(text)).substr(0, 8);
    for (;;) {
      const auto n = ++repeats_[base];
      auto id = n == 1 ? base : base + "-" + std::to_string(n);
      if (ids_.insert(id).second) return id;
    }
  }

  [[nodiscard]] json make_job(const std::string& expr, const std::string& user,
                              const detail::crontab_command& command, std::string_view text,
                              bool no_log) {
    json j;
    j["id"] = unused_id(user, text);
    const auto heading = comment_.substr(0, comment_.find('\n'));
    j["name"] = detail::utf8_prefix(heading.empty() ? plain(text) : heading, longest_name);
    j["trigger"] = {{"type", "crontab"}, {"expr", expr}, {"dialect", "vixie"}};
    if (zone_.empty()) j["trigger"]["dst"] = "cronie";
    if (const auto& zone = zone_.empty() ? options_.timezone : zone_; !zone.empty())
      j["timezone"] = zone;
    j["action"] = make_action(user, command);
    j["overlap"] = "allow";
    j["misfire_grace_time"] = 60;
    if (delay_ > 0) j["jitter"] = delay_ * 60;
    if (trigger::lower(expr) == "@reboot") j["run_on_start"] = true;
    json tags;
    tags["crontab"] = plain(options_.source) + ":" + std::to_string(number_);
    if (!comment_.empty()) tags["description"] = detail::utf8_prefix(comment_, longest_description);
    for (const auto& [name, tag] : {std::pair{"MAILTO", "mailto"}, {"MAILFROM", "mailfrom"}})
      if (const auto v = env_.find(name); v != env_.end()) tags[tag] = v->second;
    if (no_log) tags["nolog"] = "true";
    j["tags"] = std::move(tags);
    return j;
  }

  [[nodiscard]] json make_action(const std::string& user,
                                 const detail::crontab_command& command) const {
    json a;
    a["type"] = "command";
    const auto shell = env_.find("SHELL");
    if (shell == env_.end() || shell->second.empty() || shell->second == default_shell)
      a["shell"] = command.shell;
    else
      a["argv"] = {shell->second, "-c", command.shell};
    if (const auto home = env_.find("HOME"); home != env_.end() && !home->second.empty())
      a["cwd"] = home->second;
    json env = json::object();
    for (const auto& [name, value] : env_)
      env[name] = value;
    // The daemon's default, where a job's is the user's login shell (which may be none).
    if (!user.empty() && shell == env_.end()) env["SHELL"] = default_shell;
    if (!env.empty()) a["env"] = std::move(env);
    if (!user.empty()) a["user"] = user;
    if (!command.input.empty()) a["stdin"] = command.input;
    return a;
  }

  void add(const json& object) {
    auto text = detail::dump(object);
    auto parsed = parse_job(text, options_.now);
    if (!parsed) return error(parsed.error().what, parsed.error().why);
    out_.entries.push_back({number_, std::move(parsed->job), std::move(text)});
  }

  const crontab_options& options_;
  crontab_file& out_;
  std::size_t number_ = 0;
  std::string comment_; ///< the lines right above
  std::map<std::string, std::string, std::less<>> env_;
  std::string zone_;        ///< of CRON_TZ
  std::uint32_t delay_ = 0; ///< minutes
  std::unordered_set<std::string> ids_;
  std::unordered_map<std::string, std::size_t> repeats_;
};

} // namespace

crontab_file read_crontab(std::string_view text, const crontab_options& options) {
  crontab_file out;
  reader in(options, out);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  bool carriage = false;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    auto line = text.substr(0, end);
    text.remove_prefix(end == npos ? text.size() : end + 1);
    const bool cut = line.ends_with('\r');
    if (cut) line.remove_suffix(1);
    in.line(line, number);
    if (cut && !std::exchange(carriage, true))
      in.warn("line", "ends in CR LF; the CR is left out, here and below");
    if (end == npos) in.warn("line", "has no newline at its end; cron would refuse or ignore it");
  }
  return out;
}

} // namespace lycosa::jobs
