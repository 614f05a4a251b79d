#include "coordination/viewer.hpp"

#include "coordination/record_text.hpp"
#include <spdlog/spdlog.h>

namespace lycosa::coordination {

void viewer::replace(std::vector<etcd::key_value> all, std::uint64_t revision,
                     std::uint64_t asked_at) {
  // Sessions are there for the conditions of transactions alone.
  std::erase_if(all, [&](const auto& kv) { return kv.key.starts_with(keys_.sessions()); });
  auto changes = picture_.replace(std::move(all), revision, asked_at);
  if (complete_) return tell(std::move(changes));
  complete_ = true;
  if (!picture_.find(keys_.facts())) observer_.facts(std::nullopt);
  tell(std::move(changes));
  if (members_.empty()) observer_.members(members_);
}

void viewer::apply(std::vector<etcd::watch_event> events) {
  std::vector<picture::change> changes;
  for (auto& e : events) {
    if (e.kv.key.starts_with(keys_.sessions())) continue;
    std::optional<std::string> value;
    if (!e.erased) value = std::move(e.kv.value);
    if (picture_.put(e.kv.key, value, e.kv.mod_revision))
      changes.push_back({std::move(e.kv.key), std::move(value), e.kv.mod_revision});
  }
  tell(std::move(changes));
}

void viewer::put(const std::string& key, std::optional<std::string> value, std::uint64_t revision) {
  if (picture_.put(key, value, revision)) tell({{key, std::move(value), revision}});
}

void viewer::show(const std::string& key, std::optional<std::string> value,
                  std::uint64_t revision) {
  if (picture_.put(key, value, revision)) return tell({{key, std::move(value), revision}});
  const auto known = picture_.find(key);
  tell_record(known ? *known : picture::change{key, std::nullopt, revision});
}

void viewer::tell(std::vector<picture::change> changes) {
  for (const auto& c : changes)
    if (c.key == keys_.facts()) tell_facts(c);
  for (const auto& c : changes)
    if (c.key.starts_with(keys_.shards())) tell_record(c);
  for (const auto& c : changes)
    if (c.key.starts_with(keys_.notes()))
      observer_.note(std::string_view(c.key).substr(keys_.notes().size()), c.value);
  bool moved = false;
  for (const auto& c : changes)
    if (c.key.starts_with(keys_.members())) moved = take_member(c) || moved;
  if (moved) observer_.members(members_);
}

void viewer::tell_facts(const picture::change& c) {
  if (!c.value) return observer_.facts(std::nullopt);
  auto facts = parse_facts(*c.value);
  if (!facts) {
    spdlog::error("coordination: {}: {}", c.key, facts.error().text());
    return;
  }
  observer_.facts(std::move(*facts));
}

void viewer::tell_record(const picture::change& c) {
  const auto shard = std::string_view(c.key).substr(keys_.shards().size());
  if (!c.value) return observer_.record(shard, std::nullopt);
  auto record = parse_record(*c.value, c.revision);
  if (!record) {
    spdlog::error("coordination: {}: {}", c.key, record.error().text());
    return;
  }
  observer_.record(shard, std::move(*record));
}

/// True = the picture of the members has changed.
bool viewer::take_member(const picture::change& c) {
  const auto id = parse_id(std::string_view(c.key).substr(keys_.members().size()));
  if (!id) return false;
  const auto node = static_cast<cluster::node_id>(*id);
  if (!c.value) return members_.erase(node) > 0;
  auto read = parse_member(*c.value);
  if (read && read->node != node) read = fail(errc::corrupt, "member", "stands under another id");
  if (!read) {
    spdlog::error("coordination: {}: {}", c.key, read.error().text());
    return members_.erase(node) > 0;
  }
  members_[node] = std::move(*read);
  return true;
}

} // namespace lycosa::coordination
