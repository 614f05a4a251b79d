#include "tests/storage/fixture.hpp"

// The codec is the store's own; it is looked at here because its bytes are a promise.
#include "storage/codec.hpp"
#include "storage/keys.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>

namespace lycosa::storage::test {

namespace {

std::string golden(const std::string& name) {
  return std::string(LYCOSA_SOURCE_DIR) + "/tests/storage/golden/" + name;
}

/// Bytes from a file of hexadecimal digits, at an aligned address.
std::vector<std::uint64_t> words_of(const std::string& name, std::size_t& size) {
  std::ifstream in(golden(name));
  std::string bytes;
  for (std::string two; in >> two;)
    for (std::size_t i = 0; i + 1 < two.size(); i += 2)
      bytes += static_cast<char>(std::stoi(two.substr(i, 2), nullptr, 16));
  size = bytes.size();
  std::vector<std::uint64_t> words((size + 7) / 8);
  std::memcpy(words.data(), bytes.data(), size);
  return words;
}

std::string hex(std::span<const std::byte> bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(bytes[i]));
    out += two;
    if (i % 32 == 31 || i + 1 == bytes.size()) out += '\n';
  }
  return out;
}

/// With LYCOSA_WRITE_GOLDEN set, a file that is not there yet is written; none is ever replaced.
void offer(const std::string& name, std::span<const std::byte> bytes) {
  if (std::getenv("LYCOSA_WRITE_GOLDEN") == nullptr || std::filesystem::exists(golden(name)))
    return;
  std::ofstream(golden(name)) << hex(bytes);
}

} // namespace

TEST(golden, a_task_record_of_format_1_decodes_field_by_field) {
  const task_ref ref{project_id{42}, {0x0123456789abcdef, 0xfedcba9876543210}};
  task_encoder encoder;
  encoder.encode(ref, sample("golden"));
  std::vector<std::byte> now(encoder.size());
  encoder.write(now.data());
  offer("task-1.hex", now);
  std::size_t size = 0;
  const auto words = words_of("task-1.hex", size);
  ASSERT_GT(size, 0u);
  const auto decoded = decode_task({reinterpret_cast<const std::byte*>(words.data()), size});
  ASSERT_TRUE(decoded) << decoded.error().text();
  EXPECT_EQ(decoded->project, ref.project);
  EXPECT_EQ(decoded->hash, ref.hash);
  expect_same(decoded->record, sample("golden"));
}

TEST(golden, a_mutation_batch_of_format_1_decodes) {
  mutation m;
  m.what = mutation::kind::update;
  m.ref = {project_id{42}, {1, 2}};
  m.seq = 3;
  m.status = task_status::failed;
  m.old_status = 1;
  m.lastcrawltime = 4;
  m.itag_hash = 5;
  m.generation = 6;
  m.position = {at(7), -8, 9};
  offer("mutations-1.hex", encode_mutations({11, 12, {m, m}}));
  std::size_t size = 0;
  const auto words = words_of("mutations-1.hex", size);
  const auto batch = decode_mutations({reinterpret_cast<const std::byte*>(words.data()), size});
  ASSERT_TRUE(batch) << batch.error().text();
  EXPECT_EQ(batch->lsn, 11u);
  EXPECT_EQ(batch->epoch, 12u);
  ASSERT_EQ(batch->mutations.size(), 2u);
  const auto& got = batch->mutations[1];
  EXPECT_EQ(got.what, m.what);
  EXPECT_EQ(got.ref.project, m.ref.project);
  EXPECT_EQ(got.ref.hash, m.ref.hash);
  EXPECT_EQ(got.seq, 3u);
  EXPECT_EQ(got.status, task_status::failed);
  EXPECT_EQ(got.old_status, 1);
  EXPECT_EQ(got.lastcrawltime, 4);
  EXPECT_EQ(got.itag_hash, 5u);
  EXPECT_EQ(got.generation, 6u);
  EXPECT_EQ(got.position.due, at(7));
  EXPECT_EQ(got.position.priority, -8);
  EXPECT_EQ(got.position.arrival, 9u);
}

TEST(golden, a_project_of_format_1_decodes) {
  project_record p;
  p.id = project_id{7};
  p.name = "golden";
  p.group = "delete";
  p.status = project_status::paused;
  p.rate = 0.5;
  p.burst = 3;
  p.script = "print()";
  p.min_tick = usec{60'000'000};
  p.queue_limit = 99;
  p.retry = retry_policy{{{0, usec{5}}}, usec{9}};
  const auto encoded = encode_project(p);
  offer("project-1.hex", std::as_bytes(std::span(encoded)));
  std::size_t size = 0;
  const auto words = words_of("project-1.hex", size);
  const auto got = decode_project({reinterpret_cast<const char*>(words.data()), size});
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_EQ(got->id, p.id);
  EXPECT_EQ(got->name, p.name);
  EXPECT_EQ(got->group, p.group);
  EXPECT_EQ(got->status, p.status);
  EXPECT_EQ(got->rate, p.rate);
  EXPECT_EQ(got->burst, p.burst);
  EXPECT_EQ(got->script, p.script);
  EXPECT_EQ(got->min_tick, p.min_tick);
  EXPECT_EQ(got->queue_limit, p.queue_limit);
  EXPECT_FALSE(got->retain.bounded()); // not known then
  ASSERT_TRUE(got->retry);
  EXPECT_EQ(got->retry->table, p.retry->table);
  EXPECT_EQ(got->retry->otherwise, p.retry->otherwise);
}

TEST(golden, keys_of_a_queue_in_order_are_those_of_format_6) {
  constexpr std::numeric_limits<std::int32_t> priority;
  constexpr std::numeric_limits<std::int64_t> time;
  // As they sort.
  const std::vector<active_entry> entries{
      {project_id{0x01020304}, task_key{5, 1}, {at(time.min()), priority.max(), 0}},
      {project_id{0x01020304}, task_key{5, 2}, {at(1'700'000'000'000'000), 1, 0x1122334455667788}},
      {project_id{0x01020304}, task_key{5, 3}, {at(-1), 0, 0}},
      {project_id{0x01020304}, task_key{5, 4}, {at(0), 0, 0}},
      {project_id{0x01020304}, task_key{5, 5}, {at(0), -1, 0}},
      {project_id{0x01020304}, task_key{5, 6}, {at(time.max()), priority.min(), ~0ull}},
      {project_id{0x01020305}, task_key{5, 0xffffffffffff}, {at(0), 0, 0}},
  };
  std::vector<std::byte> now;
  for (const auto& e : entries) {
    const auto key = queue_key(e.project, e.position, e.key.seq());
    now.insert(now.end(), key.begin(), key.end());
  }
  const order_row row{order_row::phase::complete, 0x0102030405060708};
  std::array<std::byte, order_row::bytes> value;
  row.write(value.data());
  now.insert(now.end(), value.begin(), value.end());
  offer("queue-6.hex", now);
  std::size_t size = 0;
  const auto words = words_of("queue-6.hex", size);
  const std::span stored(reinterpret_cast<const std::byte*>(words.data()), size);
  EXPECT_TRUE(std::ranges::equal(now, stored));
  ASSERT_EQ(size, entries.size() * 32 + order_row::bytes);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto got = queue_entry_of(stored.data() + i * 32, 5);
    EXPECT_EQ(got.project, entries[i].project) << i;
    EXPECT_EQ(got.key, entries[i].key) << i;
    EXPECT_EQ(got.position.due, entries[i].position.due) << i;
    EXPECT_EQ(got.position.priority, entries[i].position.priority) << i;
    EXPECT_EQ(got.position.arrival, entries[i].position.arrival) << i;
    if (i > 0) {
      EXPECT_LT(std::memcmp(stored.data() + (i - 1) * 32, stored.data() + i * 32, 32), 0);
    }
  }
  const auto got = order_row::read(stored.last(order_row::bytes));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->state, row.state);
  EXPECT_EQ(got->from, row.from);
}

TEST(golden, damaged_records_are_errors_and_nothing_worse) {
  std::size_t size = 0;
  const auto words = words_of("task-1.hex", size);
  for (std::size_t cut = 0; cut < size; cut += 8)
    (void)decode_task({reinterpret_cast<const std::byte*>(words.data()), cut});
  for (std::size_t i = 0; i < words.size(); ++i)
    for (int bit = 0; bit < 64; ++bit) {
      auto damaged = words;
      damaged[i] ^= std::uint64_t{1} << bit;
      (void)decode_task({reinterpret_cast<const std::byte*>(damaged.data()), size});
    }
  EXPECT_EQ(decode_task({}).error().code, errc::corrupt);
}

} // namespace lycosa::storage::test
