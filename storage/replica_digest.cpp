#include "storage/replica_digest.hpp"

#include "storage/lmdb_catalog.hpp"
#include "storage/lmdb_shard.hpp"
#include "storage/open.hpp"
#include "storage/replica_log.hpp"
#include "storage/replica_set.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstdio>

namespace lycosa::storage {

namespace {

class hasher {
public:
  hasher() { XXH3_128bits_reset(&state_); }
  void add(const MDB_val& v) {
    const auto size = static_cast<std::uint64_t>(v.mv_size);
    XXH3_128bits_update(&state_, &size, sizeof size);
    XXH3_128bits_update(&state_, v.mv_data, v.mv_size);
  }
  [[nodiscard]] std::string hex() const {
    const auto h = XXH3_128bits_digest(&state_);
    std::array<char, 33> text{};
    std::snprintf(text.data(), text.size(), "%016llx%016llx",
                  static_cast<unsigned long long>(h.high64),
                  static_cast<unsigned long long>(h.low64));
    return text.data();
  }

private:
  XXH3_state_t state_;
};

result<environment_digest> digest_of(const std::string& dir, const std::string& name,
                                     std::vector<const char*> tables) {
  const auto count = tables.size();
  tables.push_back("replica");
  auto env = lmdb::env::open({dir + "/" + name, name, 0, true, true, tables});
  if (!env) return tl::unexpected(env.error());
  if (auto ok = (*env)->open_tables(); !ok) {
    // Of a single node: there is no log of replicas.
    (*env)->omit_tables_from(count);
    if (ok = (*env)->open_tables(); !ok) return tl::unexpected(ok.error());
  }
  auto txn = (*env)->read();
  if (!txn) return tl::unexpected(txn.error());
  environment_digest out;
  out.name = name;
  if ((*env)->options().tables.size() > count) {
    auto state = replica_rows::get_state(txn->get(), (*env)->table(count), name);
    if (!state) return tl::unexpected(state.error());
    if (*state) out.at = (*state)->end;
  }
  hasher all;
  for (std::size_t t = 0; t < count; ++t) {
    lmdb::cursor c;
    if (int rc = c.open(txn->get(), (*env)->table(t)); rc != 0) return lmdb::failed(rc, name);
    MDB_val k{}, v{};
    int rc = c.seek(k, v, MDB_FIRST);
    for (; rc == 0; rc = c.seek(k, v, MDB_NEXT)) {
      all.add(k);
      all.add(v);
    }
    if (rc != MDB_NOTFOUND) return lmdb::failed(rc, name);
  }
  out.digest = all.hex();
  return out;
}

} // namespace

result<std::vector<environment_digest>> digest_data_dir(const std::string& dir) {
  if (!holds_data(dir)) return fail(errc::not_found, dir, "this is not a data directory");
  std::vector<environment_digest> out;
  auto catalog = digest_of(dir, "catalog", catalog_tables());
  if (!catalog) return tl::unexpected(catalog.error());
  out.push_back(std::move(*catalog));
  for (unsigned i = 0; holds_shard(dir, i); ++i) {
    auto shard = digest_of(dir, shard_name(i), shard_tables());
    if (!shard) return tl::unexpected(shard.error());
    out.push_back(std::move(*shard));
  }
  return out;
}

} // namespace lycosa::storage
