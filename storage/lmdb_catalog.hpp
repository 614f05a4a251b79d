#pragma once

#include "storage/catalog.hpp"
#include "storage/disk_reserve.hpp"
#include "storage/meta.hpp"

#include <functional>
#include <mutex>

namespace lycosa::storage {

struct lmdb_catalog_options {
  std::string dir; ///< exists
  identity id;     ///< of a new one; `shards` is what the whole directory has
  bool create = false;
  bool read_only = false;
  /// Open already, with all tables: of a replica. Null = open `dir`.
  std::shared_ptr<lmdb::env> env = nullptr;
};

/// Tables of a catalog's environment.
[[nodiscard]] std::vector<const char*> catalog_tables();
/// Bytes of its map: address space, not disk.
inline constexpr std::uint64_t catalog_map = std::uint64_t{16} << 30;

/// Shared limits of both catalogs: a space's name and a blob's name make one key of ≤ 511 bytes.
[[nodiscard]] result<void> check_blob_name(std::string_view space, std::string_view name);
/// What a project must be to be stored.
[[nodiscard]] result<void> check_storable(const project_record& p);

/// The blobs of one space as of one commit. What it shows stays as long as it lives. Answers are
/// LMDB's: 0, MDB_NOTFOUND, or what went wrong.
class blob_snapshot {
public:
  blob_snapshot(lmdb::read_txn txn, MDB_dbi blobs, std::string_view space)
      : txn_(std::move(txn)), blobs_(blobs), prefix_(std::string(space) + '\0') {}

  int get(std::string_view name, std::string_view& value) const;
  /// All of them, in the order of their names. 0 at the end.
  int each(const std::function<void(std::string_view name, std::string_view value)>& look) const;

private:
  lmdb::read_txn txn_;
  MDB_dbi blobs_;
  std::string prefix_;
};

/// The catalog in its own LMDB environment. Small and rarely written: every mutation is synced,
/// whatever `durability` says, and may use all of the space there is.
class lmdb_catalog final : public catalog_store {
public:
  static result<std::unique_ptr<lmdb_catalog>> open(lmdb_catalog_options options,
                                                    std::shared_ptr<disk_reserve> disk);

  result<std::vector<project_record>> projects() override;
  result<std::vector<project_record>> put_projects(std::vector<project_record> batch) override;
  result<void> erase_project(project_id id) override;
  result<void> put_blobs(std::string_view space,
                         const std::vector<std::pair<std::string, std::string>>& batch) override;
  result<std::string> get_blob(std::string_view space, std::string_view name) override;
  result<std::vector<std::pair<std::string, std::string>>>
  scan_blobs(std::string_view space, std::string_view after, std::size_t limit) override;

  /// Keep it short: it pins old pages.
  result<blob_snapshot> snapshot(std::string_view space);

  [[nodiscard]] lmdb::env& env() { return *env_; }
  [[nodiscard]] const identity& id() const { return id_; }

private:
  enum table : std::size_t { meta, projects_, names, blobs };
  using body = std::function<result<void>(MDB_txn*)>;
  explicit lmdb_catalog(std::shared_ptr<disk_reserve> disk) : disk_(std::move(disk)) {}
  result<void> start(const lmdb_catalog_options& options);
  /// Stores one project and gives it an id if it has none.
  result<void> put_one(MDB_txn* txn, project_record& p);
  result<void> change(const body& write);
  result<void> attempt(const body& write);
  [[nodiscard]] tl::unexpected<error> failed(int rc) const {
    return lmdb::failed(rc, env_->name());
  }

  std::shared_ptr<lmdb::env> env_;
  std::shared_ptr<disk_reserve> disk_;
  identity id_;
  std::mutex writer_; // LMDB's write transactions belong to one thread at a time
};

} // namespace lycosa::storage
