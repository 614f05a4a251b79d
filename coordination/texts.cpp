#include "coordination/texts.hpp"

#include "coordination/json_fields.hpp"

namespace lycosa::coordination {
namespace {

using nlohmann::json;

tl::unexpected<error> unreadable(const char* what, const char* why) {
  return fail(errc::corrupt, what, why);
}

} // namespace

std::string id_text(std::uint64_t id) {
  std::string text(16, '0');
  for (auto at = text.rbegin(); id != 0; ++at, id >>= 4)
    *at = "0123456789abcdef"[id & 15];
  return text;
}

std::optional<std::uint64_t> parse_id(std::string_view text) {
  if (text.size() != 16) return std::nullopt;
  std::uint64_t id = 0;
  for (const char c : text) {
    // One spelling an id: keys are compared as texts.
    if (c >= '0' && c <= '9')
      id = id << 4 | static_cast<std::uint64_t>(c - '0');
    else if (c >= 'a' && c <= 'f')
      id = id << 4 | static_cast<std::uint64_t>(c - 'a' + 10);
    else
      return std::nullopt;
  }
  return id;
}

std::string to_text(const member& m) {
  return dump({{"node", id_text(static_cast<std::uint64_t>(m.node))},
               {"session", id_text(static_cast<std::uint64_t>(m.session))},
               {"name", m.name},
               {"cluster_address", m.cluster_address},
               {"http_address", m.http_address},
               {"failure_domain", m.failure_domain},
               {"wire_version", m.wire_version},
               {"oldest_wire_version", m.oldest_wire_version}});
}

result<member> parse_member(std::string_view text) {
  constexpr auto what = "member";
  const auto j = parse_object(text);
  if (!j) return unreadable(what, "not a JSON object");
  const auto id_of = [&](const char* name) -> std::uint64_t {
    const auto* s = text_field(*j, name);
    return s ? parse_id(*s).value_or(0) : 0;
  };
  member m;
  m.node = static_cast<cluster::node_id>(id_of("node"));
  m.session = static_cast<cluster::session_id>(id_of("session"));
  if (m.node == cluster::node_id::none) return unreadable(what, "node is no id");
  if (m.session == cluster::session_id::none) return unreadable(what, "session is no id");
  for (const auto& [name, to] : {std::pair{"name", &m.name},
                                 {"cluster_address", &m.cluster_address},
                                 {"http_address", &m.http_address},
                                 {"failure_domain", &m.failure_domain}}) {
    const auto* s = text_field(*j, name);
    if (!s) return unreadable(what, "a text is missing");
    *to = *s;
  }
  const auto wire = number_field<std::uint32_t>(*j, "wire_version");
  const auto oldest = number_field<std::uint32_t>(*j, "oldest_wire_version");
  if (!wire || !oldest) return unreadable(what, "a version is missing");
  m.wire_version = *wire;
  m.oldest_wire_version = *oldest;
  return m;
}

std::string to_text(const cluster_facts& f) {
  return dump({{"id", f.id}, {"format", f.format}, {"shards", f.shards}});
}

result<cluster_facts> parse_facts(std::string_view text) {
  constexpr auto what = "facts";
  const auto j = parse_object(text);
  if (!j) return unreadable(what, "not a JSON object");
  const auto* id = text_field(*j, "id");
  const auto format = number_field<std::uint32_t>(*j, "format");
  const auto shards = number_field<std::uint16_t>(*j, "shards");
  if (!id || id->empty()) return unreadable(what, "id is missing");
  if (!format) return unreadable(what, "format is missing");
  if (!shards || *shards == 0) return unreadable(what, "shards is no number of shards");
  return cluster_facts{*id, *format, *shards};
}

} // namespace lycosa::coordination
