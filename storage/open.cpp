#include "storage/open.hpp"

#include "storage/dir_files.hpp"
#include "storage/lmdb_catalog.hpp"
#include "storage/lmdb_probe.hpp"
#include "storage/lmdb_shard.hpp"
#include "storage/memory_catalog.hpp"
#include "storage/memory_shard.hpp"
#include "storage/replica_set.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>

namespace lycosa::storage {

namespace fs = std::filesystem;

namespace {

/// What a directory holds, found by looking alone.
struct survey {
  bool fresh = false;       ///< no data yet
  bool interrupted = false; ///< its making was cut off: nothing in it was ever acknowledged
};

result<survey> look(const open_options& o) {
  std::error_code ec;
  const auto st = fs::status(o.dir, ec);
  if (!fs::exists(st)) {
    if (ec && ec != std::errc::no_such_file_or_directory)
      return fail(errc::io_error, o.dir, ec.message());
    if (!o.create || o.read_only) return fail(errc::not_found, o.dir, "no such directory");
    return survey{true, false};
  }
  if (!fs::is_directory(st)) return fail(errc::io_error, o.dir, "not a directory");
  if (::access(o.dir.c_str(), o.read_only ? R_OK | X_OK : R_OK | W_OK | X_OK) != 0)
    return os_error(o.dir);
  auto mark = read_cluster_mark(o.dir);
  if (!mark) return tl::unexpected(mark.error());
  if (*mark && (*mark)->shards != 0 && !o.read_only)
    return fail(errc::incompatible, o.dir,
                "it belongs to a node of the cluster " + (*mark)->cluster
                    + ": cluster.mode must say so (`lycosa cluster leave` makes it a single "
                      "node's again)");
  survey s;
  s.interrupted = fs::exists(o.dir + "/creating", ec);
  s.fresh = s.interrupted
            || (!fs::exists(o.dir + "/catalog", ec) && !fs::exists(o.dir + "/shard-000", ec));
  if (s.fresh && (!o.create || o.read_only))
    return fail(errc::not_found, o.dir, "this is not a data directory");
  return s;
}

result<void> mend_interrupted(const std::string& dir) {
  std::error_code ec;
  fs::remove_all(dir + "/catalog", ec);
  for (unsigned i = 0; !ec && fs::exists(dir + "/" + shard_name(i)); ++i)
    fs::remove_all(dir + "/" + shard_name(i), ec);
  if (ec) return fail(errc::io_error, dir, ec.message());
  return {};
}

result<void> make_folders(const std::string& dir, std::uint16_t shards) {
  // The marker stands until all is on disk; whatever is cut off before that is begun again.
  const auto marker = dir + "/creating";
  const int fd = ::open(marker.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
  if (fd < 0) return os_error(marker);
  ::close(fd);
  if (auto ok = sync_dir(dir); !ok) return ok;
  for (unsigned i = 0; i <= shards; ++i) {
    const auto path = dir + "/" + (i == shards ? "catalog" : shard_name(i));
    if (::mkdir(path.c_str(), 0750) != 0 && errno != EEXIST) return os_error(path);
  }
  return {};
}

result<void> check_file(const std::string& folder) {
  auto p = lmdb::probe_file(folder + "/data.mdb");
  if (p) return {};
  if (p.error().code == errc::not_found)
    return fail(errc::corrupt, folder + "/data.mdb", "the file is missing");
  return tl::unexpected(p.error());
}

result<std::unique_ptr<lmdb_shard>> open_probe(std::string dir, const identity& expected) {
  lmdb_shard_options options;
  options.dir = std::move(dir);
  options.id = expected;
  options.read_only = true;
  return lmdb_shard::open(std::move(options), nullptr);
}

/// Opens the stores of a directory that was found in order; `id` is the directory's.
result<void> open_stores(const open_options& o, identity id, bool fresh, data_dir& out) {
  std::shared_ptr<disk_reserve> disk;
  if (!o.read_only) disk = std::make_shared<disk_reserve>(o.dir + "/reserve", o.reserve_bytes);
  const auto map = o.map_size == 0 ? default_map : o.map_size;
  // The log grows with reports too: it must not eat the part of the map that is kept for them.
  const auto log_bytes = std::min(o.log_bytes, map / 32);
  for (unsigned i = 0; i < id.shards; ++i) {
    auto shard_id = id;
    shard_id.kind = env_kind::shard;
    shard_id.shard = static_cast<std::uint16_t>(i);
    auto shard = lmdb_shard::open({o.dir + "/" + shard_name(i), shard_id, fresh, o.read_only,
                                   o.sync, map, o.reserve_bytes, log_bytes, o.index_buffer,
                                   o.replicas ? o.replicas->shard(i).env() : nullptr},
                                  disk);
    if (!shard) return tl::unexpected(shard.error());
    out.copies.push_back(
        {shard_name(i) + "/data.mdb", [s = shard->get()](int fd) { return s->env().copy_to(fd); }});
    out.shards.push_back(std::move(*shard));
  }
  id.kind = env_kind::catalog;
  auto catalog = lmdb_catalog::open({o.dir + "/catalog", id, fresh, o.read_only,
                                     o.replicas ? o.replicas->catalog().env() : nullptr},
                                    std::move(disk));
  if (!catalog) return tl::unexpected(catalog.error());
  // The catalog last: a copy then knows every project that the copied shards have tasks of.
  out.copies.push_back(
      {"catalog/data.mdb", [c = catalog->get()](int fd) { return c->env().copy_to(fd); }});
  out.catalog = std::move(*catalog);
  return {};
}

/// The stores of a directory whose replicas this node leads.
result<std::unique_ptr<data_dir>> open_led(const open_options& o) {
  auto out = std::make_unique<data_dir>();
  out->dir = o.dir;
  out->lock = o.replicas;
  auto id = read_identity(*o.replicas->catalog().env());
  if (!id) return tl::unexpected(id.error());
  if (id->shards != o.replicas->shards())
    return fail(errc::incompatible, o.dir,
                "its catalog is of a directory with " + std::to_string(id->shards)
                    + " shards, the cluster has " + std::to_string(o.replicas->shards()));
  if (auto ok = open_stores(o, *id, false, *out); !ok) return tl::unexpected(ok.error());
  return out;
}

} // namespace

/// More writers than cores only make commits smaller, and the disk syncs one after the other.
std::uint16_t default_shards() {
  return static_cast<std::uint16_t>(std::clamp(std::thread::hardware_concurrency(), 1u, 4u));
}

result<std::unique_ptr<data_dir>> open_data_dir(const open_options& o) {
  if (o.replicas) return open_led(o);
  auto found = look(o);
  if (!found) return tl::unexpected(found.error());
  auto out = std::make_unique<data_dir>();
  out->dir = o.dir;
  std::error_code ec;
  if (!o.read_only) {
    if (fs::create_directories(o.dir, ec); ec) return fail(errc::io_error, o.dir, ec.message());
    auto lock = take_lock(o.dir);
    if (!lock) return tl::unexpected(lock.error());
    out->lock = std::move(*lock);
    // Another process may have filled the directory between the look and the lock.
    if (found = look(o); !found) return tl::unexpected(found.error());
  }
  identity id;
  id.shards = o.shards;
  id.epoch = 1;
  if (found->fresh) {
    if (id.shards == 0) id.shards = default_shards();
    if (found->interrupted)
      if (auto ok = mend_interrupted(o.dir); !ok) return tl::unexpected(ok.error());
    if (::getrandom(id.directory.data(), id.directory.size(), 0) < 0) return os_error("getrandom");
    if (auto ok = make_folders(o.dir, id.shards); !ok) return tl::unexpected(ok.error());
  } else if (auto ok = check_file(o.dir + "/catalog"); !ok) {
    return tl::unexpected(ok.error());
  }
  // All files are looked at before the first is opened for writing.
  if (!found->fresh) {
    auto probe = lmdb_catalog::open({o.dir + "/catalog", id, false, true, nullptr}, nullptr);
    if (!probe) return tl::unexpected(probe.error());
    id = (*probe)->id();
    for (unsigned i = 0; i < id.shards; ++i)
      if (auto ok = check_file(o.dir + "/" + shard_name(i)); !ok) return tl::unexpected(ok.error());
    for (unsigned i = 0; i < id.shards; ++i) {
      auto expected = id;
      expected.shard = static_cast<std::uint16_t>(i);
      auto shard = open_probe(o.dir + "/" + shard_name(i), expected);
      if (!shard) return tl::unexpected(shard.error());
    }
  }
  if (auto ok = open_stores(o, id, found->fresh, *out); !ok) return tl::unexpected(ok.error());
  if (found->fresh) {
    for (const auto& c : out->copies)
      if (auto ok = sync_dir(o.dir + "/" + c.path.substr(0, c.path.find('/'))); !ok)
        return tl::unexpected(ok.error());
    if (::unlink((o.dir + "/creating").c_str()) != 0) return os_error(o.dir + "/creating");
    if (auto ok = sync_dir(o.dir); !ok) return tl::unexpected(ok.error());
  }
  return out;
}

std::unique_ptr<data_dir> open_memory(std::uint16_t shards) {
  auto out = std::make_unique<data_dir>();
  if (shards == 0) shards = default_shards();
  for (std::uint16_t i = 0; i < shards; ++i)
    out->shards.push_back(std::make_unique<memory_shard>(i));
  out->catalog = std::make_unique<memory_catalog>();
  return out;
}

} // namespace lycosa::storage
