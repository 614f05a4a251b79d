#include "storage/index_log.hpp"

#include "storage/codec.hpp"

#include <algorithm>
#include <utility>

namespace lycosa::storage {

namespace {

void apply(const mutation& m, std::uint64_t lsn, index_buffer& into) {
  if (m.what == mutation::kind::put_result || m.what == mutation::kind::erase_result) return;
  into.put(m.ref,
           {{m.seq, m.lastcrawltime, m.itag_hash, m.generation, m.status},
            m.what == mutation::kind::erase},
           lsn);
}

} // namespace

result<std::size_t> replay_index(MDB_txn* txn, MDB_dbi log, std::string_view name,
                                 std::uint64_t from, std::uint64_t last, index_buffer& into) {
  std::size_t next = 0;
  if (from > last) return next;
  const auto missing = [&](std::uint64_t lsn) {
    return fail(errc::corrupt, std::string(name),
                "log record " + std::to_string(lsn) + " of " + std::to_string(from) + " to "
                    + std::to_string(last) + ", which the index needs, is missing or incomplete");
  };
  lmdb::cursor c;
  if (int rc = c.open(txn, log); rc != 0) return lmdb::failed(rc, name);
  const auto first = log_key(from, 0);
  auto k = lmdb::val(first);
  MDB_val v{};
  int rc = c.seek(k, v, MDB_SET_RANGE);
  std::vector<std::byte> record;
  for (auto lsn = from; lsn <= last; ++lsn) {
    record.clear();
    for (std::uint16_t part = 0; rc == 0; ++part, rc = c.seek(k, v, MDB_NEXT)) {
      if (k.mv_size != 10) return missing(lsn);
      if (get_big<std::uint64_t>(k.mv_data) != lsn) break;
      if (get_big<std::uint16_t>(static_cast<const std::byte*>(k.mv_data) + 8) != part)
        return missing(lsn);
      const auto bytes = lmdb::bytes(v);
      record.insert(record.end(), bytes.begin(), bytes.end());
    }
    if (rc != 0 && rc != MDB_NOTFOUND) return lmdb::failed(rc, name);
    if (record.empty()) return missing(lsn);
    auto batch = decode_mutations(record);
    if (!batch)
      return fail(errc::corrupt, std::string(name),
                  "log record " + std::to_string(lsn) + ": " + batch.error().text());
    if (batch->merged_slices > index_buffer::slices || batch->next_slice >= index_buffer::slices)
      return fail(errc::corrupt, std::string(name),
                  "log record " + std::to_string(lsn) + " names slices that do not exist");
    for (const auto& m : batch->mutations)
      apply(m, lsn, into);
    next = batch->next_slice;
    for (std::size_t i = 1; i <= batch->merged_slices; ++i)
      into.drop_slice((next + index_buffer::slices - i) % index_buffer::slices);
  }
  return next;
}

// -- format 4 and before -------------------------------------------------------------------------

namespace {

constexpr const char* old_table = "index";
/// Entries sorted in memory at once, about: 120 MB.
constexpr std::uint64_t range_entries = 2'000'000;

struct old_entry {
  task_ref ref;
  index_value value;
};

/// The entries of the old table whose hash is in a range, in the order of the new keys.
int read_range(MDB_cursor* old, std::uint64_t low, std::uint64_t high,
               std::vector<old_entry>& out) {
  MDB_val k{}, v{};
  int rc = mdb_cursor_get(old, &k, &v, MDB_FIRST);
  for (; rc == 0; rc = mdb_cursor_get(old, &k, &v, MDB_NEXT)) {
    const auto value = index_value::read(lmdb::bytes(v));
    if (k.mv_size != 20 || !value) return MDB_CORRUPTED;
    const auto ref = ref_of(k.mv_data);
    if (ref.hash.high < low || ref.hash.high > high) continue;
    out.push_back({ref, *value});
  }
  if (rc != MDB_NOTFOUND) return rc;
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return before_in_hashes(a.ref, b.ref); });
  return 0;
}

int append(MDB_txn* txn, MDB_dbi hashes, const std::vector<old_entry>& entries) {
  for (const auto& e : entries) {
    const auto key = hash_key(e.ref);
    auto k = lmdb::val(key);
    MDB_val v{e.value.size(), nullptr};
    if (int rc = mdb_put(txn, hashes, &k, &v, MDB_APPEND | MDB_RESERVE); rc != 0) return rc;
    e.value.write(static_cast<std::byte*>(v.mv_data));
  }
  return 0;
}

} // namespace

result<void> copy_old_index(lmdb::env& env, MDB_dbi hashes) {
  std::uint64_t ranges = 1;
  for (std::uint64_t i = 0; i < ranges; ++i) {
    auto txn = env.begin_write();
    if (!txn) return tl::unexpected(txn.error());
    const auto step = [&]() -> int {
      MDB_dbi old = 0;
      int rc = mdb_dbi_open(*txn, old_table, 0, &old);
      if (rc != 0) return rc;
      if (i == 0) {
        MDB_stat stat{};
        if (rc = mdb_stat(*txn, old, &stat); rc != 0) return rc;
        ranges = 1 + stat.ms_entries / range_entries;
        if (rc = mdb_drop(*txn, hashes, 0); rc != 0) return rc;
      }
      lmdb::cursor c;
      if (rc = c.open(*txn, old); rc != 0) return rc;
      const auto width = ~std::uint64_t{0} / ranges;
      std::vector<old_entry> entries;
      const auto end = i + 1 == ranges ? ~std::uint64_t{0} : (i + 1) * width - 1;
      if (rc = read_range(c.get(), i * width, end, entries); rc != 0) return rc;
      return append(*txn, hashes, entries);
    };
    int rc = step();
    if (rc != 0)
      mdb_txn_abort(*txn);
    else
      rc = mdb_txn_commit(*txn);
    if (rc == MDB_NOTFOUND) return {}; // no such table
    if (rc != 0) return lmdb::failed(rc, env.name());
  }
  return {};
}

int drop_old_index(MDB_txn* txn) {
  MDB_dbi old = 0;
  const int rc = mdb_dbi_open(txn, old_table, 0, &old);
  if (rc == MDB_NOTFOUND) return 0;
  return rc != 0 ? rc : mdb_drop(txn, old, 1);
}

} // namespace lycosa::storage
