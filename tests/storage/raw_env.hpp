#pragma once

#include <gtest/gtest.h>
#include <lmdb.h>

#include <string>

/// A store's file past the store, for damage and for what older versions wrote.
namespace lycosa::storage::test {

inline MDB_val as_value(std::string& bytes) {
  return {bytes.size(), bytes.data()};
}

/// An environment opened by LMDB alone, for one transaction.
class raw_env {
public:
  explicit raw_env(const std::string& dir) {
    EXPECT_EQ(mdb_env_create(&env_), 0);
    EXPECT_EQ(mdb_env_set_maxdbs(env_, 16), 0);
    EXPECT_EQ(mdb_env_set_mapsize(env_, 256 << 20), 0);
    EXPECT_EQ(mdb_env_open(env_, dir.c_str(), 0, 0640), 0);
    EXPECT_EQ(mdb_txn_begin(env_, nullptr, 0, &txn_), 0);
  }
  ~raw_env() {
    EXPECT_EQ(mdb_txn_commit(txn_), 0);
    mdb_env_close(env_);
  }
  MDB_dbi table(const char* name, bool create = false) {
    MDB_dbi dbi = 0;
    EXPECT_EQ(mdb_dbi_open(txn_, name, create ? MDB_CREATE : 0, &dbi), 0) << name;
    return dbi;
  }
  void put(MDB_dbi dbi, std::string key, std::string value) {
    auto k = as_value(key), v = as_value(value);
    EXPECT_EQ(mdb_put(txn_, dbi, &k, &v, 0), 0);
  }
  std::string get(MDB_dbi dbi, std::string key) {
    auto k = as_value(key);
    MDB_val v{};
    EXPECT_EQ(mdb_get(txn_, dbi, &k, &v), 0);
    return {static_cast<const char*>(v.mv_data), v.mv_size};
  }
  void erase(MDB_dbi dbi, std::string key) {
    auto k = as_value(key);
    EXPECT_EQ(mdb_del(txn_, dbi, &k, nullptr), 0);
  }
  [[nodiscard]] MDB_txn* txn() const { return txn_; }

private:
  MDB_env* env_ = nullptr;
  MDB_txn* txn_ = nullptr;
};

} // namespace lycosa::storage::test
