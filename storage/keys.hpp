#pragma once

#include "core/placement.hpp"
#include "core/result.hpp"
#include "core/task.hpp"
#include "storage/store.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// The bytes of keys and fixed-size values; storage/FORMAT.md is the description, this the code.
/// Keys are big-endian so that LMDB's byte order is the numbers' order; values are little-endian.
namespace lycosa::storage {

template <class T>
constexpr T to_big(T v) {
  if constexpr (sizeof(T) == 1)
    return v;
  else if constexpr (std::endian::native == std::endian::big)
    return v;
  else if constexpr (sizeof(T) == 2)
    return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(v)));
  else if constexpr (sizeof(T) == 4)
    return static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(v)));
  else
    return static_cast<T>(__builtin_bswap64(static_cast<std::uint64_t>(v)));
}

template <class T>
void put_big(std::byte* at, T v) {
  v = to_big(v);
  std::memcpy(at, &v, sizeof v);
}
template <class T>
T get_big(const void* at) {
  T v;
  std::memcpy(&v, at, sizeof v);
  return to_big(v);
}
template <class T>
void put_little(std::byte* at, T v) {
  static_assert(std::endian::native == std::endian::little, "data files are little-endian");
  std::memcpy(at, &v, sizeof v);
}
template <class T>
T get_little(const void* at) {
  T v;
  std::memcpy(&v, at, sizeof v);
  return v;
}

template <std::size_t N>
using key_bytes = std::array<std::byte, N>;

/// `tasks`: seq.
inline key_bytes<8> seq_key(std::uint64_t seq) {
  key_bytes<8> k;
  put_big(k.data(), seq);
  return k;
}

/// `counts`, and the prefix of all keys of a project.
inline key_bytes<4> project_key(project_id p) {
  key_bytes<4> k;
  put_big(k.data(), static_cast<std::uint32_t>(p));
  return k;
}

/// `results`, and `index` up to format 4: project, hash.
inline key_bytes<20> ref_key(const task_ref& r) {
  key_bytes<20> k;
  put_big(k.data(), static_cast<std::uint32_t>(r.project));
  put_big(k.data() + 4, r.hash.high);
  put_big(k.data() + 12, r.hash.low);
  return k;
}
inline task_ref ref_of(const void* key) {
  const auto* b = static_cast<const std::byte*>(key);
  return {project_id{get_big<std::uint32_t>(b)},
          {get_big<std::uint64_t>(b + 4), get_big<std::uint64_t>(b + 12)}};
}

/// `hashes`: hash, project. The hash first, so that names of all projects spread over the whole
/// range of keys, however many projects there are.
inline key_bytes<20> hash_key(const task_ref& r) {
  key_bytes<20> k;
  put_big(k.data(), r.hash.high);
  put_big(k.data() + 8, r.hash.low);
  put_big(k.data() + 16, static_cast<std::uint32_t>(r.project));
  return k;
}
/// The order of these keys.
inline bool before_in_hashes(const task_ref& a, const task_ref& b) {
  return a.hash != b.hash ? a.hash < b.hash : a.project < b.project;
}
inline task_ref ref_of_hash_key(const void* key) {
  const auto* b = static_cast<const std::byte*>(key);
  return {project_id{get_big<std::uint32_t>(b + 16)},
          {get_big<std::uint64_t>(b), get_big<std::uint64_t>(b + 8)}};
}

/// `active`: project, seq.
inline key_bytes<12> active_key(project_id p, std::uint64_t seq) {
  key_bytes<12> k;
  put_big(k.data(), static_cast<std::uint32_t>(p));
  put_big(k.data() + 4, seq);
  return k;
}

/// `queue`: project, priority (higher first), due, arrival, seq: the order in which the tasks of a
/// project are handed out.
inline key_bytes<32> queue_key(project_id p, const queue_position& at, std::uint64_t seq) {
  constexpr auto sign = std::uint64_t{1} << 63;
  key_bytes<32> k;
  put_big(k.data(), static_cast<std::uint32_t>(p));
  put_big(k.data() + 4, static_cast<std::uint32_t>(at.priority) ^ 0x7fffffffu);
  put_big(k.data() + 8, static_cast<std::uint64_t>(at.due.time_since_epoch().count()) ^ sign);
  put_big(k.data() + 16, at.arrival);
  put_big(k.data() + 24, seq);
  return k;
}
/// Before all entries of priorities below `below`, or of all; none = there are no lower ones.
inline std::optional<key_bytes<32>> queue_key_below(project_id p,
                                                    std::optional<std::int32_t> below) {
  constexpr std::numeric_limits<std::int32_t> priority;
  if (below == priority.min()) return std::nullopt;
  return queue_key(p, {wall_time::min(), below ? *below - 1 : priority.max(), 0}, 0);
}
inline active_entry queue_entry_of(const void* key, std::uint16_t shard) {
  constexpr auto sign = std::uint64_t{1} << 63;
  const auto* b = static_cast<const std::byte*>(key);
  const auto due = static_cast<std::int64_t>(get_big<std::uint64_t>(b + 8) ^ sign);
  const auto priority = static_cast<std::int32_t>(get_big<std::uint32_t>(b + 4) ^ 0x7fffffffu);
  return {project_id{get_big<std::uint32_t>(b)},
          task_key{shard, get_big<std::uint64_t>(b + 24)},
          {wall_time{usec{due}}, priority, get_big<std::uint64_t>(b + 16)}};
}

/// `settled`: project, status, seq.
inline key_bytes<13> settled_key(project_id p, task_status s, std::uint64_t seq) {
  key_bytes<13> k;
  put_big(k.data(), static_cast<std::uint32_t>(p));
  k[4] = static_cast<std::byte>(s);
  put_big(k.data() + 5, seq);
  return k;
}

/// `log`: LSN, number of the part.
inline key_bytes<10> log_key(std::uint64_t lsn, std::uint16_t part) {
  key_bytes<10> k;
  put_big(k.data(), lsn);
  put_big(k.data() + 8, part);
  return k;
}

/// Value of `hashes`, and of `index` up to format 4. Short: the table is the one whose pages are
/// rewritten all over, and most tasks were never crawled and have no itag.
struct index_value {
  static constexpr std::size_t most = 27;
  static constexpr std::size_t bytes_of_format_4 = 32;

  std::uint64_t seq = 0; ///< below 2^48, as in task_key
  std::int64_t lastcrawltime = 0;
  std::uint64_t itag_hash = 0;
  std::uint32_t generation = 0;
  task_status status = task_status::active;

  [[nodiscard]] std::size_t size() const { return size_of(flags()); }
  /// Status and what else is there, seq, then what is there.
  void write(std::byte* at) const {
    *at++ = static_cast<std::byte>(flags());
    std::memcpy(at, &seq, 6);
    at += 6;
    if (generation != 0) put_little(at, generation), at += 4;
    if (lastcrawltime != 0) put_little(at, lastcrawltime), at += 8;
    if (itag_hash != 0) put_little(at, itag_hash);
  }
  /// None when the length does not fit.
  static std::optional<index_value> read(std::span<const std::byte> from) {
    const auto* b = from.data();
    if (from.size() == bytes_of_format_4)
      return index_value{get_little<std::uint64_t>(b), get_little<std::int64_t>(b + 8),
                         get_little<std::uint64_t>(b + 16), get_little<std::uint32_t>(b + 24),
                         static_cast<task_status>(b[28])};
    if (from.size() < 7) return std::nullopt;
    const auto flags = static_cast<unsigned>(b[0]);
    index_value v;
    v.status = static_cast<task_status>(flags & 0x0f);
    std::memcpy(&v.seq, b + 1, 6);
    if (from.size() != size_of(flags)) return std::nullopt;
    b += 7;
    if ((flags & has_generation) != 0) v.generation = get_little<std::uint32_t>(b), b += 4;
    if ((flags & has_time) != 0) v.lastcrawltime = get_little<std::int64_t>(b), b += 8;
    if ((flags & has_itag) != 0) v.itag_hash = get_little<std::uint64_t>(b);
    return v;
  }
  [[nodiscard]] task_slot slot(std::uint16_t shard) const {
    return {task_key{shard, seq}, status, wall_time{usec{lastcrawltime}}, itag_hash, generation};
  }
  friend bool operator==(const index_value&, const index_value&) = default;

private:
  static constexpr unsigned has_generation = 0x10, has_time = 0x20, has_itag = 0x40;
  [[nodiscard]] unsigned flags() const {
    return static_cast<unsigned>(status) | (generation != 0 ? has_generation : 0)
           | (lastcrawltime != 0 ? has_time : 0) | (itag_hash != 0 ? has_itag : 0);
  }
  static std::size_t size_of(unsigned flags) {
    return 7 + ((flags & has_generation) != 0 ? 4 : 0) + ((flags & has_time) != 0 ? 8 : 0)
           + ((flags & has_itag) != 0 ? 8 : 0);
  }
};

/// The index's view of a record.
inline index_value index_of(const task& record, std::uint64_t seq) {
  return {seq, record.lastcrawltime.time_since_epoch().count(),
          record.sched.itag ? hash_itag(*record.sched.itag) : 0, record.generation, record.status};
}

/// Value of `active`.
struct active_value {
  static constexpr std::size_t bytes = 20;
  static void write(const queue_position& p, std::byte* at) {
    put_little(at, p.due.time_since_epoch().count());
    put_little(at + 8, p.arrival);
    put_little(at + 16, p.priority);
  }
  static queue_position read(const void* from) {
    const auto* b = static_cast<const std::byte*>(from);
    return {wall_time{usec{get_little<std::int64_t>(b)}}, get_little<std::int32_t>(b + 16),
            get_little<std::uint64_t>(b + 8)};
  }
};

/// Value of `ordering`: how far `queue` has the ACTIVE tasks of a project.
struct order_row {
  enum class phase : std::uint8_t { building = 1, complete = 2, removing = 3 };
  static constexpr std::size_t bytes = 9;

  phase state = phase::building;
  /// Tasks from here on are in. New ones have higher numbers, so that building, which goes down,
  /// comes to its end however many come.
  std::uint64_t from = 0;

  /// Whether what becomes of a task is written to `queue` too.
  [[nodiscard]] bool follows() const { return state != phase::removing; }
  void write(std::byte* at) const {
    *at = static_cast<std::byte>(state);
    put_little(at + 1, from);
  }
  /// None when it is of another length, or in no state that there is.
  static std::optional<order_row> read(std::span<const std::byte> b) {
    if (b.size() != bytes || b[0] < std::byte{1} || b[0] > std::byte{3}) return std::nullopt;
    return order_row{static_cast<phase>(b[0]), get_little<std::uint64_t>(b.data() + 1)};
  }
};

/// What the reads of a queue in order say when there is none.
inline tl::unexpected<error> not_in_order(project_id p) {
  return fail(errc::conflict, "project " + std::to_string(static_cast<std::uint32_t>(p)),
              "its queue is not, or not yet, kept in order");
}

/// Value of `counts`. Format 1 had no `last_settled`.
struct counts_value {
  static constexpr std::size_t bytes = 40;
  static constexpr std::size_t bytes_of_format_1 = 32;
  static bool fits(std::size_t n) { return n == bytes || n == bytes_of_format_1; }
  static void write(const status_counts& c, std::byte* at) {
    put_little(at, c.active);
    put_little(at + 8, c.success);
    put_little(at + 16, c.failed);
    put_little(at + 24, c.bad);
    put_little(at + 32, c.last_settled.time_since_epoch().count());
  }
  /// Precondition: `fits(size)`.
  static status_counts read(const void* from, std::size_t size) {
    const auto* b = static_cast<const std::byte*>(from);
    status_counts c{get_little<std::int64_t>(b),
                    get_little<std::int64_t>(b + 8),
                    get_little<std::int64_t>(b + 16),
                    get_little<std::int64_t>(b + 24),
                    {}};
    if (size == bytes) c.last_settled = wall_time{usec{get_little<std::int64_t>(b + 32)}};
    return c;
  }
};

/// The count that a status belongs to.
inline std::int64_t& count_of(status_counts& c, task_status s) {
  switch (s) {
  case task_status::active:
    return c.active;
  case task_status::success:
    return c.success;
  case task_status::failed:
    return c.failed;
  case task_status::bad:
    break;
  }
  return c.bad;
}

/// Adds a transaction's changes to what is stored.
inline void add_counts(status_counts& c, const status_counts& change) {
  c.active += change.active;
  c.success += change.success;
  c.failed += change.failed;
  c.bad += change.bad;
  c.last_settled = std::max(c.last_settled, change.last_settled);
}

/// The change that an update of a record causes.
inline void count_update(status_counts& c, task_status old, const task& record) {
  if (old == record.status) return;
  --count_of(c, old);
  ++count_of(c, record.status);
  if (old == task_status::active) c.last_settled = std::max(c.last_settled, record.updatetime);
}

/// Every status, in the order of their numbers.
inline constexpr std::array all_statuses{task_status::active, task_status::success,
                                         task_status::failed, task_status::bad};

/// Value of `results`: updatetime, length of the taskid (u16), taskid, JSON text.
struct result_value {
  static std::size_t bytes(const result_entry& e) { return 10 + e.taskid.size() + e.json.size(); }
  static void write(const result_entry& e, std::byte* at) {
    put_little(at, e.updatetime.time_since_epoch().count());
    put_little(at + 8, static_cast<std::uint16_t>(e.taskid.size()));
    std::memcpy(at + 10, e.taskid.data(), e.taskid.size());
    std::memcpy(at + 10 + e.taskid.size(), e.json.data(), e.json.size());
  }
  /// False when the lengths do not fit.
  static bool read(std::string_view from, result_entry& out) {
    if (from.size() < 10) return false;
    const std::size_t n = get_little<std::uint16_t>(from.data() + 8);
    if (from.size() < 10 + n) return false;
    out.updatetime = wall_time{usec{get_little<std::int64_t>(from.data())}};
    out.taskid = from.substr(10, n);
    out.json = from.substr(10 + n);
    return true;
  }
};

} // namespace lycosa::storage
