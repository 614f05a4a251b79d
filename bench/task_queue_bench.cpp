// What the queue of one project costs: put, lease and settle with 1k to 1M others queued, and the
// heap bytes of a queued entry (the allocator's own figure, so its overhead is in it).
#include "core/task_queue.hpp"

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cstddef>
#include <cstdint>

namespace lycosa {
namespace {

constexpr instant now{wall_time{std::chrono::seconds{1'700'000'000}},
                      mono_time{std::chrono::seconds{1}}};

task_key key(std::uint64_t n) {
  return {1, n};
}

queue_position position(std::uint64_t n) {
  return {now.wall, static_cast<std::int32_t>((n * 2'654'435'761U >> 7U) % 10), n};
}

void fill(task_queue& q, std::uint64_t n) {
  for (std::uint64_t i = 1; i <= n; ++i)
    q.put(key(i), position(i), now.wall);
}

void put(benchmark::State& state) {
  const auto n = static_cast<std::uint64_t>(state.range(0));
  for (auto _ : state) {
    task_queue q;
    fill(q, n);
    benchmark::DoNotOptimize(q.size());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(put)->Arg(1'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

/// A task's whole way through a queue that stays at its size.
void put_lease_settle(benchmark::State& state) {
  task_queue q;
  auto n = static_cast<std::uint64_t>(state.range(0));
  fill(q, n);
  for (auto _ : state) {
    ++n;
    q.put(key(n), position(n), now.wall);
    const auto l = q.lease(now, std::chrono::minutes{10});
    q.begin_settle(l->key);
    q.settled(l->key);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(put_lease_settle)->Arg(0)->Arg(1'000)->Arg(100'000)->Arg(1'000'000);

/// A queued task is restarted at another priority.
void reposition(benchmark::State& state) {
  task_queue q;
  const auto size = static_cast<std::uint64_t>(state.range(0));
  fill(q, size);
  std::uint64_t i = 0;
  for (auto _ : state) {
    i = (i * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U);
    q.reposition(key(1 + (i >> 20U) % size), position(i), now.wall);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(reposition)->Arg(1'000)->Arg(1'000'000);

std::size_t heap_bytes() {
  const auto m = mallinfo2();
  return m.uordblks + m.hblkhd;
}

void bytes_per_entry(benchmark::State& state) {
  const auto n = static_cast<std::uint64_t>(state.range(0));
  double bytes = 0;
  for (auto _ : state) {
    const auto before = heap_bytes();
    task_queue q;
    fill(q, n);
    bytes = static_cast<double>(heap_bytes() - before) / static_cast<double>(n);
  }
  state.counters["bytes"] = bytes;
}
BENCHMARK(bytes_per_entry)
    ->Arg(10'000)
    ->Arg(1'000'000)
    ->Arg(10'000'000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

} // namespace
} // namespace lycosa
