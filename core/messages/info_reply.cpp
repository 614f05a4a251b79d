#include "core/messages/info_reply.hpp"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>

namespace lycosa {

namespace {

using nlohmann::json;

constexpr double most_seconds = 1e9;

tl::unexpected<error> bad(const char* field, std::string why) {
  return fail(errc::invalid_argument, std::string{"track.save."} + field, std::move(why));
}

std::optional<usec> seconds_of(const json& value) {
  if (!value.is_number()) return std::nullopt;
  const auto seconds = value.get<double>();
  if (!std::isfinite(seconds) || seconds < 0 || seconds > most_seconds) return std::nullopt;
  return std::chrono::duration_cast<usec>(std::chrono::duration<double>{seconds});
}

result<retry_policy> retry_of(const json& table) {
  if (!table.is_object()) return bad("retry_delay", "not an object");
  retry_policy policy;
  if (!table.empty()) policy.table.clear();
  for (const auto& [key, value] : table.items()) {
    const auto delay = seconds_of(value);
    if (!delay)
      return bad("retry_delay", "the delay of \"" + key + "\" is not a number of seconds");
    if (key.empty()) {
      policy.otherwise = *delay;
      continue;
    }
    int retried = 0;
    const auto [end, ec] = std::from_chars(key.data(), key.data() + key.size(), retried);
    if (ec != std::errc{} || end != key.data() + key.size() || retried < 0)
      return bad("retry_delay", "\"" + key + "\" is not a number of retries");
    policy.table[retried] = *delay;
  }
  return policy;
}

} // namespace

result<project_patch> read_info_reply(std::string_view track) {
  project_patch patch;
  if (track.empty()) return patch;
  const auto whole = json::parse(track, nullptr, false);
  if (whole.is_discarded()) return fail(errc::invalid_argument, "track", "not JSON");
  if (!whole.is_object() || !whole.contains("save")) return patch;
  const auto& save = whole["save"];
  if (save.is_null()) return patch;
  if (!save.is_object()) return fail(errc::invalid_argument, "track.save", "not an object");
  if (const auto tick = save.find("min_tick"); tick != save.end() && !tick->is_null()) {
    patch.min_tick = seconds_of(*tick);
    if (!patch.min_tick) return bad("min_tick", "not a number of seconds");
  }
  if (const auto retry = save.find("retry_delay"); retry != save.end() && !retry->is_null()) {
    auto policy = retry_of(*retry);
    if (!policy) return tl::unexpected(policy.error());
    if (!retry->empty()) patch.retry = std::move(*policy);
  }
  if (const auto config = save.find("crawl_config"); config != save.end() && !config->is_null()) {
    if (!config->is_object()) return bad("crawl_config", "not an object");
    patch.crawl_config = config->empty() ? std::string{} : config->dump();
  }
  return patch;
}

} // namespace lycosa
