#include "storage/replica_set.hpp"

#include "storage/dir_files.hpp"
#include "storage/open.hpp"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace lycosa::storage {

namespace fs = std::filesystem;

namespace {

constexpr const char* mark_file = "cluster";
constexpr std::string_view mark_title = "lycosa cluster 1";

template <class T>
bool parse(std::string_view text, T& out, int base = 10) {
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return ec == std::errc{} && end == text.data() + text.size();
}

class lmdb_replica_set final : public replica_set {
public:
  result<void> start(const replica_set_options& o) {
    std::error_code ec;
    if (fs::create_directories(o.dir, ec); ec) return fail(errc::io_error, o.dir, ec.message());
    auto lock = take_lock(o.dir);
    if (!lock) return tl::unexpected(lock.error());
    lock_ = std::move(*lock);
    for (unsigned i = 0; i <= o.shards; ++i) {
      const bool last = i == o.shards;
      const auto path = o.dir + "/" + (last ? "catalog" : shard_name(i));
      if (::mkdir(path.c_str(), 0750) != 0 && errno != EEXIST) return os_error(path);
      auto store =
          replica_store::open({path, last, o.map_size == 0 ? default_map : o.map_size, o.sync});
      if (!store) return tl::unexpected(store.error());
      if (auto ok = sync_dir(path); !ok) return ok;
      stores_.push_back(std::move(*store));
    }
    return sync_dir(o.dir);
  }

  [[nodiscard]] std::uint16_t shards() const override {
    return static_cast<std::uint16_t>(stores_.size() - 1);
  }
  [[nodiscard]] replica_store& shard(std::size_t i) override { return *stores_[i]; }
  [[nodiscard]] replica_store& catalog() override { return *stores_.back(); }

private:
  std::shared_ptr<void> lock_; // let go of last
  std::vector<std::unique_ptr<replica_store>> stores_;
};

} // namespace

result<std::optional<cluster_mark>> read_cluster_mark(const std::string& dir) {
  const auto path = dir + "/" + mark_file;
  std::error_code ec;
  if (!fs::exists(path, ec)) return std::nullopt;
  std::ifstream in(path);
  std::string title, word;
  cluster_mark mark;
  std::uint64_t node = 0;
  bool good = std::getline(in, title) && title == mark_title;
  while (good && in >> word) {
    std::string value;
    in >> std::ws;
    std::getline(in, value);
    if (word == "name") mark.cluster = value;
    if (word == "id") mark.id = value;
    if (word == "node") good = parse(value, node, 16);
    if (word == "shards") good = parse(value, mark.shards);
  }
  mark.node = cluster::node_id{node};
  if (!good || mark.cluster.empty() || mark.node == cluster::node_id::none)
    return fail(errc::corrupt, path, "it does not say which cluster the directory belongs to");
  return mark;
}

result<void> write_cluster_mark(const std::string& dir, const cluster_mark& mark) {
  std::error_code ec;
  if (fs::create_directories(dir, ec); ec) return fail(errc::io_error, dir, ec.message());
  std::ostringstream text;
  text << mark_title << "\nname " << mark.cluster << "\n";
  if (!mark.id.empty()) text << "id " << mark.id << "\n";
  text << "node " << std::hex << static_cast<std::uint64_t>(mark.node) << "\nshards " << std::dec
       << mark.shards << "\n";
  return replace_file(dir, mark_file, text.str());
}

result<void> leave_cluster(const std::string& dir) {
  auto mark = read_cluster_mark(dir);
  if (!mark) return tl::unexpected(mark.error());
  if (!*mark) return fail(errc::not_found, dir, "it belongs to no cluster");
  if ((*mark)->shards != 0) {
    auto set = replica_set::open({dir, (*mark)->shards, 0, true});
    if (!set) return tl::unexpected(set.error());
    for (std::size_t i = 0; i <= (*set)->shards(); ++i) {
      auto& store = i == (*set)->shards() ? (*set)->catalog() : (*set)->shard(i);
      auto found = store.found();
      if (!found) return tl::unexpected(found.error());
      if (found->copying || found->log.end().lsn == 0)
        return fail(errc::unavailable, dir, "its copies are not whole");
    }
    for (std::size_t i = 0; i <= (*set)->shards(); ++i)
      if (auto ok = (i == (*set)->shards() ? (*set)->catalog() : (*set)->shard(i)).forget(); !ok)
        return ok;
  }
  if (::unlink((dir + "/" + mark_file).c_str()) != 0) return os_error(dir + "/" + mark_file);
  return sync_dir(dir);
}

result<cluster::node_id> draw_node_id() {
  std::uint64_t id = 0;
  while (id == 0)
    if (::getrandom(&id, sizeof id, 0) < 0) return os_error("getrandom");
  return cluster::node_id{id};
}

bool holds_data(const std::string& dir) {
  std::error_code ec;
  return !fs::exists(dir + "/creating", ec)
         && (fs::exists(dir + "/catalog", ec) || fs::exists(dir + "/shard-000", ec));
}

bool holds_shard(const std::string& dir, unsigned shard) {
  std::error_code ec;
  return fs::exists(dir + "/" + shard_name(shard) + "/data.mdb", ec);
}

result<std::shared_ptr<replica_set>> replica_set::open(const replica_set_options& options) {
  auto set = std::make_shared<lmdb_replica_set>();
  if (auto ok = set->start(options); !ok) return tl::unexpected(ok.error());
  return set;
}

} // namespace lycosa::storage
