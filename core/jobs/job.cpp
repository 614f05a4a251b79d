#include "core/jobs/job.hpp"

#include "core/jobs/job_place.hpp"
#include "core/triggers/json.hpp"
#include "core/triggers/spec.hpp"
#include "core/triggers/time_text.hpp"

#include <algorithm>

namespace lycosa::jobs {

std::string_view to_string(overlap_policy p) {
  switch (p) {
  case overlap_policy::skip:
    return "skip";
  case overlap_policy::buffer_one:
    return "buffer_one";
  case overlap_policy::buffer_all:
    return "buffer_all";
  case overlap_policy::cancel_other:
    return "cancel_other";
  case overlap_policy::allow:
    break;
  }
  return "allow";
}

std::string_view to_string(coalesce_policy p) {
  switch (p) {
  case coalesce_policy::latest:
    return "latest";
  case coalesce_policy::earliest:
    return "earliest";
  case coalesce_policy::all:
    break;
  }
  return "all";
}

usec retry_wait(const job& j, std::uint32_t retry) {
  const auto n = std::max<std::uint32_t>(retry, 1) - 1;
  if (!j.retry_delay.empty())
    return j.retry_delay[std::min<std::size_t>(n, j.retry_delay.size() - 1)];
  constexpr usec longest = std::chrono::hours{1};
  return std::min(longest, usec{std::chrono::seconds{10}} * (std::int64_t{1} << std::min(n, 20u)));
}

job_place place_of(const job& j) {
  return {j.created, j.previous, j.next, j.runs, j.paused, j.trigger.at_start(), j.run_on_start};
}

std::uint64_t seed_of(std::string_view id) {
  // FNV-1a: must stay the same for ever, or jitter would move with an update.
  std::uint64_t h = 14695981039346656037ull;
  for (const char c : id)
    h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return h;
}

namespace {

/// How the job's trigger is to be compiled; puts the job's jitter into the spec.
result<trigger::compile_options> options_of(const job& j, trigger::spec& spec) {
  trigger::compile_options options;
  options.seed = seed_of(j.id);
  options.anchor = j.created;
  options.default_zone = trigger::zone::local();
  if (!j.timezone.empty()) {
    auto zone = trigger::zone::find(j.timezone);
    if (!zone) return fail(errc::invalid_argument, "timezone", zone.error().why);
    options.default_zone = *zone;
  }
  if (j.jitter > usec::zero() && !spec.fields.contains("jitter"))
    spec.fields.emplace("jitter", trigger::duration_text(j.jitter));
  return options;
}

} // namespace

result<void> compile_trigger(job& j) {
  const auto under_trigger = [](error e) {
    if (e.what.empty())
      e.what = "trigger";
    else if (!e.what.starts_with("trigger"))
      e.what = "trigger." + e.what;
    else if (e.what.starts_with("triggers"))
      e.what = "trigger." + e.what;
    return tl::unexpected<error>(std::move(e));
  };
  auto spec = trigger::parse_json(j.trigger_json);
  if (!spec) return under_trigger(spec.error());
  auto options = options_of(j, *spec);
  if (!options) return tl::unexpected(options.error());
  auto compiled = trigger::compile(*spec, *options);
  if (!compiled && j.jitter > usec::zero() && compiled.error().what == "jitter")
    return fail(errc::invalid_argument, "jitter", compiled.error().why);
  if (!compiled) return under_trigger(compiled.error());
  j.trigger = std::move(*compiled);
  return {};
}

std::string explain_trigger(const job& j) {
  auto spec = trigger::parse_json(j.trigger_json);
  if (!spec) return spec.error().text();
  const auto options = options_of(j, *spec);
  const auto words = options ? trigger::explain(*spec, *options) : tl::unexpected(options.error());
  return words ? *words : words.error().text();
}

} // namespace lycosa::jobs
