// What asking the limiter costs: with tokens there, without, and for the next moment.
#include "core/token_bucket.hpp"

#include <benchmark/benchmark.h>

namespace lycosa {
namespace {

constexpr mono_time start{std::chrono::seconds{1}};

void take_some(benchmark::State& state) {
  token_bucket b{1e6, 1e6, start};
  auto now = start;
  for (auto _ : state)
    benchmark::DoNotOptimize(b.take(100, now += usec{100}));
}
BENCHMARK(take_some);

void take_none(benchmark::State& state) {
  token_bucket b{0.1, 0.5, start};
  auto now = start;
  for (auto _ : state)
    benchmark::DoNotOptimize(b.take(100, now += usec{1}));
}
BENCHMARK(take_none);

void next_token(benchmark::State& state) {
  token_bucket b{0.1, 1, start};
  b.take(1, start);
  auto now = start;
  for (auto _ : state)
    benchmark::DoNotOptimize(b.next_token_at(now += usec{1}));
}
BENCHMARK(next_token);

} // namespace
} // namespace lycosa
