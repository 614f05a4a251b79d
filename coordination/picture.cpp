#include "coordination/picture.hpp"

#include <algorithm>

namespace lycosa::coordination {

bool picture::put(const std::string& key, std::optional<std::string> value,
                  std::uint64_t revision) {
  newest_ = std::max(newest_, revision);
  auto& known = keys_[key];
  if (revision <= known.revision) return false;
  const bool differs = value || known.value;
  // What is gone is remembered until everything is read again, for the sake of what comes late.
  known = {std::move(value), revision};
  return differs;
}

std::optional<picture::change> picture::find(const std::string& key) const {
  const auto at = keys_.find(key);
  if (at == keys_.end() || !at->second.value) return std::nullopt;
  return change{key, at->second.value, at->second.revision};
}

std::vector<picture::change> picture::replace(std::vector<etcd::key_value> all,
                                              std::uint64_t revision, std::uint64_t asked_at) {
  const bool went_back = revision < asked_at;
  newest_ = went_back ? revision : std::max(newest_, revision);
  std::vector<change> changes;
  std::map<std::string, entry> next;
  for (auto& kv : all) {
    const auto known = keys_.find(kv.key);
    const bool same = known != keys_.end() && known->second.revision == kv.mod_revision
                      && known->second.value == kv.value;
    const bool newer = !went_back && known != keys_.end() && known->second.revision > revision;
    if (newer) continue; // kept below
    if (!same) changes.push_back({kv.key, kv.value, kv.mod_revision});
    next.emplace(std::move(kv.key), entry{std::move(kv.value), kv.mod_revision});
  }
  for (auto& [key, known] : keys_) {
    if (next.contains(key)) continue;
    if (!went_back && known.revision > revision)
      next.emplace(key, std::move(known));
    else if (known.value)
      changes.push_back({key, std::nullopt, revision});
  }
  keys_ = std::move(next);
  return changes;
}

} // namespace lycosa::coordination
