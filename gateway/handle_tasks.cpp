#include "gateway/handlers.hpp"
#include "gateway/items.hpp"
#include "gateway/json_writer.hpp"
#include "gateway/numbers.hpp"
#include "gateway/task_json.hpp"

#include <algorithm>

namespace lycosa::gateway {
namespace {

/// What a body of items came to: those to hand on, those refused here.
struct sorted_items {
  list_form form = list_form::array;
  std::vector<actors::item_error> rejected;
  std::optional<rejection> only; ///< why the last one was refused
};

std::string words(const rejection& no) {
  return no.field.empty() ? no.reason : no.field + ": " + no.reason;
}

/// Reads all items with `read`; `take(index, value)` gets the good ones.
template <class Read, class Take>
result<sorted_items> sort_items(service& s, const request& r,
                                std::span<const std::string_view> paths, Read read, Take take) {
  sorted_items out;
  outline item(r.body->arena, paths);
  const auto refuse = [&](std::size_t index, std::string taskid, rejection no) {
    out.rejected.push_back({static_cast<std::uint32_t>(index), std::move(taskid), words(no)});
    out.only = std::move(no);
  };
  auto form = walk_items(
      r.body->text, r.sends_lines(), item, s.limits.list,
      [&](std::size_t index, const outline& o) {
        auto got = read(o, r.body->arena, s.limits);
        if (got)
          take(static_cast<std::uint32_t>(index), std::move(*got));
        else
          refuse(index, taskid_of(o), std::move(got.error()));
      },
      [&](std::size_t index, const std::string& why) {
        refuse(index, {}, {"", why});
      });
  if (!form) return tl::unexpected<error>(form.error());
  out.form = *form;
  return out;
}

/// A request of one object that is refused is a failed request, not a list with nothing in it.
response refuse_single(const sorted_items& items) {
  const auto& no = *items.only;
  return problem(no.code == errc::too_large ? 413 : 400, words(no), {{0, no.field, no.reason}});
}

void merge(std::vector<actors::item_error>& into, const std::vector<actors::item_error>& more) {
  into.insert(into.end(), more.begin(), more.end());
  std::stable_sort(into.begin(), into.end(),
                   [](const auto& a, const auto& b) { return a.index < b.index; });
}

using count = std::pair<std::string_view, std::uint64_t>;

response show_counts(std::initializer_list<count> counts,
                     const std::vector<actors::item_error>& rejected,
                     const std::optional<error>& failure,
                     const std::map<std::string_view, std::uint64_t>& ignored = {}) {
  std::string b = failure ? "" : "{";
  for (const auto& [name, n] : counts) {
    append_key(b, name);
    append_unsigned(b, n);
  }
  append_ignored(b, ignored);
  append_key(b, "rejected");
  append_rejected(b, rejected);
  if (failure) return problem(*failure, b);
  b += '}';
  return json(std::move(b));
}

response show_task_page(const actors::task_page& page, bool lines) {
  std::string b = lines ? "" : R"({"tasks":[)";
  for (const auto& t : page.tasks) {
    if (!lines && b.back() == '}') b += ',';
    b += '{';
    append_task(b, t);
    b += lines ? "}\n" : "}";
  }
  if (!lines) {
    b += "],\"next\":";
    if (page.next.empty())
      b += "null";
    else
      append_string(b, page.next);
    b += '}';
  }
  return json(std::move(b));
}

} // namespace

void append_ignored(std::string& to, const std::map<std::string_view, std::uint64_t>& reasons) {
  if (reasons.empty()) return;
  append_key(to, "ignored_reasons");
  to += '{';
  for (const auto& [why, n] : reasons) {
    append_key(to, why);
    append_unsigned(to, n);
  }
  to += '}';
}

void append_rejected(std::string& to, const std::vector<actors::item_error>& rejected) {
  to += '[';
  for (const auto& e : rejected) {
    if (to.back() == '}') to += ',';
    to += "{\"index\":";
    append_unsigned(to, e.index);
    to += ",\"taskid\":";
    append_string(to, e.taskid);
    to += ",\"error\":";
    append_string(to, e.why);
    to += '}';
  }
  to += ']';
}

result<std::size_t> read_limit(const request& r) {
  const auto* text = r.argument("limit");
  if (text == nullptr) return 100;
  const auto n = parse_integer(*text);
  if (!n || *n < 1 || *n > 10'000)
    return fail(errc::invalid_argument, "limit", "must be an integer from 1 to 10000");
  return static_cast<std::size_t>(*n);
}

void submit_tasks(service& s, const request& r, const exchange_ptr& x) {
  actors::submit_request ask;
  ask.buffer = r.body;
  auto items = sort_items(s, r, task_paths(), read_task, [&](std::uint32_t index, const task& t) {
    ask.items.push_back({t, index});
  });
  if (!items) return answer_now(x, problem(items.error()));
  if (items->form == list_form::single && items->only) return answer_now(x, refuse_single(*items));
  if (ask.items.empty())
    return answer_now(x,
                      show_counts({{"new", 0}, {"restarted", 0}, {"ignored", 0}, {"cancelled", 0}},
                                  items->rejected, std::nullopt));
  s.node.submit(std::move(ask),
                answering<actors::submit_answer>(
                    x, [rejected = std::move(items->rejected)](const actors::submit_answer& a) {
                      auto all = rejected;
                      merge(all, a.rejected);
                      return show_counts({{"new", a.created},
                                          {"restarted", a.restarted},
                                          {"ignored", a.ignored},
                                          {"cancelled", a.cancelled}},
                                         all, a.failure, a.ignored_reasons);
                    }));
}

/// Records from another scheduler, taken over whole. May be repeated: only newer ones replace.
void import_tasks(service& s, const request& r, const exchange_ptr& x) {
  actors::submit_request ask;
  ask.import = true;
  ask.buffer = r.body;
  auto items =
      sort_items(s, r, task_paths(), read_whole_task, [&](std::uint32_t index, const task& t) {
        ask.items.push_back({t, index});
      });
  if (!items) return answer_now(x, problem(items.error()));
  s.node.submit(std::move(ask),
                answering<actors::submit_answer>(
                    x, [rejected = std::move(items->rejected)](const actors::submit_answer& a) {
                      auto all = rejected;
                      merge(all, a.rejected);
                      return show_counts(
                          {{"new", a.created}, {"replaced", a.restarted}, {"unchanged", a.ignored}},
                          all, a.failure);
                    }));
}

void report_tasks(service& s, const request& r, const exchange_ptr& x) {
  actors::report_request ask;
  ask.buffer = r.body;
  auto items = sort_items(s, r, report_paths(), read_report,
                          [&](std::uint32_t index, actors::report_item item) {
                            item.index = index;
                            ask.items.push_back(item);
                          });
  if (!items) return answer_now(x, problem(items.error()));
  // A stale lease is the state of things, not a faulty request: reported in the list as ever.
  if (items->form == list_form::single && items->only && items->only->code != errc::stale_lease)
    return answer_now(x, refuse_single(*items));
  if (ask.items.empty())
    return answer_now(x, show_counts({{"done", 0}, {"retried", 0}, {"failed", 0}}, items->rejected,
                                     std::nullopt));
  s.node.report(
      std::move(ask), answering<actors::report_answer>(x, [rejected = std::move(items->rejected)](
                                                              const actors::report_answer& a) {
        auto all = rejected;
        merge(all, a.rejected);
        return show_counts({{"done", a.done}, {"retried", a.retried}, {"failed", a.failed}}, all,
                           a.failure);
      }));
}

void get_task(service& s, const request& r, const exchange_ptr& x) {
  s.node.get_task(r.captured[0], r.captured[1],
                  answering<actors::task_answer>(x, [](const actors::task_answer& a) {
                    std::string b = "{";
                    append_task(b, a.view.record);
                    append_key(b, "state");
                    append_string(b, a.view.state);
                    if (a.view.due) {
                      append_key(b, "due");
                      append_seconds(b, a.view.due->time_since_epoch());
                    }
                    if (!a.view.consumer.empty()) {
                      append_key(b, "consumer");
                      append_string(b, a.view.consumer);
                    }
                    b += '}';
                    return json(std::move(b));
                  }));
}

void list_tasks(service& s, const request& r, const exchange_ptr& x) {
  auto limit = read_limit(r);
  if (!limit) return answer_now(x, problem(limit.error()));
  std::optional<task_status> status;
  if (const auto* name = r.argument("status"); name != nullptr && !name->empty()) {
    status = parse_status(*name);
    if (!status)
      return answer_now(
          x, problem({errc::invalid_argument, "status", "must be active, success, failed or bad"}));
  }
  const auto* after = r.argument("after");
  const auto cursor = after == nullptr ? std::string{} : *after;
  const auto project = r.captured[0];
  if (!r.wants_lines()) {
    s.node.list_tasks(project, status, cursor, *limit,
                      answering<actors::task_page>(x, [](const actors::task_page& page) {
                        return show_task_page(page, false);
                      }));
    return;
  }
  // Line by line: the whole list unless a limit was asked for; the next cursor is a header.
  const bool whole = r.argument("limit") == nullptr;
  const std::size_t page_size = whole ? 1000 : *limit;
  auto* node = &s.node;
  s.node.list_tasks(project, status, cursor, page_size,
                    answering<actors::task_page>(x, [=](const actors::task_page& first) {
                      auto shown = show_task_page(first, true);
                      shown.content_type = "application/x-ndjson";
                      if (!whole) {
                        if (!first.next.empty()) shown.headers.emplace_back("X-Next", first.next);
                        return shown;
                      }
                      auto next = std::make_shared<std::string>(first.next);
                      shown.next_part = [=](std::function<void(result<std::string>)> done) {
                        if (next->empty()) return done(std::string{});
                        node->list_tasks(project, status, *next, page_size,
                                         [next, done](result<actors::task_page> got) {
                                           if (!got)
                                             return done(tl::unexpected<error>(got.error()));
                                           *next = got->next;
                                           done(show_task_page(*got, true).body);
                                         });
                      };
                      return shown;
                    }));
}

} // namespace lycosa::gateway
