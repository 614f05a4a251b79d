#pragma once

#include "coordination/etcd_api.hpp"
#include "coordination/keys.hpp"
#include "coordination/picture.hpp"
#include "coordination/store.hpp"

#include <map>
#include <string>
#include <vector>

namespace lycosa::coordination {

/// Tells the observer what changes in the store, in its terms. What cannot be read is logged and
/// left out: a record stays what it was for the node, a member is not there.
class viewer {
public:
  viewer(const keys& at, observer& watcher) : keys_(at), observer_(watcher) {}

  void replace(std::vector<etcd::key_value> all, std::uint64_t revision, std::uint64_t asked_at);
  void apply(std::vector<etcd::watch_event> events);
  void put(const std::string& key, std::optional<std::string> value, std::uint64_t revision);
  /// The same, and tells of a shard's record even when it is known.
  void show(const std::string& key, std::optional<std::string> value, std::uint64_t revision);

  [[nodiscard]] std::uint64_t newest() const { return picture_.newest(); }

private:
  void tell(std::vector<picture::change> changes);
  void tell_facts(const picture::change& c);
  void tell_record(const picture::change& c);
  bool take_member(const picture::change& c);

  const keys& keys_;
  observer& observer_;
  picture picture_;
  std::map<cluster::node_id, member> members_;
  bool complete_ = false; ///< everything has been read once
};

} // namespace lycosa::coordination
