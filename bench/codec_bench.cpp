// What a task costs on its way in and out, without the store: the record on disk (storage/codec)
// and the JSON of the HTTP interface (gateway/task_json).
//   encode_record/B  a task with B bytes of opaque JSON to its stored bytes
//   decode_record/B  and back, as a read of one record does
//   load_record/B    as a lease does: the bytes are copied into a batch and decoded there
//   read_json/B      a list of 1000 tasks, as a client submits it, to tasks
//   write_json/B     1000 leased tasks to the answer's text
//   read_reports     a list of 1000 reports with their leases
// items_per_second counts tasks, bytes_per_second the record or the text.
#include "gateway/items.hpp"
#include "gateway/task_json.hpp"
#include "storage/codec.hpp"

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace lycosa;

constexpr std::size_t list_length = 1000;

/// As a node that serves: what is freed is kept. Else `load_record` measures little but the kernel
/// zeroing pages.
[[maybe_unused]] const bool keeps_freed_memory =
    ::mallopt(M_TRIM_THRESHOLD, 32 << 20) != 0 && ::mallopt(M_MMAP_THRESHOLD, 8 << 20) != 0;

/// A task as a crawl has them, with about `opaque` bytes in `process`.
struct sample {
  std::string process;
  task record;

  explicit sample(std::int64_t opaque)
      : process(R"({"callback":"index_page","save":")"
                + std::string(static_cast<std::size_t>(opaque), 'x') + R"("})") {
    record.project = "bench";
    record.taskid = "0123456789abcdef0123456789abcdef";
    record.url = "http://example.org/some/longer/path/page-123456.html";
    record.fetch = R"({"method":"GET","headers":{"User-Agent":"bench"},"timeout":120})";
    record.process = process;
    record.sched.priority = 1;
    record.sched.age = std::chrono::hours{240};
    record.updatetime = wall_time{std::chrono::seconds{1'700'000'000}};
  }
  sample(const sample&) = delete;
  sample& operator=(const sample&) = delete;
};

storage::task_ref name_of(const task& t) {
  return {project_id{1}, hash_task(t.project, t.taskid)};
}

/// The record's bytes, at an address that a read of them needs.
std::vector<std::uint64_t> encoded(const task& t, std::size_t& size) {
  storage::task_encoder encoder;
  encoder.encode(name_of(t), t);
  size = encoder.size();
  std::vector<std::uint64_t> words((size + 7) / 8);
  encoder.write(reinterpret_cast<std::byte*>(words.data()));
  return words;
}

void count(benchmark::State& state, std::size_t tasks, std::size_t bytes) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(tasks));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

void encode_record(benchmark::State& state) {
  const sample s{state.range(0)};
  const auto name = name_of(s.record);
  storage::task_encoder encoder;
  std::vector<std::byte> out;
  for (auto _ : state) {
    encoder.encode(name, s.record);
    out.resize(encoder.size());
    encoder.write(out.data());
    benchmark::DoNotOptimize(out.data());
  }
  count(state, 1, out.size());
}
BENCHMARK(encode_record)->Arg(0)->Arg(200)->Arg(4000);

void decode_record(benchmark::State& state) {
  const sample s{state.range(0)};
  std::size_t size = 0;
  const auto words = encoded(s.record, size);
  const std::span bytes{reinterpret_cast<const std::byte*>(words.data()), size};
  for (auto _ : state) {
    auto got = storage::decode_task(bytes);
    if (!got) throw std::runtime_error(got.error().text());
    benchmark::DoNotOptimize(got->record.url.data());
  }
  count(state, 1, size);
}
BENCHMARK(decode_record)->Arg(0)->Arg(200)->Arg(4000);

void load_record(benchmark::State& state) {
  const sample s{state.range(0)};
  std::size_t size = 0;
  const auto words = encoded(s.record, size);
  const std::span bytes{reinterpret_cast<const std::byte*>(words.data()), size};
  for (auto _ : state) {
    storage::record_batch batch;
    for (std::size_t i = 0; i < list_length; ++i)
      if (auto ok = storage::decode_into(batch, task_key{0, i}, bytes); !ok)
        throw std::runtime_error(ok.error().text());
    benchmark::DoNotOptimize(batch);
  }
  count(state, list_length, list_length * size);
}
BENCHMARK(load_record)->Arg(0)->Arg(200)->Arg(4000);

/// Reads a list as the gateway does; each iteration with an arena of its own, as each request has.
template <class Read>
void read_list(benchmark::State& state, const std::string& text,
               std::span<const std::string_view> paths, Read read) {
  const gateway::limits_config limits;
  for (auto _ : state) {
    gateway::text_arena arena;
    gateway::outline item{arena, paths};
    std::size_t good = 0;
    auto walked = gateway::walk_items(
        text, false, item, limits.list,
        [&](std::size_t, const gateway::outline& o) {
          auto got = read(o, arena, limits);
          benchmark::DoNotOptimize(got);
          good += got.has_value() ? 1 : 0;
        },
        [](std::size_t, const std::string&) {});
    if (!walked || good != list_length) throw std::runtime_error("an item was refused");
  }
  count(state, list_length, text.size());
}

void read_json(benchmark::State& state) {
  const std::string filler(static_cast<std::size_t>(state.range(0)), 'x');
  std::string text = "[";
  for (std::size_t i = 0; i < list_length; ++i) {
    const auto id = std::to_string(i);
    if (i > 0) text += ',';
    text += R"({"project":"bench","taskid":")" + id + R"(","url":"http://example.com/page/)" + id
            + R"(","schedule":{"priority":1},"fetch":{"method":"GET"},)"
            + R"("process":{"callback":"index_page","save":")" + filler + R"("}})";
  }
  text += ']';
  read_list(state, text, gateway::task_paths(), gateway::read_task);
}
BENCHMARK(read_json)->Arg(0)->Arg(200)->Arg(4000);

void read_reports(benchmark::State& state) {
  std::string text = "[";
  for (std::size_t i = 0; i < list_length; ++i) {
    if (i > 0) text += ',';
    text += R"({"project":"bench","taskid":")" + std::to_string(i) + R"(","lease":")"
            + to_text({project_id{1}, task_key{1, i}, static_cast<std::uint32_t>(i + 1), 0, 1})
            + R"(","track":{"fetch":{"ok":true,"time":0.12,"status_code":200},)"
            + R"("process":{"ok":true,"time":0.01}}})";
  }
  text += ']';
  read_list(state, text, gateway::report_paths(), gateway::read_report);
}
BENCHMARK(read_reports);

void write_json(benchmark::State& state) {
  const sample s{state.range(0)};
  actors::leased_task leased;
  leased.record = s.record;
  leased.lease = to_text({project_id{1}, task_key{1, 2}, 3, 0, 1});
  std::string text;
  for (auto _ : state) {
    text.clear();
    for (std::size_t i = 0; i < list_length; ++i) {
      text += i > 0 ? ",{" : "{";
      gateway::append_leased(text, leased);
      text += '}';
    }
    benchmark::DoNotOptimize(text.data());
  }
  count(state, list_length, text.size());
}
BENCHMARK(write_json)->Arg(0)->Arg(200)->Arg(4000);

} // namespace
