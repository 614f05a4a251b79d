#include "coordination/etcd_api.hpp"

#include "coordination/json_fields.hpp"
#include <openssl/evp.h>

#include <charconv>

namespace lycosa::coordination::etcd {
namespace {

using nlohmann::json;

tl::unexpected<error> unreadable(const char* why) {
  return fail(errc::incompatible, "etcd's answer", why);
}

/// The first key behind all those that begin so.
std::string behind(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff')
    end.pop_back();
  if (end.empty()) return std::string(1, '\0'); // etcd's sign for: to the last key
  end.back() = static_cast<char>(end.back() + 1);
  return end;
}

/// Bytes in base64; left out = none.
std::optional<std::string> bytes(const json& object, const char* name) {
  const auto* j = field(object, name);
  if (!j) return std::string{};
  const auto* text = j->get_ptr<const std::string*>();
  return text ? from_base64(*text) : std::nullopt;
}

bool flag(const json& object, const char* name) {
  const auto* j = field(object, name);
  return j && j->is_boolean() && j->get<bool>();
}

std::optional<key_value> read_kv(const json& j) {
  auto key = bytes(j, "key");
  auto value = bytes(j, "value");
  const auto revision = number(j, "mod_revision");
  const auto lease = number(j, "lease");
  if (!key || key->empty() || !value || !revision || !lease) return std::nullopt;
  return key_value{std::move(*key), std::move(*value), *revision, *lease};
}

/// The list of that name; one that is left out is empty. None = it is no list.
const json* list(const json& object, const char* name) {
  static const json empty = json::array();
  const auto* j = field(object, name);
  if (!j) return &empty;
  return j->is_array() ? j : nullptr;
}

bool read_kvs(const json& object, std::vector<key_value>& into) {
  const auto* kvs = list(object, "kvs");
  if (!kvs) return false;
  for (const auto& item : *kvs) {
    auto kv = read_kv(item);
    if (!kv) return false;
    into.push_back(std::move(*kv));
  }
  return true;
}

} // namespace

std::string to_base64(std::string_view raw) {
  std::string text((raw.size() + 2) / 3 * 4 + 1, '\0'); // OpenSSL puts a zero behind it
  const auto n = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                 reinterpret_cast<const unsigned char*>(raw.data()),
                                 static_cast<int>(raw.size()));
  text.resize(static_cast<std::size_t>(n));
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=')
    ++padding;
  // OpenSSL would take white space and padding in the middle.
  const auto body = text.substr(0, text.size() - padding);
  if (body.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
      != std::string_view::npos)
    return std::nullopt;
  std::string raw(text.size() / 4 * 3, '\0');
  const auto n = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(raw.data()),
                                 reinterpret_cast<const unsigned char*>(text.data()),
                                 static_cast<int>(text.size()));
  if (n < 0) return std::nullopt;
  raw.resize(static_cast<std::size_t>(n) - padding);
  return raw;
}

json get(std::string_view key) {
  return {{"key", to_base64(key)}};
}

json get_prefix(std::string_view prefix, std::string_view from, std::uint64_t revision,
                std::uint64_t limit) {
  return {{"key", to_base64(from)},
          {"range_end", to_base64(behind(prefix))},
          {"revision", std::to_string(revision)},
          {"limit", std::to_string(limit)}};
}

json put(std::string_view key, std::string_view value, std::uint64_t lease) {
  return {{"key", to_base64(key)}, {"value", to_base64(value)}, {"lease", std::to_string(lease)}};
}

json erase(std::string_view key) {
  return {{"key", to_base64(key)}};
}

json watch_prefix(std::string_view prefix, std::uint64_t from_revision) {
  return {{"create_request",
           {{"key", to_base64(prefix)},
            {"range_end", to_base64(behind(prefix))},
            {"start_revision", std::to_string(from_revision)}}}};
}

json if_absent(std::string_view key) {
  return {
      {"target", "CREATE"}, {"result", "EQUAL"}, {"key", to_base64(key)}, {"create_revision", "0"}};
}

json if_unchanged(std::string_view key, std::uint64_t mod_revision) {
  return {{"target", "MOD"},
          {"result", "EQUAL"},
          {"key", to_base64(key)},
          {"mod_revision", std::to_string(mod_revision)}};
}

json then_put(json put) {
  auto j = json::object();
  j["request_put"] = std::move(put);
  return j;
}

json then_get(json get) {
  auto j = json::object();
  j["request_range"] = std::move(get);
  return j;
}

json then_all(std::vector<json> of) {
  auto j = json::object();
  j["request_txn"] = transaction({}, std::move(of), {});
  return j;
}

json transaction(std::vector<json> conditions, std::vector<json> then,
                 std::vector<json> otherwise) {
  auto j = json::object();
  j["compare"] = std::move(conditions);
  j["success"] = std::move(then);
  j["failure"] = std::move(otherwise);
  return j;
}

json grant(std::chrono::seconds ttl) {
  return {{"TTL", std::to_string(ttl.count())}};
}

json lease(std::uint64_t id) {
  return {{"ID", std::to_string(id)}};
}

std::optional<std::uint64_t> number(const json& object, const char* name) {
  const auto* j = field(object, name);
  if (!j) return 0;
  if (j->is_number_unsigned()) return j->get<std::uint64_t>();
  const auto* text = j->get_ptr<const std::string*>();
  if (!text) return std::nullopt;
  std::uint64_t n = 0;
  const auto* end = text->data() + text->size();
  const auto [at, ec] = std::from_chars(text->data(), end, n);
  if (ec != std::errc{} || at != end) return std::nullopt;
  return n;
}

std::uint64_t revision(const json& answer) {
  const auto* header = field(answer, "header");
  return header ? number(*header, "revision").value_or(0) : 0;
}

result<range_answer> read_range(const json& answer) {
  range_answer r;
  if (!read_kvs(answer, r.kvs)) return unreadable("keys cannot be read");
  r.more = flag(answer, "more");
  return r;
}

result<txn_answer> read_txn(const json& answer) {
  txn_answer t;
  t.succeeded = flag(answer, "succeeded");
  const auto* responses = list(answer, "responses");
  if (!responses) return unreadable("a transaction's responses cannot be read");
  for (const auto& response : *responses)
    if (const auto* range = field(response, "response_range"))
      if (!read_kvs(*range, t.got)) return unreadable("keys cannot be read");
  return t;
}

result<watch_answer> read_watch(const json& answer) {
  watch_answer w;
  w.cancelled = flag(answer, "canceled");
  if (const auto* why = text_field(answer, "cancel_reason")) w.why = *why;
  if (w.cancelled && w.why.empty()) w.why = "what is asked for is compacted";
  const auto* events = list(answer, "events");
  if (!events) return unreadable("a watch's events cannot be read");
  for (const auto& item : *events) {
    watch_event e;
    const auto* type = text_field(item, "type");
    e.erased = type && *type == "DELETE";
    const auto* kv = field(item, "kv");
    auto read = kv ? read_kv(*kv) : std::nullopt;
    if (!read) return unreadable("an event cannot be read");
    e.kv = std::move(*read);
    w.events.push_back(std::move(e));
  }
  return w;
}

} // namespace lycosa::coordination::etcd
