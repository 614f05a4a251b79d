#include "storage/replica_log.hpp"

#include <utility>

namespace lycosa::storage {

namespace {

/// Where a piece begins. Keys between two of these make one.
struct cut {
  std::size_t table = 0;
  std::string key;
};

class cut_view final : public replica_store::copy {
public:
  cut_view(lmdb::env& env, lmdb::read_txn txn, std::size_t tables, cluster::entry_id at)
      : env_(env), txn_(std::move(txn)), tables_(tables), at_(at) {}

  int cut_pieces(std::size_t chunk_bytes) {
    std::size_t bytes = chunk_bytes; // so that the first key begins a piece
    return each(0, {}, [&](std::size_t table, const MDB_val& k, const MDB_val& v) {
      if (bytes >= chunk_bytes) {
        cuts_.push_back({table, std::string(lmdb::text(k))});
        bytes = 0;
      }
      bytes += k.mv_size + v.mv_size + 7;
      return true;
    });
  }

  [[nodiscard]] cluster::entry_id at() const override { return at_; }
  [[nodiscard]] std::uint32_t chunks() const override {
    return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(cuts_.size()));
  }

  result<std::string> chunk(std::uint32_t i) override {
    change_set out;
    if (i >= cuts_.size()) return out.take(); // an empty environment is one empty piece
    const cut* end = i + 1 < cuts_.size() ? &cuts_[i + 1] : nullptr;
    const int rc = each(cuts_[i].table, cuts_[i].key,
                        [&](std::size_t table, const MDB_val& k, const MDB_val& v) {
                          if (end != nullptr && table == end->table && lmdb::text(k) == end->key)
                            return false;
                          out.put(table, lmdb::text(k), lmdb::text(v));
                          return true;
                        });
    if (rc != 0) return lmdb::failed(rc, env_.name());
    return out.take();
  }

private:
  /// From a key of a table on through the tables behind it, while `look` says true.
  template <class Look>
  int each(std::size_t table, std::string_view from, Look look) {
    for (; table < tables_; ++table, from = {}) {
      lmdb::cursor c;
      if (int rc = c.open(txn_.get(), env_.table(table)); rc != 0) return rc;
      auto k = lmdb::val(from);
      MDB_val v{};
      int rc = c.seek(k, v, from.empty() ? MDB_FIRST : MDB_SET_RANGE);
      for (; rc == 0; rc = c.seek(k, v, MDB_NEXT))
        if (!look(table, k, v)) return 0;
      if (rc != MDB_NOTFOUND) return rc;
    }
    return 0;
  }

  lmdb::env& env_;
  lmdb::read_txn txn_;
  std::size_t tables_;
  cluster::entry_id at_;
  std::vector<cut> cuts_;
};

} // namespace

result<std::unique_ptr<replica_store::copy>> cut_copy(lmdb::env& env, std::size_t tables,
                                                      MDB_dbi replica, std::size_t chunk_bytes) {
  auto txn = env.read();
  if (!txn) return tl::unexpected(txn.error());
  auto state = replica_rows::get_state(txn->get(), replica, env.name());
  if (!state) return tl::unexpected(state.error());
  if (!*state || (*state)->copying)
    return fail(errc::unavailable, env.name(), "this replica is not whole");
  auto view = std::make_unique<cut_view>(env, std::move(*txn), tables, (*state)->end);
  if (int rc = view->cut_pieces(chunk_bytes); rc != 0) return lmdb::failed(rc, env.name());
  return view;
}

} // namespace lycosa::storage
