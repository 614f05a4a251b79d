#pragma once

#include "core/result.hpp"
#include "storage/change_set.hpp"

#include <lmdb.h>

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The only door to LMDB's environments. Rules it keeps for everybody: an environment is opened
/// once in a process, its files close on exec, errors have words, a broken environment is reopened.
namespace lycosa::storage::lmdb {

/// Says what an LMDB or system error number means. `what` names the store.
[[nodiscard]] error to_error(int rc, std::string_view what);
[[nodiscard]] inline tl::unexpected<error> failed(int rc, std::string_view what) {
  return tl::unexpected<error>(to_error(rc, what));
}

/// Bytes as LMDB's pair of pointer and length. LMDB does not write through it.
template <class Container>
MDB_val val(const Container& c) {
  return {c.size() * sizeof(*c.data()),
          const_cast<void*>(static_cast<const void*>(c.data()))}; // NOLINT: C interface
}
inline std::string_view text(const MDB_val& v) {
  return {static_cast<const char*>(v.mv_data), v.mv_size};
}
inline std::span<const std::byte> bytes(const MDB_val& v) {
  return {static_cast<const std::byte*>(v.mv_data), v.mv_size};
}

struct env_options {
  std::string dir;  ///< holds data.mdb and lock.mdb
  std::string name; ///< for error messages, e.g. "shard-000"
  std::uint64_t map_size = 0;
  bool sync = true;
  bool read_only = false;
  std::vector<const char*> tables; ///< "meta" first
};

/// A snapshot for reading; may move between threads. Keep it short: it pins old pages.
class read_txn {
public:
  read_txn(MDB_txn* txn, std::shared_lock<std::shared_mutex> lock)
      : lock_(std::move(lock)), txn_(txn) {}
  read_txn(read_txn&& o) noexcept
      : lock_(std::move(o.lock_)), txn_(std::exchange(o.txn_, nullptr)) {}
  read_txn& operator=(read_txn&&) = delete;
  ~read_txn() {
    if (txn_ != nullptr) mdb_txn_abort(txn_);
  }
  [[nodiscard]] MDB_txn* get() const { return txn_; }

private:
  std::shared_lock<std::shared_mutex> lock_; // released after the transaction has ended
  MDB_txn* txn_;
};

/// Closes with its scope; cursors of a transaction must not outlive it.
class cursor {
public:
  cursor() = default;
  cursor(cursor&& o) noexcept : c_(std::exchange(o.c_, nullptr)) {}
  cursor& operator=(cursor&& o) noexcept {
    std::swap(c_, o.c_);
    return *this;
  }
  ~cursor() { close(); }
  int open(MDB_txn* txn, MDB_dbi dbi) {
    close();
    return mdb_cursor_open(txn, dbi, &c_);
  }
  void close() {
    if (c_ != nullptr) mdb_cursor_close(c_);
    c_ = nullptr;
  }
  [[nodiscard]] MDB_cursor* get() const { return c_; }
  int seek(MDB_val& k, MDB_val& v, MDB_cursor_op op) const {
    return mdb_cursor_get(c_, &k, &v, op);
  }

private:
  MDB_cursor* c_ = nullptr;
};

/// What a map holds, in pages.
struct page_use {
  std::uint64_t page_bytes = 4096;
  std::uint64_t last = 0; ///< pages ever taken from the file
  std::uint64_t free = 0; ///< of these, waiting to be used again; 0 when not counted
  std::uint64_t map_bytes = 0;
};

/// Takes part in an environment's commits. All calls come from the thread that writes, in this
/// order; `written` follows whenever `before` has succeeded.
class commit_hook {
public:
  virtual ~commit_hook() = default;
  /// May add to the transaction. An error aborts it: nothing was changed.
  virtual result<void> before(MDB_txn* txn, change_set& changes) = 0;
  /// Whether the transaction is on disk.
  virtual void written(bool ok) = 0;
  /// Waits until the commit counts. An error: it is on this disk, and may yet be undone.
  virtual result<void> settled() = 0;
};

class env {
public:
  /// Opens or creates `dir`/data.mdb. Tables are opened later by `open_tables`, so that the format
  /// can be looked at before anything is written.
  static result<std::unique_ptr<env>> open(env_options options);
  ~env();
  env(const env&) = delete;
  env& operator=(const env&) = delete;

  /// Value of a key of the table `meta`; empty when there is no such table or key. For use before
  /// `open_tables`.
  result<std::string> peek_meta(std::string_view key);

  /// Another name for a table, before `open_tables`.
  void name_table(std::size_t i, const char* table) { options_.tables[i] = table; }

  /// Leaves out table `i` and those after it, which a file that is only read does not have; before
  /// `open_tables`.
  void omit_tables_from(std::size_t i) { options_.tables.resize(i); }

  /// Opens all tables; creates missing ones unless read-only.
  result<void> open_tables();

  [[nodiscard]] MDB_dbi table(std::size_t i) const { return dbis_[i]; }
  [[nodiscard]] const std::string& name() const { return options_.name; }
  [[nodiscard]] const env_options& options() const { return options_; }

  /// Any thread.
  result<read_txn> read();

  /// The writer's thread alone. After a failed write that LMDB cannot mend it closes and opens the
  /// environment again, which waits for readers to finish.
  result<MDB_txn*> begin_write();

  /// +1 with each opening again: what a writer remembers of the file may be of a commit that did
  /// not happen, or lack one that did. The writer's thread alone.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

  /// Size of the map and pages ever taken.
  page_use pages();

  /// Has the changes of each write transaction from the next one on collected, and asks `hook` at
  /// each commit. Null = no longer. The writer's thread alone.
  void hook_commits(commit_hook* hook) { hook_ = hook; }
  /// Where a write transaction notes what it changes; null when nobody wants to know.
  [[nodiscard]] change_set* changes() { return hook_ == nullptr ? nullptr : &changes_; }

  /// Ends a write transaction by committing it; returns LMDB's 0 or what went wrong. An error of the
  /// hook's comes first, and then nothing was changed. When what memory holds of the file has been
  /// brought up to date, `settled` is to be called.
  result<int> commit(MDB_txn* txn);
  result<void> settled() { return hook_ == nullptr ? result<void>{} : hook_->settled(); }

  /// Writes with a note of what was written. Flags as LMDB has them, but for MDB_RESERVE.
  int put(MDB_txn* txn, std::size_t table, MDB_val key, MDB_val value, unsigned flags = 0);
  int erase(MDB_txn* txn, std::size_t table, MDB_val key);
  /// Removes what a cursor of that table is on.
  int erase(const cursor& at, std::size_t table);

  /// The same with free pages counted, by a walk over their list in a snapshot; a writing
  /// transaction has no access to that list.
  result<page_use> count_pages(const read_txn& txn);

  result<std::uint64_t> file_bytes();

  /// Writes a compacted copy of the last committed state to an open file.
  result<void> copy_to(int fd);

  /// Forces everything to disk; needed before closing when `sync` is off.
  void sync();

private:
  explicit env(env_options options) : options_(std::move(options)) {}
  result<void> open_handle();
  result<void> reopen();

  env_options options_;
  std::shared_mutex mutex_; // exclusive only while the handle is replaced
  MDB_env* env_ = nullptr;
  std::uint64_t generation_ = 0;
  std::vector<MDB_dbi> dbis_;
  commit_hook* hook_ = nullptr;
  change_set changes_;
};

} // namespace lycosa::storage::lmdb
