#include "storage/keys.hpp"
#include "storage/replica_log.hpp"

#include <algorithm>
#include <cstring>

namespace lycosa::storage::replica_rows {

namespace {

constexpr char batch_row = 'L', state_row = 'S';
/// As in the table `log`: two fill a page, and no run of neighbouring free pages has to be found.
constexpr std::size_t part_bytes = 2016;
constexpr std::size_t head_bytes = 12; // of a batch's first part: u64 epoch, u32 bytes of all parts

using row_key = key_bytes<11>;

row_key key_of(cluster::lsn_number lsn, std::uint16_t part) {
  row_key k;
  k[0] = static_cast<std::byte>(batch_row);
  put_big(k.data() + 1, lsn);
  put_big(k.data() + 9, part);
  return k;
}

bool is_batch(const MDB_val& k) {
  return k.mv_size == std::tuple_size_v<row_key> && lmdb::text(k)[0] == batch_row;
}
cluster::lsn_number lsn_of(const MDB_val& k) {
  return get_big<std::uint64_t>(static_cast<const std::byte*>(k.mv_data) + 1);
}
std::uint16_t part_of(const MDB_val& k) {
  return get_big<std::uint16_t>(static_cast<const std::byte*>(k.mv_data) + 9);
}

auto broken(std::string_view name, cluster::lsn_number lsn) {
  return fail(errc::corrupt, std::string(name),
              "batch " + std::to_string(lsn) + " of its log is missing or incomplete");
}

} // namespace

int append(MDB_txn* txn, MDB_dbi table, cluster::entry_id id, std::string_view changes) {
  std::size_t at = 0;
  std::uint16_t part = 0;
  do {
    const auto head = part == 0 ? head_bytes : 0;
    const auto n = std::min(part_bytes - head, changes.size() - at);
    const auto key = key_of(id.lsn, part);
    auto k = lmdb::val(key);
    MDB_val v{head + n, nullptr};
    // Not MDB_APPEND: the state's row stands behind.
    if (int rc = mdb_put(txn, table, &k, &v, MDB_RESERVE); rc != 0) return rc;
    auto* to = static_cast<std::byte*>(v.mv_data);
    if (head != 0) {
      put_little(to, id.epoch);
      put_little(to + 8, static_cast<std::uint32_t>(changes.size()));
    }
    if (n > 0) std::memcpy(to + head, changes.data() + at, n); // an opening batch is empty
    at += n;
    if (++part == 0 && at < changes.size()) return MDB_BAD_VALSIZE; // 65,536 parts: 128 MiB
  } while (at < changes.size());
  return 0;
}

int trim(MDB_txn* txn, MDB_dbi table, cluster::lsn_number through, std::size_t rows) {
  lmdb::cursor c;
  if (int rc = c.open(txn, table); rc != 0) return rc;
  for (; rows > 0; --rows) {
    MDB_val k{}, v{};
    const int rc = c.seek(k, v, MDB_FIRST);
    if (rc == MDB_NOTFOUND || (rc == 0 && (!is_batch(k) || lsn_of(k) > through))) return 0;
    if (rc != 0) return rc;
    if (int gone = mdb_cursor_del(c.get(), 0); gone != 0) return gone;
  }
  return 0;
}

int clear(MDB_txn* txn, MDB_dbi table) {
  return mdb_drop(txn, table, 0); // the state is written again behind it
}

int put_state(MDB_txn* txn, MDB_dbi table, const replica_state& s) {
  const auto bytes = encode_replica_state(s);
  const std::string_view key(&state_row, 1);
  auto k = lmdb::val(key);
  auto v = lmdb::val(bytes);
  return mdb_put(txn, table, &k, &v, 0);
}

result<std::optional<replica_state>> get_state(MDB_txn* txn, MDB_dbi table, std::string_view name) {
  const std::string_view key(&state_row, 1);
  auto k = lmdb::val(key);
  MDB_val v{};
  const int rc = mdb_get(txn, table, &k, &v);
  if (rc == MDB_NOTFOUND) return std::nullopt;
  if (rc != 0) return lmdb::failed(rc, name);
  auto s = decode_replica_state(lmdb::text(v));
  if (!s) return tl::unexpected(s.error());
  return std::move(*s);
}

result<cluster::shard_log> load(MDB_txn* txn, MDB_dbi table, const replica_state& s,
                                std::string_view name) {
  lmdb::cursor c;
  if (int rc = c.open(txn, table); rc != 0) return lmdb::failed(rc, name);
  std::vector<std::uint32_t> sizes;
  cluster::lsn_number begin = s.end.lsn + 1;
  MDB_val k{}, v{};
  int rc = c.seek(k, v, MDB_FIRST);
  for (; rc == 0 && is_batch(k); rc = c.seek(k, v, MDB_NEXT)) {
    const auto lsn = lsn_of(k);
    // Trimming goes by rows: the rest of a batch whose beginning is gone does not count.
    if (part_of(k) != 0) continue;
    if (sizes.empty()) begin = lsn;
    if (v.mv_size < head_bytes || lsn != begin + sizes.size()) return broken(name, lsn);
    sizes.push_back(get_little<std::uint32_t>(static_cast<const std::byte*>(v.mv_data) + 8));
  }
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb::failed(rc, name);
  if (begin + sizes.size() != s.end.lsn + 1) return broken(name, s.end.lsn);
  return cluster::shard_log(begin, s.history, sizes);
}

result<std::vector<batch_bytes>> read(MDB_txn* txn, MDB_dbi table, cluster::lsn_number first,
                                      std::size_t limit, std::string_view name) {
  lmdb::cursor c;
  if (int rc = c.open(txn, table); rc != 0) return lmdb::failed(rc, name);
  std::vector<batch_bytes> out;
  std::size_t total = 0;
  const auto from = key_of(first, 0);
  auto k = lmdb::val(from);
  MDB_val v{};
  int rc = c.seek(k, v, MDB_SET_RANGE);
  for (auto lsn = first; rc == 0 && is_batch(k) && lsn_of(k) == lsn; ++lsn) {
    if (part_of(k) != 0 || v.mv_size < head_bytes) return broken(name, lsn);
    const auto size = get_little<std::uint32_t>(static_cast<const std::byte*>(v.mv_data) + 8);
    if (!out.empty() && total + size > limit) return out;
    auto joined = std::make_shared<std::string>();
    joined->reserve(size);
    joined->append(lmdb::text(v).substr(head_bytes));
    for (rc = c.seek(k, v, MDB_NEXT); rc == 0 && is_batch(k) && lsn_of(k) == lsn;
         rc = c.seek(k, v, MDB_NEXT))
      joined->append(lmdb::text(v));
    if (joined->size() != size) return broken(name, lsn);
    total += size;
    out.push_back(std::move(joined));
  }
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb::failed(rc, name);
  return out;
}

} // namespace lycosa::storage::replica_rows
