#include "gateway/xmlrpc.hpp"

#include "gateway/active_json.hpp"
#include "gateway/counters_json.hpp"
#include "gateway/items.hpp"
#include "gateway/json_writer.hpp"
#include "gateway/task_json.hpp"
#include "gateway/xmlrpc_text.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <mutex>

namespace lycosa::gateway {

namespace {

using actors::counter_set;
using params = std::vector<std::string>;

constexpr std::int64_t most_active = 10'000;

response xml(std::string body) {
  response r;
  r.content_type = "text/xml";
  r.body = std::move(body);
  return r;
}

void fail_with(xmlrpc_service& s, const exchange_ptr& x, xmlrpc_fault f) {
  s.faults += 1;
  spdlog::debug("xmlrpc: fault {}: {}", static_cast<int>(f.code), f.text);
  auto shared = std::make_shared<xmlrpc_fault>(std::move(f));
  x->answer([shared] { return xml(write_xmlrpc(*shared)); });
}

void give(const exchange_ptr& x, std::string json) {
  auto shared = std::make_shared<std::string>(std::move(json));
  x->answer([shared] { return xml(write_xmlrpc(*shared)); });
}

/// A callback for the node: answers with `render(value)` as JSON, or with a fault.
template <class T, class Render>
std::function<void(result<T>)> answering_xml(xmlrpc_service& s, exchange_ptr x, Render render) {
  return [&s, x = std::move(x), render = std::move(render)](result<T> got) {
    if (!got) return fail_with(s, x, {fault_code::internal, got.error().text()});
    auto shared = std::make_shared<T>(std::move(*got));
    x->answer([shared, render] { return xml(write_xmlrpc(render(*shared))); });
  };
}

// -- reading arguments ---------------------------------------------------------------------------

/// Text of a JSON string without escapes, or none; `null` and absent are empty.
std::optional<std::string> text_param(const params& p, std::size_t i) {
  if (i >= p.size() || p[i] == "null") return std::string{};
  text_arena arena;
  outline value(arena, {});
  const auto json = "{\"v\":" + p[i] + "}"; // the outline's views point into it
  if (value.parse(json, 0) != outline::outcome::ok) return std::nullopt;
  const auto* v = value.find("v");
  if (v == nullptr || !v->is(json_kind::string)) return std::nullopt;
  return std::string{v->text};
}

/// The task of a call with what its views point into.
struct task_param {
  std::shared_ptr<request_body> body;
  task record;
  std::string why; ///< not empty: not a task
};

task_param read_task_param(const xmlrpc_service& s, const std::string& json) {
  task_param out;
  out.body = std::make_shared<request_body>();
  out.body->text = json;
  outline item(out.body->arena, task_paths());
  if (auto ok = read_object(out.body->text, item); !ok) {
    out.why = ok.error().text();
    return out;
  }
  // pyspider's task_verify: these three must be there.
  for (const auto* key : {"taskid", "project", "url"}) {
    const auto* member = item.find(key);
    if (member == nullptr || member->is(json_kind::null)) {
      out.why = std::string{key} + ": required";
      return out;
    }
  }
  auto task = read_task(item, out.body->arena, s.limits);
  if (task)
    out.record = *task;
  else
    out.why = task.error().field + ": " + task.error().reason;
  return out;
}

// -- methods -------------------------------------------------------------------------------------

void quit(xmlrpc_service& s, const params&, const exchange_ptr& x) {
  spdlog::info("xmlrpc: asked to quit");
  give(x, "null");
  if (s.quit) s.quit();
}

void size(xmlrpc_service& s, const params&, const exchange_ptr& x) {
  s.node.list_projects(answering_xml<std::vector<actors::project_view>>(
      s, x, [](const std::vector<actors::project_view>& all) {
        std::uint64_t n = 0;
        for (const auto& v : all)
          n += v.size();
        return std::to_string(n);
      }));
}

void counter(xmlrpc_service& s, const params& p, const exchange_ptr& x) {
  const auto name = text_param(p, 0);
  const auto type = text_param(p, 1);
  const auto set = name ? parse_counter_set(*name) : std::nullopt;
  if (!set)
    return fail_with(
        s, x,
        {fault_code::invalid_params, "the first argument must be 5m_time, 5m, 1h, 1d or all"});
  if (!type || (*type != "sum" && *type != "avg" && !type->empty()))
    return fail_with(s, x, {fault_code::invalid_params, "the second argument must be sum or avg"});
  s.node.counters(*set, type == "avg" ? counter_kind::avg : counter_kind::sum,
                  answering_xml<std::vector<actors::counter_view>>(
                      s, x, [set = *set](const std::vector<actors::counter_view>& all) {
                        return counters_json(set, all);
                      }));
}

void newtask(xmlrpc_service& s, const params& p, const exchange_ptr& x) {
  auto task = read_task_param(s, p[0]);
  if (!task.why.empty()) {
    spdlog::warn("xmlrpc: newtask: {}", task.why);
    return give(x, "false"); // as pyspider: not verified
  }
  actors::submit_request ask;
  ask.buffer = task.body;
  ask.items.push_back({task.record, 0});
  s.node.submit(std::move(ask), [&s, x](result<actors::submit_answer> got) {
    if (!got) return fail_with(s, x, {fault_code::internal, got.error().text()});
    if (got->failure) return fail_with(s, x, {fault_code::internal, got->failure->text()});
    if (!got->rejected.empty()) spdlog::warn("xmlrpc: newtask: {}", got->rejected.front().why);
    give(x, got->rejected.empty() ? "true" : "false");
  });
}

void send_task(xmlrpc_service& s, const params& p, const exchange_ptr& x) {
  auto task = read_task_param(s, p[0]);
  if (!task.why.empty()) return fail_with(s, x, {fault_code::invalid_params, task.why});
  s.node.send_message(task.body, task.record,
                      answering_xml<bool>(s, x, [](bool) { return std::string{"true"}; }));
}

/// Nothing to do: a change of a project is in effect when it is acknowledged.
void update_project(xmlrpc_service&, const params&, const exchange_ptr& x) {
  give(x, "null");
}

void get_active_tasks(xmlrpc_service& s, const params& p, const exchange_ptr& x) {
  auto project = text_param(p, 0);
  if (!project) return fail_with(s, x, {fault_code::invalid_params, "project must be text or nil"});
  std::int64_t limit = 100;
  if (p.size() > 1 && p[1] != "null") {
    const auto [end, ec] = std::from_chars(p[1].data(), p[1].data() + p[1].size(), limit);
    if (ec != std::errc{} || end != p[1].data() + p[1].size() || limit < 0)
      return fail_with(s, x, {fault_code::invalid_params, "limit must be an integer, 0 or more"});
  }
  const auto most = static_cast<std::size_t>(std::min(limit, most_active));
  s.node.active_tasks(std::move(*project), most,
                      [&s, x](result<std::vector<actors::active_entry>> got) {
                        // pyspider knows no error here: an unknown project has no tasks.
                        if (!got && got.error().code == errc::not_found) return give(x, "[]");
                        if (!got)
                          return fail_with(s, x, {fault_code::internal, got.error().text()});
                        give(x, active_json(*got));
                      });
}

std::string pause_json(const std::vector<actors::project_view>& all) {
  std::string b = "{";
  for (const auto& v : all) {
    append_key(b, v.record.name);
    b += v.paused ? "true" : "false";
  }
  return b + '}';
}

void get_projects_pause_status(xmlrpc_service& s, const params&, const exchange_ptr& x) {
  s.node.list_projects(answering_xml<std::vector<actors::project_view>>(s, x, pause_json));
}

/// The answers that `webui_update` is put together from.
struct update_parts {
  static constexpr std::array<std::pair<std::string_view, counter_set>, 5> windows{
      {{"5m_time", counter_set::five_minutes_time},
       {"5m", counter_set::five_minutes},
       {"1h", counter_set::hour},
       {"1d", counter_set::day},
       {"all", counter_set::all}}};
  std::mutex mutex;
  std::size_t open = windows.size() + 1;
  std::string pause = "{}";
  std::array<std::string, windows.size()> counters;
  std::optional<error> failure;

  /// True for the last one.
  template <class F>
  bool arrived(F&& put) {
    const std::lock_guard lock(mutex);
    put();
    return --open == 0;
  }
  [[nodiscard]] std::string json() const {
    std::string b = "{\"pause_status\":" + pause + ",\"counter\":{";
    for (std::size_t i = 0; i < windows.size(); ++i) {
      append_key(b, windows[i].first);
      b += counters[i];
    }
    return b + "}}";
  }
};

void webui_update(xmlrpc_service& s, const params&, const exchange_ptr& x) {
  auto parts = std::make_shared<update_parts>();
  const auto finish = [&s, x, parts] {
    if (parts->failure)
      fail_with(s, x, {fault_code::internal, parts->failure->text()});
    else
      give(x, parts->json());
  };
  s.node.list_projects([parts, finish](result<std::vector<actors::project_view>> got) {
    const bool last = parts->arrived([&] {
      if (got)
        parts->pause = pause_json(*got);
      else
        parts->failure = got.error();
    });
    if (last) finish();
  });
  for (std::size_t i = 0; i < update_parts::windows.size(); ++i) {
    const auto set = update_parts::windows[i].second;
    s.node.counters(set,
                    set == counter_set::five_minutes_time ? counter_kind::avg : counter_kind::sum,
                    [parts, finish, i, set](result<std::vector<actors::counter_view>> got) {
                      const bool last = parts->arrived([&] {
                        if (got)
                          parts->counters[i] = counters_json(set, *got);
                        else
                          parts->failure = got.error();
                      });
                      if (last) finish();
                    });
  }
}

void list_methods(xmlrpc_service& s, const params& p, const exchange_ptr& x);
void method_help(xmlrpc_service& s, const params& p, const exchange_ptr& x);
void method_signature(xmlrpc_service& s, const params& p, const exchange_ptr& x);

struct method {
  std::string_view name;
  std::size_t least, most; ///< arguments
  void (*run)(xmlrpc_service&, const params&, const exchange_ptr&);
  std::string_view help;
};

constexpr std::array methods{
    method{"_quit", 0, 0, quit, "Ends the scheduler in order."},
    method{"counter", 1, 2, counter, "counter(window, 'sum'|'avg'): {project: {event: number}}."},
    method{"get_active_tasks", 0, 2, get_active_tasks,
           "get_active_tasks(project=nil, limit=100): [[time, task]...], newest first."},
    method{"get_projects_pause_status", 0, 0, get_projects_pause_status, "{project: paused}."},
    method{"newtask", 1, 1, newtask, "newtask(task): true when it was taken."},
    method{"send_task", 1, 1, send_task, "send_task(task): straight to the next fetcher."},
    method{"size", 0, 0, size, "Tasks queued, delayed and in processing."},
    method{"system.listMethods", 0, 0, list_methods, "The names of all methods."},
    method{"system.methodHelp", 1, 1, method_help, "What a method does."},
    method{"system.methodSignature", 1, 1, method_signature, "Signatures are not supported."},
    method{"update_project", 0, 0, update_project,
           "Nothing to do: changes of projects are in effect at once."},
    method{"webui_update", 0, 0, webui_update, "{pause_status, counter}."}};

const method* find_method(std::string_view name) {
  const auto m = std::ranges::find(methods, name, &method::name);
  return m == methods.end() ? nullptr : &*m;
}

void list_methods(xmlrpc_service&, const params&, const exchange_ptr& x) {
  std::string b = "[";
  for (const auto& m : methods) {
    if (b.size() > 1) b += ',';
    append_string(b, m.name);
  }
  give(x, b + ']');
}

void method_help(xmlrpc_service&, const params& p, const exchange_ptr& x) {
  const auto name = text_param(p, 0);
  const auto* m = name ? find_method(*name) : nullptr;
  std::string b;
  append_string(b, m != nullptr ? m->help : "");
  give(x, b);
}

void method_signature(xmlrpc_service&, const params&, const exchange_ptr& x) {
  give(x, "\"signatures not supported\"");
}

} // namespace

void answer_xmlrpc(xmlrpc_service& s, request r, const exchange_ptr& x) {
  if (r.method != "POST") {
    auto no = problem(400, "XML-RPC calls are POST requests");
    return answer_now(x, std::move(no));
  }
  auto call = parse_call(r.body->text);
  if (!call) return fail_with(s, x, std::move(call.error()));
  const auto* m = find_method(call->method);
  if (m == nullptr)
    return fail_with(s, x,
                     {fault_code::unknown_method,
                      "method \"" + call->method.substr(0, 100) + "\" is not supported"});
  if (call->params.size() < m->least || call->params.size() > m->most)
    return fail_with(s, x,
                     {fault_code::invalid_params, call->method + " takes "
                                                      + std::to_string(m->least) + " to "
                                                      + std::to_string(m->most) + " arguments"});
  m->run(s, call->params, x);
}

} // namespace lycosa::gateway
