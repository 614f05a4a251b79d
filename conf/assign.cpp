#include "conf/assign.hpp"

#include "conf/units.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace lycosa::conf {

namespace {

template <class... F>
struct overloaded : F... {
  using F::operator()...;
};
template <class... F>
overloaded(F...) -> overloaded<F...>;

auto wrong(std::string why) {
  return fail(errc::invalid_argument, "", std::move(why));
}

std::string kind_of(const toml::node& value) {
  switch (value.type()) {
  case toml::node_type::table:
    return "a table";
  case toml::node_type::array:
    return "a list";
  case toml::node_type::string:
    return "a text";
  case toml::node_type::integer:
    return "a whole number";
  case toml::node_type::floating_point:
    return "a number with a fraction";
  case toml::node_type::boolean:
    return "true or false";
  default:
    return "a date or time";
  }
}

auto expected(std::string_view what, const toml::node& value) {
  return wrong("expected " + std::string{what} + ", got " + kind_of(value));
}

auto out_of_range(const key_info& key) {
  return wrong("must be " + range_text(key));
}

result<usec> to_duration(const toml::node& value) {
  if (auto text = value.value_exact<std::string>()) return parse_duration(*text);
  if (value.is_number()) return seconds_to_duration(*value.value<double>());
  return expected("a duration such as \"10m\" or a number of seconds", value);
}

bool within(const key_info& key, std::uint64_t v) {
  return v >= key.min && v <= key.max;
}

result<void> choose(const key_info& key, std::string_view text) {
  if (!key.choices.empty() && std::ranges::find(key.choices, text) == key.choices.end())
    return wrong("'" + std::string{text} + "' is not one of " + range_text(key));
  return {};
}

result<void> read_text(const key_info& key, const toml::node& value, std::string& out) {
  auto text = value.value_exact<std::string>();
  if (!text) return expected("a text", value);
  if (auto ok = choose(key, *text); !ok) return ok;
  if (key.address)
    if (auto ok = parse_endpoint(*text); !ok) return tl::unexpected(ok.error());
  out = std::move(*text);
  return {};
}

result<void> read_number(const key_info& key, const toml::node& value, std::uint64_t& out) {
  auto number = value.value_exact<std::int64_t>();
  if (!number) return expected("a whole number", value);
  if (*number < 0 || !within(key, static_cast<std::uint64_t>(*number))) return out_of_range(key);
  out = static_cast<std::uint64_t>(*number);
  return {};
}

result<void> read_duration(const key_info& key, const toml::node& value, usec& out) {
  auto duration = to_duration(value);
  if (!duration) return tl::unexpected(duration.error());
  if (!within(key, static_cast<std::uint64_t>(duration->count()))) return out_of_range(key);
  out = *duration;
  return {};
}

result<void> read_size(const key_info& key, const toml::node& value, bytes& out) {
  if (auto number = value.value_exact<std::int64_t>()) {
    if (*number < 0 || !within(key, static_cast<std::uint64_t>(*number))) return out_of_range(key);
    out.count = static_cast<std::uint64_t>(*number);
    return {};
  }
  auto text = value.value_exact<std::string>();
  if (!text) return expected("a size such as \"64MiB\" or a number of bytes", value);
  auto size = parse_size(*text);
  if (!size) return tl::unexpected(size.error());
  if (!within(key, size->count)) return out_of_range(key);
  out = *size;
  return {};
}

result<void> read_texts(const toml::node& value, std::vector<std::string>& out) {
  const auto* list = value.as_array();
  if (!list) return expected("a list of texts", value);
  std::vector<std::string> texts;
  for (const auto& item : *list) {
    auto text = item.value_exact<std::string>();
    if (!text) return expected("a list of texts", item);
    texts.push_back(std::move(*text));
  }
  out = std::move(texts);
  return {};
}

result<void> read_map(const key_info& key, const toml::node& value,
                      std::map<std::string, std::string>& out) {
  const auto* table = value.as_table();
  if (!table) return expected("a table such as { http = \"debug\" }", value);
  std::map<std::string, std::string> map;
  for (const auto& [name, item] : *table) {
    auto text = item.value_exact<std::string>();
    if (!text) return expected("a text for '" + std::string{name.str()} + "'", item);
    if (auto ok = choose(key, *text); !ok) return ok;
    map.emplace(name.str(), std::move(*text));
  }
  out = std::move(map);
  return {};
}

result<void> read_executors(const key_info& key, const toml::node& value, executor_map& out) {
  constexpr std::string_view like = "a table such as { default = { concurrency = 10 } }";
  const auto* table = value.as_table();
  if (!table) return expected(like, value);
  executor_map all;
  for (const auto& [name, item] : *table) {
    const auto* members = item.as_table();
    if (!members) return expected(like, item);
    executor_settings one;
    for (const auto& [member, node] : *members) {
      auto* to = member.str() == "concurrency"   ? &one.concurrency
                 : member.str() == "queue_limit" ? &one.queue_limit
                                                 : nullptr;
      const auto where = std::string{name.str()} + "." + std::string{member.str()};
      if (!to) return wrong(where + ": an executor has concurrency and queue_limit");
      if (auto ok = read_number(key, node, *to); !ok) return wrong(where + ": " + ok.error().why);
    }
    if (one.concurrency == 0)
      return wrong(std::string{name.str()} + ".concurrency: must be 1 or more");
    all.emplace(name.str(), one);
  }
  const jobs_settings defaults;
  for (const auto& [name, always] : defaults.executors)
    all.try_emplace(name, always);
  out = std::move(all);
  return {};
}

result<void> read_retry(const key_info& key, const toml::node& value, retry_policy& out) {
  const auto* table = value.as_table();
  if (!table) return expected("a table such as { \"0\" = 30, \"\" = \"24h\" }", value);
  retry_policy policy;
  policy.table.clear();
  for (const auto& [name, item] : *table) {
    auto text = name.str();
    usec delay{};
    if (auto ok = read_duration(key, item, delay); !ok)
      return wrong("entry \"" + std::string{text} + "\": " + ok.error().why);
    if (text.empty()) {
      policy.otherwise = delay;
      continue;
    }
    int retried = 0;
    auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), retried);
    if (ec != std::errc{} || end != text.data() + text.size() || retried < 0)
      return wrong("'" + std::string{text} + "' is neither a number of failures nor \"\"");
    policy.table[retried] = delay;
  }
  out = std::move(policy);
  return {};
}

} // namespace

result<void> assign(settings& s, const key_info& key, const toml::node& value) {
  return std::visit(
      overloaded{
          [&](std::string* out) { return read_text(key, value, *out); },
          [&](bool* out) -> result<void> {
            auto flag = value.value_exact<bool>();
            if (!flag) return expected("true or false", value);
            *out = *flag;
            return {};
          },
          [&](std::uint64_t* out) { return read_number(key, value, *out); },
          [&](usec* out) { return read_duration(key, value, *out); },
          [&](bytes* out) { return read_size(key, value, *out); },
          [&](std::vector<std::string>* out) { return read_texts(value, *out); },
          [&](std::map<std::string, std::string>* out) { return read_map(key, value, *out); },
          [&](executor_map* out) { return read_executors(key, value, *out); },
          [&](retry_policy* out) { return read_retry(key, value, *out); },
      },
      key.get(s));
}

result<caf_value> to_caf_value(const toml::node& value) {
  if (auto v = value.value_exact<bool>()) return caf_value{*v};
  if (auto v = value.value_exact<std::int64_t>()) return caf_value{*v};
  if (auto v = value.value_exact<double>()) return caf_value{*v};
  if (auto v = value.value_exact<std::string>()) return caf_value{*v};
  return expected("a text, a number, or true or false", value);
}

} // namespace lycosa::conf
