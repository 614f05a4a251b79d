#include "storage/lmdb_catalog.hpp"

#include "storage/codec.hpp"
#include "storage/keys.hpp"

namespace lycosa::storage {

namespace {

constexpr std::string_view next_project_key = "next_project";

std::string blob_key(std::string_view space, std::string_view name) {
  std::string key(space);
  key += '\0';
  key += name;
  return key;
}

int get_u32(MDB_txn* txn, MDB_dbi dbi, std::string_view key, std::uint32_t& out) {
  auto k = lmdb::val(key);
  MDB_val v{};
  if (int rc = mdb_get(txn, dbi, &k, &v); rc != 0) return rc;
  if (v.mv_size != 4) return MDB_CORRUPTED;
  out = get_little<std::uint32_t>(v.mv_data);
  return 0;
}

int put_u32(lmdb::env& env, MDB_txn* txn, std::size_t table, std::string_view key,
            std::uint32_t value) {
  std::array<std::byte, 4> b;
  put_little(b.data(), value);
  return env.put(txn, table, lmdb::val(key), lmdb::val(b));
}

} // namespace

result<void> check_blob_name(std::string_view space, std::string_view name) {
  if (space.empty() || space.find('\0') != std::string_view::npos)
    return fail(errc::invalid_argument, "space", "must be a word without NUL bytes");
  if (space.size() + 1 + name.size() > 511)
    return fail(errc::too_large, "name", "longer than a key may be (511 bytes with its space)");
  return {};
}

result<void> check_storable(const project_record& p) {
  if (p.name.empty() || p.name.size() > 511)
    return fail(errc::invalid_argument, "name", "must have 1 to 511 bytes");
  return {};
}

std::vector<const char*> catalog_tables() {
  return {"meta", "projects", "names", "blobs"};
}

result<std::unique_ptr<lmdb_catalog>> lmdb_catalog::open(lmdb_catalog_options options,
                                                         std::shared_ptr<disk_reserve> disk) {
  std::unique_ptr<lmdb_catalog> c(new lmdb_catalog(std::move(disk)));
  if (auto ok = c->start(options); !ok) return tl::unexpected(ok.error());
  return c;
}

result<void> lmdb_catalog::start(const lmdb_catalog_options& options) {
  const bool shared = options.env != nullptr;
  if (shared) {
    env_ = options.env;
  } else {
    auto opened = lmdb::env::open(
        {options.dir, options.dir, catalog_map, true, options.read_only, catalog_tables()});
    if (!opened) return tl::unexpected(opened.error());
    env_ = std::move(*opened);
  }
  id_ = options.id;
  if (!options.create) {
    auto stored = read_identity(*env_);
    if (!stored) return tl::unexpected(stored.error());
    if (stored->kind != env_kind::catalog)
      return fail(errc::incompatible, env_->name(), "this is a shard, not a catalog");
    if (options.id.shards != 0 && options.id.shards != stored->shards)
      return fail(errc::incompatible, options.dir.substr(0, options.dir.rfind('/')),
                  "made with " + std::to_string(stored->shards) + " shards, "
                      + std::to_string(options.id.shards)
                      + " were asked for: the number is fixed when the directory is made");
    id_ = *stored;
  }
  if (!shared)
    if (auto ok = env_->open_tables(); !ok) return ok;
  if (options.read_only) return {};
  return change([&](MDB_txn* txn) -> result<void> {
    if (options.create) {
      if (int rc = put_u32(*env_, txn, meta, next_project_key, 1); rc != 0) return failed(rc);
      return write_identity(*env_, txn, id_);
    }
    ++id_.epoch;
    id_.format = format_version;
    return write_identity(*env_, txn, id_);
  });
}

result<void> lmdb_catalog::attempt(const body& write) {
  auto txn = env_->begin_write();
  if (!txn) return tl::unexpected(txn.error());
  if (auto ok = write(*txn); !ok) {
    mdb_txn_abort(*txn);
    return ok;
  }
  // A commit that others hear of must not be tried twice: room for it is made before.
  if (const auto* changes = env_->changes(); changes != nullptr && disk_)
    disk_->before_settle(4 * changes->size() + (std::uint64_t{1} << 18));
  const auto rc = env_->commit(*txn);
  if (!rc) return tl::unexpected(rc.error());
  if (*rc != 0) return failed(*rc == EIO && disk_ && disk_->exhausted() ? ENOSPC : *rc);
  return env_->settled();
}

result<void> lmdb_catalog::change(const body& write) {
  const std::lock_guard lock(writer_);
  auto done = attempt(write);
  if (!done && done.error().code == errc::no_space && disk_ && disk_->release())
    done = attempt(write);
  return done;
}

result<std::vector<project_record>> lmdb_catalog::projects() {
  auto txn = env_->read();
  if (!txn) return tl::unexpected(txn.error());
  lmdb::cursor c;
  if (int rc = c.open(txn->get(), env_->table(projects_)); rc != 0) return failed(rc);
  std::vector<project_record> out;
  MDB_val k{}, v{};
  int rc = c.seek(k, v, MDB_FIRST);
  for (; rc == 0; rc = c.seek(k, v, MDB_NEXT)) {
    auto p = decode_project(lmdb::text(v));
    if (!p) return tl::unexpected(p.error());
    out.push_back(std::move(*p));
  }
  if (rc != MDB_NOTFOUND) return failed(rc);
  return out;
}

result<void> lmdb_catalog::put_one(MDB_txn* txn, project_record& p) {
  std::uint32_t owner = 0;
  int rc = get_u32(txn, env_->table(names), p.name, owner);
  if (rc != 0 && rc != MDB_NOTFOUND) return failed(rc);
  if (rc == 0 && owner != static_cast<std::uint32_t>(p.id))
    return fail(errc::conflict, "name", "project " + p.name + " exists");
  std::uint32_t next = 0;
  if (rc = get_u32(txn, env_->table(meta), next_project_key, next); rc != 0) return failed(rc);
  if (p.id == project_id{})
    p.id = project_id{next++};
  else
    next = std::max(next, static_cast<std::uint32_t>(p.id) + 1);
  if (rc = put_u32(*env_, txn, meta, next_project_key, next); rc != 0) return failed(rc);
  const auto key = project_key(p.id);
  auto k = lmdb::val(key);
  MDB_val v{};
  rc = mdb_get(txn, env_->table(projects_), &k, &v);
  if (rc != 0 && rc != MDB_NOTFOUND) return failed(rc);
  if (rc == 0) {
    // Renamed: the old name is free again.
    auto old = decode_project(lmdb::text(v));
    if (old && old->name != p.name) {
      if (int gone = env_->erase(txn, names, lmdb::val(old->name)); gone != 0)
        if (gone != MDB_NOTFOUND) return failed(gone);
    }
  }
  const auto bytes = encode_project(p);
  if (rc = env_->put(txn, projects_, lmdb::val(key), lmdb::val(bytes)); rc != 0) return failed(rc);
  rc = put_u32(*env_, txn, names, p.name, static_cast<std::uint32_t>(p.id));
  if (rc != 0) return failed(rc);
  return {};
}

result<std::vector<project_record>> lmdb_catalog::put_projects(std::vector<project_record> batch) {
  for (const auto& p : batch)
    if (auto ok = check_storable(p); !ok) return tl::unexpected(ok.error());
  std::vector<project_record> stored;
  auto done = change([&](MDB_txn* txn) -> result<void> {
    stored = batch; // anew with each attempt: the ids given by one that failed are void
    for (auto& p : stored)
      if (auto ok = put_one(txn, p); !ok) return ok;
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  return stored;
}

result<void> lmdb_catalog::erase_project(project_id id) {
  return change([&](MDB_txn* txn) -> result<void> {
    const auto key = project_key(id);
    auto k = lmdb::val(key);
    MDB_val v{};
    int rc = mdb_get(txn, env_->table(projects_), &k, &v);
    if (rc == MDB_NOTFOUND) return fail(errc::not_found, "project", "does not exist");
    if (rc != 0) return failed(rc);
    if (auto old = decode_project(lmdb::text(v))) {
      rc = env_->erase(txn, names, lmdb::val(old->name));
      if (rc != 0 && rc != MDB_NOTFOUND) return failed(rc);
    }
    if (rc = env_->erase(txn, projects_, lmdb::val(key)); rc != 0) return failed(rc);
    return {};
  });
}

result<void>
lmdb_catalog::put_blobs(std::string_view space,
                        const std::vector<std::pair<std::string, std::string>>& batch) {
  for (const auto& [name, value] : batch)
    if (auto ok = check_blob_name(space, name); !ok) return ok;
  if (batch.empty()) return {};
  return change([&](MDB_txn* txn) -> result<void> {
    for (const auto& [name, value] : batch) {
      const auto key = blob_key(space, name);
      const auto k = lmdb::val(key);
      const int rc = value.empty() ? env_->erase(txn, blobs, k)
                                   : env_->put(txn, blobs, k, lmdb::val(value));
      if (rc != 0 && !(value.empty() && rc == MDB_NOTFOUND)) return failed(rc);
    }
    return {};
  });
}

result<std::string> lmdb_catalog::get_blob(std::string_view space, std::string_view name) {
  if (auto ok = check_blob_name(space, name); !ok) return tl::unexpected(ok.error());
  auto txn = env_->read();
  if (!txn) return tl::unexpected(txn.error());
  const auto key = blob_key(space, name);
  auto k = lmdb::val(key);
  MDB_val v{};
  const int rc = mdb_get(txn->get(), env_->table(blobs), &k, &v);
  if (rc == MDB_NOTFOUND) return fail(errc::not_found, std::string(name), "does not exist");
  if (rc != 0) return failed(rc);
  return std::string(lmdb::text(v));
}

result<std::vector<std::pair<std::string, std::string>>>
lmdb_catalog::scan_blobs(std::string_view space, std::string_view after, std::size_t limit) {
  if (auto ok = check_blob_name(space, after); !ok) return tl::unexpected(ok.error());
  auto txn = env_->read();
  if (!txn) return tl::unexpected(txn.error());
  lmdb::cursor c;
  if (int rc = c.open(txn->get(), env_->table(blobs)); rc != 0) return failed(rc);
  const auto start = blob_key(space, after);
  const auto prefix = blob_key(space, "");
  auto k = lmdb::val(start);
  MDB_val v{};
  int rc = c.seek(k, v, MDB_SET_RANGE);
  if (rc == 0 && !after.empty() && lmdb::text(k) == start) rc = c.seek(k, v, MDB_NEXT);
  std::vector<std::pair<std::string, std::string>> out;
  for (; rc == 0 && out.size() < limit && lmdb::text(k).starts_with(prefix);
       rc = c.seek(k, v, MDB_NEXT))
    out.emplace_back(lmdb::text(k).substr(prefix.size()), lmdb::text(v));
  if (rc != 0 && rc != MDB_NOTFOUND) return failed(rc);
  return out;
}

result<blob_snapshot> lmdb_catalog::snapshot(std::string_view space) {
  auto txn = env_->read();
  if (!txn) return tl::unexpected(txn.error());
  return blob_snapshot(std::move(*txn), env_->table(blobs), space);
}

int blob_snapshot::get(std::string_view name, std::string_view& value) const {
  const auto key = prefix_ + std::string(name);
  auto k = lmdb::val(key);
  MDB_val v{};
  const int rc = mdb_get(txn_.get(), blobs_, &k, &v);
  if (rc == 0) value = lmdb::text(v);
  return rc;
}

int blob_snapshot::each(
    const std::function<void(std::string_view name, std::string_view value)>& look) const {
  lmdb::cursor c;
  if (int rc = c.open(txn_.get(), blobs_); rc != 0) return rc;
  auto k = lmdb::val(prefix_);
  MDB_val v{};
  int rc = c.seek(k, v, MDB_SET_RANGE);
  for (; rc == 0 && lmdb::text(k).starts_with(prefix_); rc = c.seek(k, v, MDB_NEXT))
    look(lmdb::text(k).substr(prefix_.size()), lmdb::text(v));
  return rc == MDB_NOTFOUND ? 0 : rc;
}

} // namespace lycosa::storage
