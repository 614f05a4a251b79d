#include "migrate/redis_rows.hpp"

#include "bridges/redis_link.hpp"

#include <algorithm>
#include <charconv>
#include <map>

namespace lycosa::migrate {

namespace {

using bridges::redis_link;

/// Cursor: status, then Redis' own scan cursor. A scan may give an id twice; the import takes the
/// second for unchanged.
class redis_tasks final : public task_source {
public:
  explicit redis_tasks(bridges::redis_address address) : address_(std::move(address)) {}

  result<void> connect() {
    auto link = redis_link::open(address_, never_);
    if (!link) return tl::unexpected(link.error());
    link_ = std::move(*link);
    return {};
  }

  result<std::vector<std::string>> projects() override {
    auto names = link_->run({"SMEMBERS", "taskdb_projects"});
    if (!names) return tl::unexpected(names.error());
    std::ranges::sort(names->list);
    return std::move(names->list);
  }

  result<task_counts> counts(const std::string& project) override {
    task_counts counts{};
    for (std::size_t status = 1; status <= 4; ++status) {
      const auto key = set_of(project, status);
      auto n = link_->run({"SCARD", key});
      if (!n) return tl::unexpected(n.error());
      counts[status] = static_cast<std::uint64_t>(n->number());
    }
    return counts;
  }

  result<std::vector<task_row>> read(const std::string& project, std::string& cursor,
                                     std::size_t limit) override {
    std::size_t status = 1;
    std::string scan = "0";
    if (!cursor.empty()) {
      status = static_cast<std::size_t>(cursor[0] - '0');
      scan = cursor.substr(2);
    }
    const auto set = set_of(project, status);
    auto ids = scan_set(set, scan, limit);
    if (!ids) return tl::unexpected(ids.error());
    auto rows = load(project, *ids);
    if (!rows) return tl::unexpected(rows.error());
    if (scan == "0") ++status;
    cursor = status > 4 ? std::string{} : std::to_string(status) + ":" + scan;
    return rows;
  }

private:
  static std::string set_of(const std::string& project, std::size_t status) {
    return "taskdb_" + project + "_status_" + std::to_string(status);
  }

  /// One step of SSCAN. Its reply is a list of the next cursor and a list of ids, which
  /// `redis_link` does not nest: a script flattens it.
  result<std::vector<std::string>> scan_set(const std::string& set, std::string& scan,
                                            std::size_t limit) {
    const auto count = std::to_string(limit);
    auto got = link_->run({"EVAL",
                           "local r = redis.call('SSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2]) "
                           "table.insert(r[2], 1, r[1]) return r[2]",
                           "1", set, scan, count});
    if (!got) return tl::unexpected(got.error());
    if (got->list.empty()) return fail(errc::corrupt, "redis", "an odd answer to SSCAN");
    scan = got->list.front();
    got->list.erase(got->list.begin());
    return std::move(got->list);
  }

  result<std::vector<task_row>> load(const std::string& project,
                                     const std::vector<std::string>& ids) {
    std::vector<std::string> keys;
    keys.reserve(ids.size());
    for (const auto& id : ids)
      keys.push_back("taskdb_" + project + "_" + id);
    std::vector<redis_link::command> commands;
    commands.reserve(keys.size());
    for (const auto& key : keys)
      commands.push_back({"HGETALL", key});
    auto replies = link_->run_all(commands);
    if (!replies) return tl::unexpected(replies.error());
    std::vector<task_row> rows;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto& reply = (*replies)[i];
      if (!reply || reply->list.empty()) continue; // deleted meanwhile
      rows.push_back(row_of(project, ids[i], reply->list));
    }
    return rows;
  }

  static task_row row_of(const std::string& project, const std::string& id,
                         const std::vector<std::string>& fields) {
    std::map<std::string_view, std::string> by_name;
    for (std::size_t i = 0; i + 1 < fields.size(); i += 2)
      by_name.emplace(fields[i], fields[i + 1]);
    const auto number = [&](std::string_view name) {
      double d = 0;
      const auto& text = by_name[name];
      std::from_chars(text.data(), text.data() + text.size(), d);
      return d;
    };
    task_row r;
    r.taskid = id;
    r.project = project;
    r.url = by_name["url"];
    r.status = static_cast<std::int64_t>(number("status"));
    r.schedule = by_name["schedule"];
    r.fetch = by_name["fetch"];
    r.process = by_name["process"];
    r.track = by_name["track"];
    r.lastcrawltime = number("lastcrawltime");
    r.updatetime = number("updatetime");
    return r;
  }

  bridges::redis_address address_;
  bridges::stop_signal never_;
  std::unique_ptr<redis_link> link_;
};

} // namespace

result<std::unique_ptr<task_source>> open_redis_tasks(std::string_view url) {
  std::string plain{url};
  if (const auto plus = plain.find('+'); plus != std::string::npos)
    plain.erase(plus, std::min(plain.find("://"), plain.size()) - plus);
  auto address = bridges::parse_redis_url(plain);
  if (!address) return fail(errc::invalid_argument, plain, address.error().why);
  auto tasks = std::make_unique<redis_tasks>(std::move(*address));
  if (auto ok = tasks->connect(); !ok) return tl::unexpected(ok.error());
  return tasks;
}

} // namespace lycosa::migrate
