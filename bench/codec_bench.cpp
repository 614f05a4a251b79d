// What it costs to turn tasks into bytes and back: as stored records, and as clients' JSON.
//   encode, decode      one stored record (storage/codec) carrying `size` bytes of opaque JSON
//   load                many records into a batch, copied and decoded, as a lease does
//   read_list, read_report_list   a request of 1000 tasks or status packs into records
//   write_leased        the answer that hands out one task
// items_per_second counts tasks, bytes_per_second the bytes on disk or on the wire.
#include "gateway/items.hpp"
#include "gateway/task_json.hpp"
#include "storage/codec.hpp"

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace lycosa;

constexpr std::size_t list_size = 1000;
/// As a node that serves. Else `load` measures little but the kernel zeroing pages.
[[maybe_unused]] const bool keeps_freed_memory =
    ::mallopt(M_TRIM_THRESHOLD, 32 << 20) != 0 && ::mallopt(M_MMAP_THRESHOLD, 8 << 20) != 0;
const std::string lease_text = to_text(lease_token{project_id{1}, {}, 7, 1, 3});

/// A task with about so many bytes of opaque JSON.
struct sample {
  explicit sample(std::size_t size)
      : process(R"({"callback":"index_page","save":")" + std::string(size, 'x') + "\"}") {
    record.project = "bench";
    record.taskid = "1733184000000000000-123456";
    record.url = "http://example.org/some/longer/path/page-123456.html";
    record.sched.priority = 1;
    record.fetch = R"({"method":"GET","headers":{"User-Agent":"bench"},"timeout":120})";
    record.process = process;
  }
  std::string process;
  task record;
};

void set_counts(benchmark::State& state, std::size_t tasks, std::size_t bytes) {
  const auto rounds = static_cast<std::int64_t>(state.iterations());
  state.SetItemsProcessed(rounds * static_cast<std::int64_t>(tasks));
  state.SetBytesProcessed(rounds * static_cast<std::int64_t>(bytes));
}

std::vector<std::uint64_t> encoded(storage::task_encoder& encoder, const task& record) {
  encoder.encode({project_id{1}, hash_task("bench", record.taskid)}, record);
  std::vector<std::uint64_t> words(encoder.size() / 8 + 1);
  encoder.write(reinterpret_cast<std::byte*>(words.data()));
  return words;
}

void encode(benchmark::State& state) {
  const sample s{static_cast<std::size_t>(state.range(0))};
  const storage::task_ref ref{project_id{1}, hash_task("bench", s.record.taskid)};
  storage::task_encoder encoder;
  auto to = encoded(encoder, s.record);
  const auto size = encoder.size();
  for (auto _ : state) {
    encoder.encode(ref, s.record);
    encoder.write(reinterpret_cast<std::byte*>(to.data()));
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  set_counts(state, 1, size);
}
BENCHMARK(encode)->ArgName("size")->Arg(0)->Arg(200)->Arg(4000);

void decode(benchmark::State& state) {
  const sample s{static_cast<std::size_t>(state.range(0))};
  storage::task_encoder encoder;
  const auto words = encoded(encoder, s.record);
  const std::span bytes{reinterpret_cast<const std::byte*>(words.data()), encoder.size()};
  for (auto _ : state) {
    auto got = storage::decode_task(bytes);
    if (!got) throw std::runtime_error(got.error().text());
    benchmark::DoNotOptimize(got->record.taskid.data());
  }
  set_counts(state, 1, bytes.size());
}
BENCHMARK(decode)->ArgName("size")->Arg(0)->Arg(200)->Arg(4000);

void load(benchmark::State& state) {
  const sample s{static_cast<std::size_t>(state.range(0))};
  storage::task_encoder encoder;
  const auto words = encoded(encoder, s.record);
  const std::span bytes{reinterpret_cast<const std::byte*>(words.data()), encoder.size()};
  for (auto _ : state) {
    storage::record_batch batch;
    for (std::size_t i = 0; i < list_size; ++i)
      if (auto ok = storage::decode_into(batch, task_key{0, i}, bytes); !ok)
        throw std::runtime_error(ok.error().text());
    benchmark::DoNotOptimize(batch);
  }
  set_counts(state, list_size, list_size * bytes.size());
}
BENCHMARK(load)->ArgName("size")->Arg(0)->Arg(200)->Arg(4000);

/// A request of many: each item is `item` of its number.
template <class Item>
std::string list_of(Item item) {
  std::string body = "[";
  for (std::size_t i = 0; i < list_size; ++i) {
    if (i > 0) body += ',';
    body += item(std::to_string(i));
  }
  return body + "]";
}

/// Reads a body the way the gateway does; `read` turns one item into what the node is given.
template <class Read>
void read_body(benchmark::State& state, const std::string& body,
               std::span<const std::string_view> paths, Read read) {
  for (auto _ : state) {
    gateway::text_arena arena;
    gateway::outline item(arena, paths);
    std::size_t taken = 0;
    auto form = gateway::walk_items(
        body, false, item, list_size,
        [&](std::size_t, const gateway::outline& o) {
          if (auto got = read(o, arena)) ++taken;
        },
        [](std::size_t, const std::string&) {});
    if (!form || taken != list_size) throw std::runtime_error("an item was refused");
  }
  set_counts(state, list_size, body.size());
}

void read_list(benchmark::State& state) {
  const std::string filler(static_cast<std::size_t>(state.range(0)), 'x');
  const auto body = list_of([&](const std::string& id) {
    return R"({"project":"bench","taskid":"1733184000000000000-)" + id
           + R"(","url":"http://example.com/page/)" + id
           + R"(","schedule":{"priority":1},"fetch":{"method":"GET"},)"
           + R"("process":{"callback":"index_page","save":")" + filler + R"("}})";
  });
  read_body(state, body, gateway::task_paths(),
            [limits = gateway::limits_config{}](const auto& o, auto& arena) {
              return gateway::read_task(o, arena, limits);
            });
}
BENCHMARK(read_list)->ArgName("size")->Arg(0)->Arg(200)->Arg(4000);

void read_report_list(benchmark::State& state) {
  const auto body = list_of([&](const std::string& id) {
    return R"({"project":"bench","taskid":"1733184000000000000-)" + id + R"(","lease":")"
           + lease_text + R"(","track":{"fetch":{"ok":true,"time":0.12,"status_code":200},)"
           + R"("process":{"ok":true,"time":0.01}}})";
  });
  read_body(state, body, gateway::report_paths(),
            [limits = gateway::limits_config{}](const auto& o, auto& arena) {
              return gateway::read_report(o, arena, limits);
            });
}
BENCHMARK(read_report_list);

void write_leased(benchmark::State& state) {
  const sample s{static_cast<std::size_t>(state.range(0))};
  actors::leased_task leased;
  leased.record = s.record;
  leased.lease = lease_text;
  std::string to;
  for (auto _ : state) {
    to.clear();
    gateway::append_leased(to, leased);
    benchmark::DoNotOptimize(to.data());
  }
  set_counts(state, 1, to.size());
}
BENCHMARK(write_leased)->ArgName("size")->Arg(0)->Arg(200)->Arg(4000);

} // namespace
