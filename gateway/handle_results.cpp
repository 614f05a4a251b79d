#include "gateway/handlers.hpp"
#include "gateway/items.hpp"
#include "gateway/json_writer.hpp"
#include "gateway/numbers.hpp"

namespace lycosa::gateway {
namespace {

response show_results(const actors::result_page& page, bool lines) {
  std::string b = lines ? "" : R"({"results":[)";
  bool first = true;
  for (const auto& e : page.results) {
    if (!lines && !first) b += ',';
    first = false;
    b += "{\"taskid\":";
    append_string(b, e.taskid);
    b += ",\"result\":";
    b += e.json;
    b += ",\"updatetime\":";
    append_seconds(b, e.updatetime.time_since_epoch());
    b += lines ? "}\n" : "}";
  }
  if (lines) {
    auto shown = json(std::move(b));
    shown.content_type = "application/x-ndjson";
    if (!page.next.empty()) shown.headers.emplace_back("X-Next", page.next);
    return shown;
  }
  b += "],\"next\":";
  if (page.next.empty())
    b += "null";
  else
    append_string(b, page.next);
  b += '}';
  return json(std::move(b));
}

} // namespace

void put_result(service& s, const request& r, const exchange_ptr& x) {
  const auto& text = r.body->text;
  outline o(r.body->arena, {});
  const auto no = [&](error e) { answer_now(x, problem(e)); };
  if (auto ok = check_project_name(r.captured[0]); !ok) return no(ok.error());
  if (r.captured[1].size() > s.limits.taskid)
    return no({errc::invalid_argument, "taskid",
               "is longer than " + std::to_string(s.limits.taskid) + " bytes"});
  if (!is_utf8(text)) return no({errc::invalid_argument, "body", "is not valid UTF-8"});
  if (o.parse(text, 0) != outline::outcome::ok
      || text.find_first_not_of(" \t\r\n", o.end()) != std::string::npos)
    return no({errc::invalid_argument, "body", "is not one JSON value: " + o.why()});
  actors::stored_result entry;
  entry.taskid = r.captured[1];
  entry.json = o.raw();
  if (entry.json.size() > s.limits.task)
    return no(
        {errc::too_large, "body", "is larger than " + std::to_string(s.limits.task) + " bytes"});
  s.node.put_result(r.captured[0], std::move(entry), answering<bool>(x, [](bool created) {
                      return json(created ? R"({"created":true})" : R"({"created":false})",
                                  created ? 201 : 200);
                    }));
}

void get_result(service& s, const request& r, const exchange_ptr& x) {
  s.node.get_result(r.captured[0], r.captured[1],
                    answering<actors::stored_result>(
                        x, [](const actors::stored_result& e) { return json(e.json); }));
}

void list_results(service& s, const request& r, const exchange_ptr& x) {
  auto limit = read_limit(r);
  if (!limit) return answer_now(x, problem(limit.error()));
  const auto* after = r.argument("after");
  s.node.list_results(
      r.captured[0], after == nullptr ? std::string{} : *after, *limit,
      answering<actors::result_page>(x, [lines = r.wants_lines()](const actors::result_page& page) {
        return show_results(page, lines);
      }));
}

} // namespace lycosa::gateway
