#include "core/project.hpp"

#include "core/md5.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

namespace lycosa {
namespace {

constexpr std::array<std::pair<project_status, std::string_view>, 6> names{{
    {project_status::todo, "TODO"},
    {project_status::stop, "STOP"},
    {project_status::checking, "CHECKING"},
    {project_status::debug, "DEBUG"},
    {project_status::running, "RUNNING"},
    {project_status::paused, "PAUSED"},
}};

constexpr double most_tokens = 1e9;

bool is_name_char(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'
         || c == '.' || c == '-';
}

result<void> check_amount(std::string_view field, const std::optional<double>& x) {
  if (!x || (std::isfinite(*x) && *x >= 0 && *x <= most_tokens)) return {};
  return fail(errc::invalid_argument, std::string{field}, "must be a number from 0 to 1e9");
}

result<void> check_retry(const retry_policy& r) {
  const auto complain = [](std::string key, std::string why) {
    return fail(errc::invalid_argument, "retry_delay[\"" + key + "\"]", std::move(why));
  };
  for (const auto& [n, delay] : r.table) {
    if (n < 0) return complain(std::to_string(n), "counts retries from 0");
    if (delay < usec::zero()) return complain(std::to_string(n), "must be 0 seconds or more");
  }
  if (r.otherwise < usec::zero()) return complain("", "must be 0 seconds or more");
  return {};
}

result<void> check(const project_patch& patch) {
  if (auto ok = check_amount("rate", patch.rate); !ok) return ok;
  if (auto ok = check_amount("burst", patch.burst); !ok) return ok;
  if (patch.min_tick && *patch.min_tick < usec::zero())
    return fail(errc::invalid_argument, "min_tick", "must be 0 seconds or more");
  if (patch.retry) return check_retry(*patch.retry);
  return {};
}

} // namespace

std::string_view to_string(project_status s) noexcept {
  for (const auto& [status, name] : names)
    if (status == s) return name;
  return "TODO";
}

std::optional<project_status> parse_project_status(std::string_view text) noexcept {
  for (const auto& [status, name] : names)
    if (name == text) return status;
  return std::nullopt;
}

result<void> check_project_name(std::string_view name) {
  if (name.empty()) return fail(errc::invalid_argument, "project", "name is empty");
  if (name.size() > 64)
    return fail(errc::invalid_argument, "project", "name is longer than 64 characters");
  if (!std::all_of(name.begin(), name.end(), is_name_char))
    return fail(errc::invalid_argument, "project",
                "name has a character other than A-Z a-z 0-9 _ . -");
  return {};
}

result<project_record> apply_patch(project_record p, const project_patch& patch, wall_time now) {
  if (auto ok = check(patch); !ok) return tl::unexpected<error>(ok.error());
  const bool is_new = p.id == project_id{};

  if (patch.group) p.group = *patch.group;
  if (patch.status) p.status = *patch.status;
  if (patch.rate) {
    p.rate = *patch.rate;
    if (is_new) p.burst = std::min(10 * p.rate, most_tokens);
  }
  if (patch.burst) p.burst = *patch.burst;
  if (patch.script) p.script = *patch.script;
  if (patch.script || p.script_md5.empty()) p.script_md5 = md5_hex(p.script);
  if (patch.comments) p.comments = *patch.comments;
  if (patch.min_tick) p.min_tick = *patch.min_tick;
  if (patch.default_retry) p.retry.reset();
  if (patch.retry) p.retry = *patch.retry;
  if (patch.crawl_config) p.crawl_config = *patch.crawl_config;
  if (patch.queue_limit) p.queue_limit = *patch.queue_limit;
  if (patch.queue_window) p.queue_window = *patch.queue_window;
  if (patch.retain_age) p.retain.age = *patch.retain_age;
  if (patch.retain_count) p.retain.count = *patch.retain_count;
  if (patch.info_md5)
    p.info_md5 = *patch.info_md5;
  else
    p.updatetime = now;
  return p;
}

std::optional<wall_time> deletion_due(const project_record& p, usec delete_time) {
  if (p.status != project_status::stop || p.deleting) return std::nullopt;
  std::string word;
  for (std::size_t i = 0; i <= p.group.size(); ++i) {
    const auto c = i < p.group.size() ? static_cast<unsigned char>(p.group[i]) : 0;
    if (std::isalnum(c) != 0 || c == '_') {
      word += static_cast<char>(std::tolower(c));
      continue;
    }
    if (word == "delete") return p.updatetime + delete_time;
    word.clear();
  }
  return std::nullopt;
}

} // namespace lycosa
