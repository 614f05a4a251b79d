#include "storage/meta.hpp"

#include "storage/keys.hpp"

namespace lycosa::storage {

namespace {

constexpr std::string_view format_key = "format", identity_key = "identity", epoch_key = "epoch";
constexpr std::size_t identity_bytes = 24;

constexpr std::size_t meta = 0; // every environment's first table

result<void> put(lmdb::env& env, MDB_txn* txn, std::string_view key,
                 std::span<const std::byte> value) {
  if (int rc = env.put(txn, meta, lmdb::val(key), lmdb::val(value)); rc != 0)
    return lmdb::failed(rc, env.name());
  return {};
}

} // namespace

result<identity> read_identity(lmdb::env& env) {
  auto format = env.peek_meta(format_key);
  if (!format) return tl::unexpected(format.error());
  if (format->size() != 4) return fail(errc::corrupt, env.name(), "its format version is missing");
  identity id;
  id.format = get_little<std::uint32_t>(format->data());
  // Nothing else is looked at: a newer version may have changed it all.
  if (id.format > format_version)
    return fail(errc::incompatible, env.name(),
                "written in format " + std::to_string(id.format) + ", this version reads up to "
                    + std::to_string(format_version) + ": use a newer lycosa");
  auto body = env.peek_meta(identity_key);
  auto epoch = env.peek_meta(epoch_key);
  if (!body) return tl::unexpected(body.error());
  if (!epoch) return tl::unexpected(epoch.error());
  if (body->size() != identity_bytes || epoch->size() != 8)
    return fail(errc::corrupt, env.name(), "its identity is missing");
  const auto* b = body->data();
  id.kind = static_cast<env_kind>(get_little<std::uint32_t>(b));
  std::memcpy(id.directory.data(), b + 4, id.directory.size());
  id.shard = get_little<std::uint16_t>(b + 20);
  id.shards = get_little<std::uint16_t>(b + 22);
  id.epoch = get_little<std::uint64_t>(epoch->data());
  return id;
}

result<void> write_identity(lmdb::env& env, MDB_txn* txn, const identity& id) {
  std::array<std::byte, 4> format;
  put_little(format.data(), id.format);
  if (auto ok = put(env, txn, format_key, format); !ok) return ok;
  std::array<std::byte, identity_bytes> b;
  put_little(b.data(), static_cast<std::uint32_t>(id.kind));
  std::memcpy(b.data() + 4, id.directory.data(), id.directory.size());
  put_little(b.data() + 20, id.shard);
  put_little(b.data() + 22, id.shards);
  if (auto ok = put(env, txn, identity_key, b); !ok) return ok;
  return write_epoch(env, txn, id.epoch);
}

result<void> write_epoch(lmdb::env& env, MDB_txn* txn, std::uint64_t epoch) {
  std::array<std::byte, 8> b;
  put_little(b.data(), epoch);
  return put(env, txn, epoch_key, b);
}

} // namespace lycosa::storage
