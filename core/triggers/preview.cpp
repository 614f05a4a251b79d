#include "core/triggers/preview.hpp"

#include "core/triggers/time_text.hpp"

namespace lycosa::trigger {

result<preview_answer> preview(const spec& s, const preview_request& request, wall_time now) {
  if (request.count > preview_limit)
    return fail(errc::invalid_argument, "n",
                "at most " + std::to_string(preview_limit) + " times at once");
  compile_options options;
  options.default_zone = request.default_zone;
  if (request.timezone) {
    const auto z = zone::find(*request.timezone);
    if (!z) return tl::unexpected(z.error());
    options.default_zone = *z;
  }
  const auto read = [&](const std::optional<std::string>& text,
                        std::string_view name) -> result<std::optional<wall_time>> {
    if (!text) return std::optional<wall_time>{};
    const auto t = parse_time_text(*text, name);
    if (!t) return tl::unexpected(t.error());
    return std::optional(t->in(options.default_zone));
  };
  const auto from = read(request.from, "from");
  if (!from) return tl::unexpected(from.error());
  const auto previous = read(request.previous, "previous");
  if (!previous) return tl::unexpected(previous.error());
  if (*from) now = **from;
  options.anchor = previous->value_or(now);
  const auto t = compile(s, options);
  if (!t) return tl::unexpected(t.error());
  preview_answer answer;
  for (auto at : t->upcoming(*previous, now, request.count))
    answer.times.push_back(to_iso(at, t->timezone()));
  // In words as it was written: without the moment it would be added at.
  options.anchor.reset();
  const auto words = explain(s, options);
  answer.meaning = words ? *words : explain(s, {options.default_zone, 0, now}).value_or("");
  return answer;
}

} // namespace lycosa::trigger
