#include "storage/lmdb_env.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

namespace lycosa::storage::lmdb {

error to_error(int rc, std::string_view what) {
  const auto with = [&](errc code, std::string why) { return error{code, std::string(what), why}; };
  switch (rc) {
  case ENOSPC:
    return with(errc::no_space, "the disk is full");
  case EDQUOT:
    return with(errc::no_space, "the disk quota is used up");
  case MDB_MAP_FULL:
    return with(errc::no_space, "the map is full (storage.map_size)");
  case MDB_TXN_FULL:
    return with(errc::no_space, "the transaction has too many changed pages");
  case EIO:
    return with(errc::io_error, "the disk failed to read or write");
  case EROFS:
    return with(errc::io_error, "the file system is read-only");
  case EACCES:
  case EPERM:
    return with(errc::io_error, "permission denied");
  case ENOMEM:
    return with(errc::io_error, "not enough address space for the map (storage.map_size)");
  case MDB_PANIC:
    return with(errc::io_error, "an earlier failed write left the file unusable until reopened");
  case MDB_INVALID:
    return with(errc::corrupt, "this is not a data file");
  case MDB_CORRUPTED:
  case MDB_PAGE_NOTFOUND:
    return with(errc::corrupt, "the file's pages do not fit together");
  case MDB_VERSION_MISMATCH:
    return with(errc::incompatible, "the file was written by another version of LMDB");
  case MDB_READERS_FULL:
    return with(errc::unavailable, "too many readers at once");
  default:
    return with(rc > 0 ? errc::io_error : errc::internal, mdb_strerror(rc));
  }
}

namespace {

constexpr mode_t file_mode = 0640;

/// LMDB leaves some of its descriptors open across exec; commands of jobs must not inherit them.
void close_on_exec(const std::string& dir) {
  char* resolved = ::realpath(dir.c_str(), nullptr);
  if (resolved == nullptr) return;
  const std::string prefix = std::string(resolved) + "/";
  std::free(resolved);
  DIR* fds = ::opendir("/proc/self/fd");
  if (fds == nullptr) return;
  while (const dirent* entry = ::readdir(fds)) {
    char target[4096];
    const auto n = ::readlinkat(::dirfd(fds), entry->d_name, target, sizeof target);
    if (n <= 0 || !std::string_view(target, static_cast<std::size_t>(n)).starts_with(prefix))
      continue;
    ::fcntl(std::atoi(entry->d_name), F_SETFD, FD_CLOEXEC);
  }
  ::closedir(fds);
}

} // namespace

result<std::unique_ptr<env>> env::open(env_options options) {
  std::unique_ptr<env> e(new env(std::move(options)));
  if (auto ok = e->open_handle(); !ok) return tl::unexpected(ok.error());
  return e;
}

env::~env() {
  if (env_ == nullptr) return;
  if (!options_.sync && !options_.read_only) sync();
  mdb_env_close(env_);
}

result<void> env::open_handle() {
  const auto give_up = [&](int rc) -> result<void> {
    if (env_ != nullptr) mdb_env_close(env_);
    env_ = nullptr;
    return failed(rc, name());
  };
  if (int rc = mdb_env_create(&env_); rc != 0) return give_up(rc);
  mdb_env_set_maxdbs(env_, 16);
  mdb_env_set_maxreaders(env_, 1024);
  if (options_.map_size != 0)
    if (int rc = mdb_env_set_mapsize(env_, options_.map_size); rc != 0) return give_up(rc);
  unsigned flags = MDB_NOTLS;
  if (options_.read_only) flags |= MDB_RDONLY;
  // Pages reach the disk before the page that makes them valid either way: a crash can lose the
  // newest commits, never damage the file. MDB_NOSYNC would not promise that.
  if (!options_.sync) flags |= MDB_NOMETASYNC;
  if (int rc = mdb_env_open(env_, options_.dir.c_str(), flags, file_mode); rc != 0)
    return give_up(rc);
  close_on_exec(options_.dir);
  if (!options_.read_only) {
    int dead = 0;
    mdb_reader_check(env_, &dead);
  }
  return {};
}

result<std::string> env::peek_meta(std::string_view key) {
  MDB_txn* txn = nullptr;
  if (int rc = mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn); rc != 0) return failed(rc, name());
  MDB_dbi dbi = 0;
  std::string found;
  int rc = mdb_dbi_open(txn, "meta", 0, &dbi);
  if (rc == 0) {
    auto k = val(key);
    MDB_val v{};
    rc = mdb_get(txn, dbi, &k, &v);
    if (rc == 0) found = text(v);
  }
  mdb_txn_abort(txn); // also closes the table's handle
  if (rc != 0 && rc != MDB_NOTFOUND) return failed(rc, name());
  return found;
}

result<void> env::open_tables() {
  MDB_txn* txn = nullptr;
  const unsigned mode = options_.read_only ? MDB_RDONLY : 0;
  if (int rc = mdb_txn_begin(env_, nullptr, mode, &txn); rc != 0) return failed(rc, name());
  dbis_.assign(options_.tables.size(), 0);
  for (std::size_t i = 0; i < dbis_.size(); ++i) {
    const unsigned flags = options_.read_only ? 0 : MDB_CREATE;
    if (int rc = mdb_dbi_open(txn, options_.tables[i], flags, &dbis_[i]); rc != 0) {
      mdb_txn_abort(txn);
      if (rc == MDB_NOTFOUND)
        return fail(errc::corrupt, name(),
                    std::string("table ") + options_.tables[i] + " is missing");
      return failed(rc, name());
    }
  }
  if (int rc = mdb_txn_commit(txn); rc != 0) return failed(rc, name());
  return {};
}

result<void> env::reopen() {
  std::unique_lock lock(mutex_);
  ++generation_;
  if (env_ != nullptr) mdb_env_close(env_);
  env_ = nullptr;
  if (auto ok = open_handle(); !ok) return ok;
  return open_tables();
}

result<read_txn> env::read() {
  std::shared_lock lock(mutex_);
  if (env_ == nullptr) return fail(errc::io_error, name(), "the file could not be reopened");
  MDB_txn* txn = nullptr;
  if (int rc = mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn); rc != 0) return failed(rc, name());
  return read_txn(txn, std::move(lock));
}

result<MDB_txn*> env::begin_write() {
  if (options_.read_only) return fail(errc::io_error, name(), "opened for reading only");
  for (bool again = true;; again = false) {
    MDB_txn* txn = nullptr;
    const int rc = env_ == nullptr ? MDB_PANIC : mdb_txn_begin(env_, nullptr, 0, &txn);
    if (rc == 0) {
      changes_.clear(); // of one that was aborted
      return txn;
    }
    if (rc != MDB_PANIC || !again) return failed(rc, name());
    // LMDB refuses to go on after it could not write a meta page. What is on disk is one of the
    // last two commits, whole: opening again finds out which.
    if (auto ok = reopen(); !ok) return tl::unexpected(ok.error());
  }
}

result<int> env::commit(MDB_txn* txn) {
  if (hook_ == nullptr) return mdb_txn_commit(txn);
  if (auto ok = hook_->before(txn, changes_); !ok) {
    mdb_txn_abort(txn);
    return tl::unexpected(ok.error());
  }
  const int rc = mdb_txn_commit(txn);
  hook_->written(rc == 0);
  return rc;
}

int env::put(MDB_txn* txn, std::size_t table, MDB_val key, MDB_val value, unsigned flags) {
  const int rc = mdb_put(txn, dbis_[table], &key, &value, flags);
  if (rc == 0 && hook_ != nullptr) changes_.put(table, text(key), text(value));
  return rc;
}

int env::erase(MDB_txn* txn, std::size_t table, MDB_val key) {
  const int rc = mdb_del(txn, dbis_[table], &key, nullptr);
  if (rc == 0 && hook_ != nullptr) changes_.erase(table, text(key));
  return rc;
}

int env::erase(const cursor& at, std::size_t table) {
  if (hook_ != nullptr) {
    MDB_val k{}, v{};
    if (int rc = at.seek(k, v, MDB_GET_CURRENT); rc != 0) return rc;
    changes_.erase(table, text(k));
  }
  return mdb_cursor_del(at.get(), 0);
}

page_use env::pages() {
  MDB_envinfo info{};
  MDB_stat stat{};
  mdb_env_info(env_, &info);
  mdb_env_stat(env_, &stat);
  return {stat.ms_psize, info.me_last_pgno + 1, 0, info.me_mapsize};
}

result<page_use> env::count_pages(const read_txn& txn) {
  auto use = pages();
  // Table 0 is LMDB's list of free pages: transaction → count, page numbers.
  cursor c;
  if (int rc = c.open(txn.get(), 0); rc != 0) return failed(rc, name());
  MDB_val k{}, v{};
  int rc = c.seek(k, v, MDB_FIRST);
  for (; rc == 0; rc = c.seek(k, v, MDB_NEXT)) {
    std::size_t n = 0;
    if (v.mv_size >= sizeof n) std::memcpy(&n, v.mv_data, sizeof n);
    use.free += n;
  }
  if (rc != MDB_NOTFOUND) return failed(rc, name());
  return use;
}

result<std::uint64_t> env::file_bytes() {
  std::shared_lock lock(mutex_);
  int fd = -1;
  struct stat st {};
  if (env_ == nullptr || mdb_env_get_fd(env_, &fd) != 0 || ::fstat(fd, &st) != 0)
    return fail(errc::io_error, name(), "cannot ask for the file's size");
  return static_cast<std::uint64_t>(st.st_size);
}

result<void> env::copy_to(int fd) {
  std::shared_lock lock(mutex_);
  if (env_ == nullptr) return fail(errc::io_error, name(), "the file could not be reopened");
  if (int rc = mdb_env_copyfd2(env_, fd, MDB_CP_COMPACT); rc != 0) return failed(rc, name());
  return {};
}

void env::sync() {
  if (env_ != nullptr) mdb_env_sync(env_, 1);
}

} // namespace lycosa::storage::lmdb
