#include "bridges/queue_items.hpp"

#include "gateway/items.hpp"
#include "gateway/task_json.hpp"

#include "bridges/msgpack.hpp"

#include <memory>
#include <utility>

namespace lycosa::bridges {

namespace {

/// What a batch's views point into.
struct kept {
  std::vector<std::string> bodies; ///< JSON; reserved beforehand, so that nothing moves
  gateway::text_arena arena;
};

std::string name_of(const gateway::outline& item) {
  const auto* project = item.find("project");
  return (project != nullptr ? std::string{project->text} : "?") + "/" + gateway::taskid_of(item);
}

/// Reads every message and every item in it. `take(item, arena)` says why an item is refused, or
/// nothing.
template <class Batch, class Take>
void read_all(Batch& batch, const std::vector<std::string>& messages,
              std::span<const std::string_view> paths, std::size_t most_items, Take&& take) {
  auto memory = std::make_shared<kept>();
  memory->bodies.reserve(messages.size());
  const auto malformed = [&](const std::string& why) {
    batch.malformed += 1;
    batch.refused.push_back({"message", why});
  };
  gateway::outline item{memory->arena, paths};
  for (const auto& message : messages) {
    auto& body = memory->bodies.emplace_back();
    if (auto read = append_as_json(body, message); !read) {
      malformed(read.error().text());
      continue;
    }
    const auto each = [&](std::size_t, const gateway::outline& o) {
      if (auto why = take(o, memory->arena); !why.empty())
        batch.refused.push_back({name_of(o), std::move(why)});
    };
    const auto bad = [&](std::size_t, const std::string& why) {
      batch.refused.push_back({"item", why});
    };
    if (auto walked = gateway::walk_items(body, false, item, most_items, each, bad); !walked)
      malformed(walked.error().text());
  }
  batch.request.buffer = std::move(memory);
}

std::string text_of(const gateway::rejection& r) {
  return r.field.empty() ? r.reason : r.field + ": " + r.reason;
}

} // namespace

newtask_batch read_newtasks(const std::vector<std::string>& messages,
                            const gateway::limits_config& limits) {
  newtask_batch batch;
  auto& items = batch.request.items;
  read_all(batch, messages, gateway::task_paths(), limits.list,
           [&](const gateway::outline& item, gateway::text_arena& arena) -> std::string {
             // Over HTTP it may be left out; in pyspider's queues it may not.
             if (item.find("taskid") == nullptr) return "taskid: required";
             auto task = gateway::read_task(item, arena, limits);
             if (!task) return text_of(task.error());
             items.push_back({*task, static_cast<std::uint32_t>(items.size())});
             return {};
           });
  return batch;
}

status_batch read_statuses(const std::vector<std::string>& messages,
                           const gateway::limits_config& limits) {
  status_batch batch;
  auto& items = batch.request.items;
  read_all(batch, messages, gateway::report_paths(), limits.list,
           [&](const gateway::outline& item, gateway::text_arena& arena) -> std::string {
             auto report = gateway::read_report(item, arena, limits);
             if (!report) return text_of(report.error());
             report->index = static_cast<std::uint32_t>(items.size());
             items.push_back(std::move(*report));
             return {};
           });
  return batch;
}

std::string write_task(const actors::leased_task& t) {
  auto bare = t;
  bare.lease.clear();
  std::string json = "{";
  gateway::append_leased(json, bare);
  json += '}';
  return to_msgpack(json).value_or(std::string{}); // it was read as JSON when it came
}

} // namespace lycosa::bridges
