// Which of 1,000 nodes has which of 1,000,000 projects: what a look-up costs, how even the shares
// are, and how many projects move when a node leaves, joins, or a tenth of them is lost.
// And what planning the moves of many shards costs.
#include "core/cluster/balancer.hpp"
#include "core/cluster/placement.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

namespace lycosa::cluster {
namespace {

std::vector<placement::member> members(std::uint64_t count, double every_tenth = 1) {
  std::vector<placement::member> all;
  for (std::uint64_t n = 1; n <= count; ++n)
    all.push_back({node_id{n}, n % 10 == 0 ? every_tenth : 1});
  return all;
}

const std::vector<std::string>& projects() {
  static const auto names = [] {
    std::vector<std::string> all;
    for (int n = 0; n < 1'000'000; ++n)
      all.push_back("project_" + std::to_string(n));
    return all;
  }();
  return names;
}

std::vector<node_id> place_all(const placement& p) {
  std::vector<node_id> owners;
  owners.reserve(projects().size());
  for (const auto& name : projects())
    owners.push_back(p.owner(name));
  return owners;
}

void lookup(benchmark::State& state) {
  const placement p{members(static_cast<std::uint64_t>(state.range(0)))};
  std::size_t n = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(p.owner(projects()[n++ % projects().size()]));
}
BENCHMARK(lookup)->Arg(3)->Arg(100)->Arg(1000);

void lookup_of_different_weights(benchmark::State& state) {
  const placement p{members(static_cast<std::uint64_t>(state.range(0)), 2)};
  std::size_t n = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(p.owner(projects()[n++ % projects().size()]));
}
BENCHMARK(lookup_of_different_weights)->Arg(1000);

/// How much more than the mean the fullest node has.
void balance(benchmark::State& state) {
  const placement p{members(1000)};
  std::unordered_map<std::uint64_t, double> share;
  for (auto _ : state) {
    share.clear();
    for (const auto owner : place_all(p))
      ++share[static_cast<std::uint64_t>(owner)];
  }
  double most = 0, least = 1e9;
  for (const auto& [node, count] : share) {
    most = std::max(most, count);
    least = std::min(least, count);
  }
  state.counters["max/mean"] = most / 1000;
  state.counters["min/mean"] = least / 1000;
}
BENCHMARK(balance)->Iterations(1)->Unit(benchmark::kMillisecond);

/// Projects that change their node; `ideal` are those that have to.
void moves(benchmark::State& state, std::uint64_t before, std::uint64_t after) {
  std::size_t moved = 0;
  for (auto _ : state) {
    const auto was = place_all(placement{members(before)});
    const auto is = place_all(placement{members(after)});
    moved = 0;
    for (std::size_t i = 0; i < was.size(); ++i)
      moved += was[i] != is[i] ? 1 : 0;
  }
  const auto more = static_cast<double>(std::max(before, after));
  const auto fewer = static_cast<double>(std::min(before, after));
  state.counters["moved"] = static_cast<double>(moved);
  state.counters["ideal"] = 1e6 * (more - fewer) / more;
}
BENCHMARK_CAPTURE(moves, one_leaves, 1000, 999)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(moves, one_joins, 1000, 1001)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(moves, a_tenth_leaves, 1000, 900)->Iterations(1)->Unit(benchmark::kMillisecond);

/// One round of the balancer after a node of many has died.
void plan(benchmark::State& state) {
  const auto count = static_cast<std::uint64_t>(state.range(0));
  std::vector<node_status> nodes;
  for (std::uint64_t n = 1; n < count; ++n) // the last one is dead
    nodes.push_back({node_id{n}, "rack" + std::to_string(n % 10), 1, false});
  std::vector<shard_place> shards;
  for (std::uint32_t s = 0; s < static_cast<std::uint32_t>(state.range(1)); ++s) {
    shard_place p{s, {}, {}};
    for (std::uint64_t k = 0; k < 3; ++k)
      p.replicas.push_back(node_id{(s + k) % count + 1});
    p.in_sync = p.replicas;
    shards.push_back(p);
  }
  for (auto _ : state)
    benchmark::DoNotOptimize(plan_moves(nodes, shards, {3, 8, 8}));
}
BENCHMARK(plan)->Args({100, 400})->Args({100, 4000})->Unit(benchmark::kMillisecond);

} // namespace
} // namespace lycosa::cluster
