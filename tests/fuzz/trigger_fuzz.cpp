// Feeds the trigger parsers any bytes and holds what is accepted to what they promise: the printed
// form reads back to the same trigger, and times increase.
#include "core/triggers/spec.hpp"
#include "tests/fuzz/require.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lycosa::trigger;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto s = parse_spec_text(text);
  if (!s) {
    require(!s.error().why.empty());
    return 0;
  }
  compile_options options;
  options.anchor = lycosa::wall_time{std::chrono::seconds{1'700'000'000}};
  const auto t = compile(*s, options);
  const auto tidy = canonical(*s);
  require(t.has_value() == tidy.has_value());
  if (!t) return 0;
  const auto again = parse_spec_text(to_text(*tidy));
  require(again.has_value());
  const auto same = compile(*again, options);
  require(same.has_value() && *same == *t);
  require(explain(*s, options).has_value());
  std::optional<lycosa::wall_time> previous;
  for (int i = 0; i < 3; ++i) {
    const auto next = t->next(previous, *options.anchor);
    if (!next) break;
    require(!previous || *next > *previous);
    previous = next;
  }
  return 0;
}
