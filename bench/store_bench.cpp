// What a shard costs: synced commits of batches, look-ups and the scan that a restart makes.
//   insert/B    one commit of B new tasks of about 300 bytes into one shard
//   lifecycle/B look up, insert and commit B tasks, then settle them in a second commit
//   find/B      look up B tasks, all known, among STORE_BENCH_TASKS stored
//   load/B      load B neighbouring records
//   scan        read the queue of a project, 10,000 entries a call
// STORE_BENCH_DIR names where to put the data (default /tmp), STORE_BENCH_TASKS how many tasks are
// stored before the reads (default 1,000,000). items_per_second counts tasks.
#include "storage/open.hpp"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace {

using namespace lycosa;
using namespace lycosa::storage;

template <class T>
T must(result<T> r) {
  if (!r) throw std::runtime_error(r.error().text());
  return std::move(*r);
}
void must(result<void> r) {
  if (!r) throw std::runtime_error(r.error().text());
}

struct store {
  std::string path;
  std::unique_ptr<data_dir> dir;
  std::uint64_t next = 0;
  std::string fetch = R"({"method":"GET","headers":{"User-Agent":"bench"},"timeout":120})";
  std::string process = R"({"callback":"index_page"})";

  store() {
    const char* base = std::getenv("STORE_BENCH_DIR");
    path = std::string(base != nullptr ? base : "/tmp") + "/lycosa-bench-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no directory for the data");
    open_options o;
    o.dir = path;
    o.shards = 1;
    dir = must(open_data_dir(o));
  }
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  ~store() {
    dir.reset();
    std::filesystem::remove_all(path);
  }
  shard_store& shard() { return *dir->shards[0]; }

  static task_ref name(std::uint64_t n) {
    return {project_id{1}, hash_task("bench", std::to_string(n))};
  }

  /// Inserts a batch; with `keys` its keys are noted.
  void insert(std::size_t batch, std::vector<task_key>* keys = nullptr) {
    auto txn = must(shard().begin());
    std::vector<task_ref> refs;
    for (std::size_t i = 0; i < batch; ++i)
      refs.push_back(name(next + i));
    std::vector<std::optional<task_slot>> slots(batch);
    must(txn->find(refs, slots));
    for (std::size_t i = 0; i < batch; ++i) {
      const auto id = std::to_string(next + i);
      const auto url = "http://example.org/some/longer/path/page-" + id + ".html";
      task t;
      t.taskid = id;
      t.url = url;
      t.fetch = fetch;
      t.process = process;
      const auto key = must(txn->insert(refs[i], t, {{}, 0, next + i}));
      if (keys != nullptr) keys->push_back(key);
    }
    must(txn->commit(commit_class::growth));
    next += batch;
  }

  void settle(const std::vector<task_key>& keys) {
    auto txn = must(shard().begin());
    const auto first = next - keys.size();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      record_batch batch;
      (void)must(txn->load(keys[i], batch));
      auto t = batch.items[0].record;
      t.status = task_status::success;
      t.track = R"({"fetch":{"ok":true,"time":0.1},"process":{"ok":true,"time":0.2}})";
      must(txn->update(name(first + i), keys[i], task_status::active, t, {}));
    }
    must(txn->commit(commit_class::settle));
  }
};

store& filled() {
  static store s;
  if (s.next == 0) {
    const char* n = std::getenv("STORE_BENCH_TASKS");
    const auto tasks = n != nullptr ? std::strtoull(n, nullptr, 10) : 1'000'000ull;
    while (s.next < tasks)
      s.insert(16384);
  }
  return s;
}

void insert(benchmark::State& state) {
  store s;
  const auto batch = static_cast<std::size_t>(state.range(0));
  for (auto _ : state)
    s.insert(batch);
  state.SetItemsProcessed(static_cast<std::int64_t>(s.next));
}

void lifecycle(benchmark::State& state) {
  store s;
  const auto batch = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    std::vector<task_key> keys;
    s.insert(batch, &keys);
    s.settle(keys);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(s.next));
}

void find(benchmark::State& state) {
  auto& s = filled();
  const auto batch = static_cast<std::size_t>(state.range(0));
  std::uint64_t n = 0;
  std::vector<std::optional<task_slot>> slots(batch);
  for (auto _ : state) {
    std::vector<task_ref> refs;
    for (std::size_t i = 0; i < batch; ++i)
      refs.push_back(store::name(n++ % s.next));
    must(s.shard().find(refs, slots));
    benchmark::DoNotOptimize(slots.data());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(n));
}

void load(benchmark::State& state) {
  auto& s = filled();
  const auto batch = static_cast<std::uint64_t>(state.range(0));
  std::uint64_t n = 0;
  for (auto _ : state) {
    std::vector<task_key> keys;
    for (std::uint64_t i = 0; i < batch; ++i)
      keys.emplace_back(0, 1 + n++ % s.next);
    record_batch out;
    must(s.shard().load(keys, out, nullptr));
    benchmark::DoNotOptimize(out.items.data());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(n));
}

void scan(benchmark::State& state) {
  auto& s = filled();
  std::int64_t n = 0;
  for (auto _ : state) {
    std::optional<task_key> after;
    for (;;) {
      const auto part = must(s.shard().scan_active(project_id{1}, after, 10'000));
      if (part.empty()) break;
      n += static_cast<std::int64_t>(part.size());
      after = part.back().key;
    }
  }
  state.SetItemsProcessed(n);
}

BENCHMARK(insert)->Arg(100)->Arg(1024)->Arg(4096)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(lifecycle)->Arg(100)->Arg(1024)->Arg(4096)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(find)->Arg(100)->Arg(4096)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(load)->Arg(100)->Arg(1000)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(scan)->UseRealTime()->Unit(benchmark::kMillisecond);

} // namespace
