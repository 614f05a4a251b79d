#include "cluster/joining.hpp"

#include "storage/open.hpp"

#include "cluster/view.hpp"

namespace lycosa::cluster {

namespace {

constexpr std::uint32_t group_format = 1; ///< of what the facts and records mean

storage::open_options alone(const join_config& c) {
  storage::open_options o;
  o.dir = c.dir;
  o.shards = c.shards;
  o.map_size = c.map_size;
  o.sync = c.sync;
  return o;
}

/// Makes the founder's data the first state of the replicas.
result<void> adopt(storage::replica_set& set) {
  for (std::size_t i = 0; i <= set.shards(); ++i) {
    auto& store = i == set.shards() ? set.catalog() : set.shard(i);
    auto found = store.found();
    if (!found) return tl::unexpected(found.error());
    if (found->log.end().lsn != 0) continue; // adopted before the process was ended
    if (auto ok = store.adopt(); !ok) return ok;
  }
  return {};
}

} // namespace

result<storage::cluster_mark> identify(const join_config& c) {
  auto mark = storage::read_cluster_mark(c.dir);
  if (!mark) return tl::unexpected(mark.error());
  if (*mark) {
    if ((*mark)->cluster == c.cluster) return **mark;
    if ((*mark)->shards != 0)
      return fail(errc::incompatible, c.dir,
                  "it belongs to a node of the cluster " + (*mark)->cluster + ", not " + c.cluster
                      + " (cluster.name)");
  }
  auto id = storage::draw_node_id();
  if (!id) return tl::unexpected(id.error());
  storage::cluster_mark fresh{c.cluster, "", *id, 0};
  if (auto ok = storage::write_cluster_mark(c.dir, fresh); !ok) return tl::unexpected(ok.error());
  return fresh;
}

result<std::uint16_t> shards_to_found(const join_config& c) {
  if (!storage::holds_data(c.dir)) return c.shards == 0 ? storage::default_shards() : c.shards;
  auto opened = storage::open_data_dir(alone(c));
  if (!opened) return tl::unexpected(opened.error());
  return static_cast<std::uint16_t>((*opened)->shards.size());
}

coordination::cluster_facts facts_to_found(const storage::cluster_mark& mark,
                                           std::uint16_t shards) {
  return {hex(mark.node), group_format, shards};
}

result<std::shared_ptr<storage::replica_set>>
join(const join_config& c, storage::cluster_mark& mark, const coordination::cluster_facts& facts) {
  if (facts.format != group_format)
    return fail(errc::incompatible, "cluster",
                "it is of format " + std::to_string(facts.format) + ", this version knows "
                    + std::to_string(group_format));
  if (!mark.id.empty() && mark.id != facts.id)
    return fail(errc::incompatible, c.dir,
                "it belongs to a cluster of the same name that was there before (" + mark.id
                    + "), the coordination store now has " + facts.id
                    + ": give the node an empty directory, or restore the coordination store");
  const bool founder = facts.id == hex(mark.node);
  if (mark.shards == 0 && !founder && storage::holds_data(c.dir))
    return fail(errc::incompatible, c.dir,
                "it holds tasks that the cluster " + c.cluster
                    + " does not know: start the node that has the data first, and the others with "
                      "empty directories (`lycosa import` takes tasks over)");
  if (founder && mark.shards == 0 && !storage::holds_data(c.dir)) {
    auto o = alone(c);
    o.shards = facts.shards;
    if (auto made = storage::open_data_dir(o); !made) return tl::unexpected(made.error());
  }
  auto set = storage::replica_set::open({c.dir, facts.shards, c.map_size, c.sync});
  if (!set) return set;
  if (founder)
    if (auto ok = adopt(**set); !ok) return tl::unexpected(ok.error());
  if (mark.shards == 0) {
    mark.id = facts.id;
    mark.shards = facts.shards;
    if (auto ok = storage::write_cluster_mark(c.dir, mark); !ok) return tl::unexpected(ok.error());
  }
  return set;
}

} // namespace lycosa::cluster
