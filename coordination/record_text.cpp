#include "coordination/record_text.hpp"

#include "coordination/json_fields.hpp"
#include "coordination/texts.hpp"

#include <algorithm>

namespace lycosa::coordination {
namespace {

using cluster::node_id;
using cluster::session_id;
using nlohmann::json;

constexpr std::uint32_t format = 1;
constexpr std::size_t fields = 7;

tl::unexpected<error> unreadable(std::string why) {
  return fail(errc::corrupt, "shard record", std::move(why));
}

template <class Id>
json id_json(Id id) {
  if (id == Id::none) return nullptr;
  return id_text(static_cast<std::uint64_t>(id));
}

json nodes_json(const std::vector<node_id>& nodes) {
  auto j = json::array();
  for (const auto n : nodes)
    j.push_back(id_json(n));
  return j;
}

/// An id other than none.
template <class Id>
std::optional<Id> read_id(const json& j) {
  const auto* s = j.get_ptr<const std::string*>();
  const auto id = s ? parse_id(*s) : std::nullopt;
  if (!id || *id == 0) return std::nullopt;
  return static_cast<Id>(*id);
}

/// The same, or null for none.
template <class Id>
std::optional<Id> read_id_or_none(const json& object, const char* name) {
  const auto* j = field(object, name);
  if (!j) return std::nullopt;
  if (j->is_null()) return Id::none;
  return read_id<Id>(*j);
}

/// Ids of which each is there once.
std::optional<std::vector<node_id>> read_nodes(const json& object, const char* name) {
  const auto* j = field(object, name);
  if (!j || !j->is_array()) return std::nullopt;
  std::vector<node_id> nodes;
  for (const auto& item : *j) {
    const auto id = read_id<node_id>(item);
    if (!id || std::find(nodes.begin(), nodes.end(), *id) != nodes.end()) return std::nullopt;
    nodes.push_back(*id);
  }
  return nodes;
}

} // namespace

std::string to_text(const cluster::shard_record& r) {
  return dump({{"format", format},
               {"epoch", r.epoch},
               {"leader", id_json(r.leader)},
               {"leader_session", id_json(r.leader_session)},
               {"in_sync", nodes_json(r.in_sync)},
               {"replicas", nodes_json(r.replicas)},
               {"min_in_sync", r.min_in_sync}});
}

result<cluster::shard_record> parse_record(std::string_view text, std::uint64_t version) {
  const auto j = parse_object(text);
  if (!j) return unreadable("not a JSON object");
  const auto written = number_field<std::uint32_t>(*j, "format");
  if (!written) return unreadable("format is missing");
  if (*written != format)
    return fail(errc::incompatible, "shard record",
                "written in format " + std::to_string(*written) + ", this version knows "
                    + std::to_string(format));
  if (j->size() != fields) return unreadable("fields missing, or some that are not known");

  const auto epoch = number_field<cluster::epoch_number>(*j, "epoch");
  const auto leader = read_id_or_none<node_id>(*j, "leader");
  const auto session = read_id_or_none<session_id>(*j, "leader_session");
  auto in_sync = read_nodes(*j, "in_sync");
  auto replicas = read_nodes(*j, "replicas");
  const auto least = number_field<std::uint32_t>(*j, "min_in_sync");
  if (!epoch) return unreadable("epoch is no number");
  if (!leader) return unreadable("leader is no id");
  if (!session) return unreadable("leader_session is no id");
  if (!in_sync || in_sync->empty() || !std::is_sorted(in_sync->begin(), in_sync->end()))
    return unreadable("in_sync is no sorted list of ids");
  if (!replicas) return unreadable("replicas is no list of ids");
  if (!least || *least == 0) return unreadable("min_in_sync is no number of nodes");

  cluster::shard_record r;
  r.epoch = *epoch;
  r.leader = *leader;
  r.leader_session = *session;
  r.in_sync = std::move(*in_sync);
  r.replicas = std::move(*replicas);
  r.min_in_sync = *least;
  r.version = version;
  if (r.leader != node_id::none && !r.is_in_sync(r.leader))
    return unreadable("the leader is not in sync");
  if ((r.leader == node_id::none) != (r.leader_session == session_id::none))
    return unreadable("a leader without a session, or the other way round");
  return r;
}

} // namespace lycosa::coordination
