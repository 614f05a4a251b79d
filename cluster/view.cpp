#include "cluster/view.hpp"

#include "coordination/texts.hpp"
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace lycosa::cluster {

namespace {

constexpr std::string_view drain_prefix = "drain/";

node_id parse_hex(std::string_view text) {
  std::uint64_t n = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n, 16);
  return ec == std::errc{} && end == text.data() + text.size() ? node_id{n} : node_id::none;
}

} // namespace

std::string hex(node_id n) {
  return coordination::id_text(static_cast<std::uint64_t>(n));
}

std::string drain_note(node_id n) {
  return std::string(drain_prefix) + hex(n);
}

void view::members_seen(std::map<node_id, coordination::member> all, mono_time now) {
  for (const auto& [n, m] : members)
    if (!all.contains(n)) gone.emplace(n, now);
  for (const auto& [n, m] : all) {
    gone.erase(n);
    names[n] = m.name;
  }
  members = std::move(all);
  // Those that were away before this node came: they get as much time from now on.
  for (const auto& [name_, r] : records)
    for (const auto n : r.replicas)
      if (!members.contains(n)) gone.emplace(n, now);
}

void view::record_seen(const std::string& shard, const std::optional<shard_record>& is) {
  if (is)
    records[shard] = *is;
  else
    records.erase(shard);
}

void view::note_seen(const std::string& key, const std::optional<std::string>& value) {
  if (value)
    notes[key] = *value;
  else
    notes.erase(key);
}

bool view::draining(node_id n) const {
  return notes.contains(drain_note(n));
}

node_id view::wished_leader() const {
  const auto found = notes.find(leader_note);
  return found == notes.end() ? node_id::none : parse_hex(found->second);
}

node_id view::find(const std::string& node) const {
  for (const auto& [n, m] : members)
    if (m.name == node) return n;
  for (const auto& [n, name_] : names)
    if (name_ == node) return n;
  const auto n = node.size() == 16 ? parse_hex(node) : node_id::none;
  const bool known = std::any_of(records.begin(), records.end(), [&](const auto& r) {
    return r.second.is_replica(n) || r.second.is_in_sync(n);
  });
  return members.contains(n) || known ? n : node_id::none;
}

std::string view::name_of(node_id n) const {
  const auto found = names.find(n);
  return found == names.end() ? hex(n) : found->second;
}

node_id view::active() const {
  if (records.empty()) return node_id::none;
  const auto first = records.begin()->second.leader;
  const bool all = std::all_of(records.begin(), records.end(),
                               [&](const auto& r) { return r.second.leader == first; });
  return all && members.contains(first) ? first : node_id::none;
}

std::map<node_id, session_id> view::sessions() const {
  std::map<node_id, session_id> out;
  for (const auto& [n, m] : members)
    out[n] = m.session;
  return out;
}

std::map<std::string, shard_record> view::plan(group_goal goal, usec replace_after,
                                               mono_time now) const {
  std::vector<group_candidate> living;
  for (const auto& [n, m] : members)
    living.push_back({n, m.failure_domain, draining(n)});
  std::set<node_id> missed;
  for (const auto& [n, since] : gone)
    if (now - since < replace_after && !draining(n)) missed.insert(n);
  goal.leader = wished_leader();
  return plan_group(records, self, living, missed, goal);
}

std::string to_json(const view& v, const std::vector<actors::replica_status>& here,
                    const std::function<std::pair<bool, std::string>(node_id)>& link) {
  using json = nlohmann::ordered_json;
  const auto named = [&](node_id n) { return n == node_id::none ? json() : json(v.name_of(n)); };
  const auto list = [&](const std::vector<node_id>& nodes) {
    auto out = json::array();
    for (const auto n : nodes)
      out.push_back(v.name_of(n));
    return out;
  };
  json out;
  out["mode"] = "etcd";
  out["cluster"] = v.name;
  out["id"] = v.facts ? json(v.facts->id) : json();
  out["self"] = v.name_of(v.self);
  out["active"] = named(v.active());
  out["wished_leader"] = named(v.wished_leader());
  auto& members = out["members"] = json::array();
  for (const auto& [n, m] : v.members) {
    const auto [up, trouble] = link(n);
    json one{{"name", m.name},
             {"node", hex(n)},
             {"http", m.http_address},
             {"address", m.cluster_address},
             {"failure_domain", m.failure_domain},
             {"wire_version", m.wire_version},
             {"linked", n == v.self || up},
             {"draining", v.draining(n)}};
    if (!trouble.empty()) one["trouble"] = trouble;
    members.push_back(std::move(one));
  }
  for (const auto& [n, since] : v.gone)
    members.push_back(
        {{"name", v.name_of(n)}, {"node", hex(n)}, {"gone", true}, {"draining", v.draining(n)}});
  auto& shards = out["shards"] = json::array();
  for (const auto& [name, r] : v.records) {
    json one{{"name", name},
             {"epoch", r.epoch},
             {"leader", named(r.leader)},
             {"in_sync", list(r.in_sync)},
             {"replicas", list(r.replicas)},
             {"min_in_sync", r.min_in_sync}};
    const auto found =
        std::find_if(here.begin(), here.end(), [&](const auto& s) { return s.name == name; });
    if (found != here.end())
      one["here"] = {{"leads", found->leads},
                     {"whole", found->whole},
                     {"lsn", found->end.lsn},
                     {"log_bytes", found->log_bytes}};
    shards.push_back(std::move(one));
  }
  return out.dump();
}

} // namespace lycosa::cluster
