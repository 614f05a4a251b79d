#include "gateway/handlers.hpp"
#include "gateway/items.hpp"
#include "gateway/json_writer.hpp"
#include "gateway/numbers.hpp"
#include "gateway/task_json.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

namespace lycosa::gateway {

namespace {

/// Answers of the single stores of an import, until the last is there.
struct import_sum {
  std::mutex mutex;
  std::size_t open = 1;
  std::uint64_t stored = 0;
  std::vector<actors::item_error> rejected;
  std::optional<error> failure;

  [[nodiscard]] response show() {
    std::ranges::sort(rejected, {}, &actors::item_error::index);
    std::string b = failure ? "" : "{";
    append_key(b, "stored");
    append_unsigned(b, stored);
    append_key(b, "rejected");
    append_rejected(b, rejected);
    if (failure) return problem(*failure, b);
    b += '}';
    return json(std::move(b));
  }
};

/// A pyspider result: what is stored is `{"url":…,"result":…}`.
tl::expected<std::pair<std::string, actors::stored_result>, std::string>
read_result(const outline& item, std::size_t most) {
  const auto text = [&](std::string_view name) {
    const auto* m = item.find(name);
    return m != nullptr && m->is(json_kind::string) ? m->text : std::string_view{};
  };
  if (item.kind() != json_kind::object) return tl::unexpected(std::string{"must be an object"});
  if (item.raw().size() > most)
    return tl::unexpected("is larger than " + std::to_string(most) + " bytes");
  const auto* result = item.find("result");
  if (text("project").empty()) return tl::unexpected(std::string{"project: required"});
  if (text("taskid").empty()) return tl::unexpected(std::string{"taskid: required"});
  if (result == nullptr) return tl::unexpected(std::string{"result: required"});
  actors::stored_result entry;
  entry.taskid = text("taskid");
  entry.json = "{\"url\":";
  append_string(entry.json, text("url"));
  entry.json += ",\"result\":";
  entry.json += result->raw;
  entry.json += '}';
  if (const auto* at = item.find("updatetime"); at != nullptr && at->is(json_kind::number))
    if (const auto seconds = parse_seconds(at->raw); seconds && *seconds > usec::zero())
      entry.updatetime = wall_time{*seconds};
  return std::pair{std::string{text("project")}, std::move(entry)};
}

} // namespace

void import_results(service& s, const request& r, const exchange_ptr& x) {
  auto sum = std::make_shared<import_sum>();
  const auto finished = [sum, x] {
    {
      const std::lock_guard lock(sum->mutex);
      if (--sum->open > 0) return;
    }
    x->answer([sum] { return sum->show(); });
  };
  outline item(r.body->arena, {});
  const auto refuse = [&](std::size_t index, std::string why) {
    const std::lock_guard lock(sum->mutex);
    sum->rejected.push_back({static_cast<std::uint32_t>(index), taskid_of(item), std::move(why)});
  };
  auto walked = walk_items(
      r.body->text, r.sends_lines(), item, s.limits.list,
      [&](std::size_t index, const outline& o) {
        auto entry = read_result(o, s.limits.task);
        if (!entry) return refuse(index, entry.error());
        {
          const std::lock_guard lock(sum->mutex);
          sum->open += 1;
        }
        auto taskid = entry->second.taskid;
        s.node.put_result(
            entry->first, std::move(entry->second),
            [sum, finished, index, taskid = std::move(taskid)](const result<bool>& done) {
              {
                const std::lock_guard lock(sum->mutex);
                if (done) {
                  sum->stored += 1;
                } else {
                  sum->rejected.push_back(
                      {static_cast<std::uint32_t>(index), taskid, done.error().text()});
                  if (done.error().code != errc::not_found) sum->failure = done.error();
                }
              }
              finished();
            });
      },
      [&](std::size_t index, const std::string& why) { refuse(index, why); });
  if (!walked) {
    const std::lock_guard lock(sum->mutex);
    if (!sum->failure) sum->failure = walked.error();
  }
  finished();
}

} // namespace lycosa::gateway
