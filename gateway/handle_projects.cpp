#include "gateway/handlers.hpp"
#include "gateway/items.hpp"
#include "gateway/json_writer.hpp"
#include "gateway/numbers.hpp"

#include <array>

namespace lycosa::gateway {
namespace {

constexpr std::array<std::string_view, 1> opened{"retry_delay"};

tl::unexpected<error> wrong(std::string field, std::string why) {
  return fail(errc::invalid_argument, std::move(field), std::move(why));
}

result<usec> read_duration(const json_member& m, std::string field) {
  const auto t = m.is(json_kind::number) ? parse_seconds(m.raw) : std::nullopt;
  if (!t || *t < usec::zero() || *t > std::chrono::seconds{100'000'000'000})
    return wrong(std::move(field), "must be a number of seconds, 0 or more");
  return *t;
}

result<void> read_retry(const outline& o, const json_member& object, project_patch& patch) {
  if (!object.is(json_kind::object)) return wrong("retry_delay", "must be an object");
  retry_policy policy;
  policy.table.clear();
  for (const auto& m : o.members()) {
    if (m.parent != o.index_of(object)) continue;
    auto delay = read_duration(m, "retry_delay[\"" + std::string{m.key} + "\"]");
    if (!delay) return tl::unexpected<error>(delay.error());
    if (m.key.empty()) {
      policy.otherwise = *delay;
      continue;
    }
    const auto n = parse_integer(m.key);
    if (!n || *n < 0 || *n > 1'000'000)
      return wrong("retry_delay", "has a key that is neither a number of retries nor \"\"");
    policy.table[static_cast<int>(*n)] = *delay;
  }
  patch.retry = std::move(policy);
  return {};
}

result<void> read_text(const json_member& m, std::size_t most, std::optional<std::string>& to) {
  if (!m.is(json_kind::string) || !is_utf8(m.text))
    return wrong(std::string{m.key}, "must be a string");
  if (m.text.size() > most)
    return wrong(std::string{m.key}, "is longer than " + std::to_string(most) + " bytes");
  to = std::string{m.text};
  return {};
}

result<void> read_amount(const json_member& m, std::optional<double>& to) {
  const auto value = m.is(json_kind::number) ? parse_double(m.raw) : std::nullopt;
  if (!value || *value < 0 || *value > 1e9)
    return wrong(std::string{m.key}, "must be a number from 0 to 1e9");
  to = *value;
  return {};
}

result<void> read_count(const json_member& m, std::optional<std::uint64_t>& to) {
  const auto n = m.is(json_kind::number) ? parse_integer(m.raw) : std::nullopt;
  if (!n || *n < 0) return wrong(std::string{m.key}, "must be an integer, 0 or more");
  to = static_cast<std::uint64_t>(*n);
  return {};
}

result<void> read_duration(const json_member& m, std::optional<usec>& to) {
  auto t = read_duration(m, std::string{m.key});
  if (!t) return tl::unexpected<error>(t.error());
  to = *t;
  return {};
}

result<void> read_member(const outline& o, const json_member& m, const std::string& name,
                         project_patch& p) {
  constexpr std::size_t any = SIZE_MAX;
  if (m.key == "group") return read_text(m, 1024, p.group);
  if (m.key == "script") return read_text(m, any, p.script);
  if (m.key == "comments") return read_text(m, 64 * 1024, p.comments);
  if (m.key == "rate") return read_amount(m, p.rate);
  if (m.key == "burst") return read_amount(m, p.burst);
  if (m.key == "min_tick") return read_duration(m, p.min_tick);
  if (m.key == "queue_limit") return read_count(m, p.queue_limit);
  if (m.key == "queue_window") return read_count(m, p.queue_window);
  if (m.key == "retain_age") return read_duration(m, p.retain_age);
  if (m.key == "retain_count") return read_count(m, p.retain_count);
  if (m.key == "retry_delay") return read_retry(o, m, p);
  if (m.key == "status") {
    if (m.is(json_kind::string)) p.status = parse_project_status(m.text);
    if (!p.status) return wrong("status", "must be TODO, STOP, CHECKING, DEBUG, RUNNING or PAUSED");
  } else if (m.key == "crawl_config") {
    if (m.is(json_kind::null))
      p.crawl_config = "";
    else if (m.is(json_kind::object))
      p.crawl_config = std::string{m.raw};
    else
      return wrong("crawl_config", "must be an object or null");
  } else if (m.key == "name" && m.text != name) {
    return wrong("name", "differs from the one in the address");
  }
  return {};
}

void append_retry(std::string& b, const retry_policy& retry) {
  b += '{';
  for (const auto& [n, delay] : retry.table) {
    append_key(b, std::to_string(n));
    append_seconds(b, delay);
  }
  append_key(b, "");
  append_seconds(b, retry.otherwise);
  b += '}';
}

void append_events(std::string& b, std::string_view window, const event_values& e) {
  append_key(b, window);
  b += '{';
  const std::pair<std::string_view, double> values[]{
      {"pending", e.pending}, {"success", e.success}, {"retry", e.retry}, {"failed", e.failed}};
  for (const auto& [name, value] : values) {
    append_key(b, name);
    append_double(b, value);
  }
  b += '}';
}

/// pyspider's windows; of `all`, which are states, there are no retries.
void append_counters(std::string& b, const actors::counters_view& c) {
  append_key(b, "5m_time");
  b += '{';
  append_key(b, "fetch_time");
  append_double(b, c.five_minutes_time.fetch_time);
  append_key(b, "process_time");
  append_double(b, c.five_minutes_time.process_time);
  b += '}';
  append_events(b, "5m", c.five_minutes);
  append_events(b, "1h", c.hour);
  append_events(b, "1d", c.day);
  append_events(b, "all", c.all);
}

void append_project(std::string& b, const actors::project_view& v) {
  const auto& p = v.record;
  const auto text = [&](std::string_view key, std::string_view value) {
    append_key(b, key);
    append_string(b, value);
  };
  const auto number = [&](std::string_view key, std::int64_t value) {
    append_key(b, key);
    append_integer(b, value);
  };
  b += '{';
  text("name", p.name);
  text("group", p.group);
  text("status", to_string(p.status));
  append_key(b, "rate");
  append_double(b, p.rate);
  append_key(b, "burst");
  append_double(b, p.burst);
  text("script", p.script);
  text("script_md5", p.script_md5);
  text("comments", p.comments);
  append_key(b, "min_tick");
  append_seconds(b, p.min_tick);
  append_key(b, "retry_delay");
  if (p.retry)
    append_retry(b, *p.retry);
  else
    b += "null";
  append_key(b, "crawl_config");
  b += p.crawl_config.empty() ? "null" : p.crawl_config;
  append_key(b, "queue_limit");
  append_unsigned(b, p.queue_limit);
  append_key(b, "queue_window");
  append_unsigned(b, p.queue_window);
  append_key(b, "retain_age");
  append_seconds(b, p.retain.age);
  append_key(b, "retain_count");
  append_unsigned(b, p.retain.count);
  append_key(b, "updatetime");
  append_seconds(b, p.updatetime.time_since_epoch());
  append_key(b, "deleting");
  b += p.deleting ? "true" : "false";
  append_key(b, "paused");
  b += v.paused ? "true" : "false";
  number("size", static_cast<std::int64_t>(v.size()));
  number("ready", static_cast<std::int64_t>(v.ready));
  number("delayed", static_cast<std::int64_t>(v.delayed));
  number("processing", static_cast<std::int64_t>(v.processing));
  number("on_disk", static_cast<std::int64_t>(v.on_disk));
  b += R"(,"counters":{)";
  number("active", v.counts.active);
  number("success", v.counts.success);
  number("failed", v.counts.failed);
  number("bad", v.counts.bad);
  append_counters(b, v.counters);
  b += '}';
  number("refused", static_cast<std::int64_t>(v.refused));
  append_key(b, "next_at");
  if (v.next_at)
    append_seconds(b, v.next_at->time_since_epoch());
  else
    b += "null";
  text("gate", v.gate);
  b += '}';
}

response show_project(const actors::project_view& v, unsigned status) {
  std::string b;
  append_project(b, v);
  return json(std::move(b), status);
}

/// Whether the name in the address can be one; answers if not.
bool named(const request& r, const exchange_ptr& x) {
  auto ok = check_project_name(r.captured[0]);
  if (!ok) answer_now(x, problem(ok.error()));
  return ok.has_value();
}

} // namespace

void list_projects(service& s, const request& r, const exchange_ptr& x) {
  s.node.list_projects(answering<std::vector<actors::project_view>>(
      x, [lines = r.wants_lines()](const std::vector<actors::project_view>& all) {
        std::string b = lines ? "" : R"({"projects":[)";
        bool first = true;
        for (const auto& v : all) {
          if (!lines && !first) b += ',';
          first = false;
          append_project(b, v);
          if (lines) b += '\n';
        }
        if (!lines) b += "]}";
        auto shown = json(std::move(b));
        if (lines) shown.content_type = "application/x-ndjson";
        return shown;
      }));
}

void get_project(service& s, const request& r, const exchange_ptr& x) {
  if (!named(r, x)) return;
  s.node.get_project(r.captured[0],
                     answering<actors::project_view>(
                         x, [](const actors::project_view& v) { return show_project(v, 200); }));
}

void put_project(service& s, const request& r, const exchange_ptr& x) {
  if (!named(r, x)) return;
  project_patch patch;
  if (!r.body->text.empty()) {
    outline o(r.body->arena, opened);
    if (auto ok = read_object(r.body->text, o); !ok) return answer_now(x, problem(ok.error()));
    for (const auto& m : o.members())
      if (m.parent == json_member::no_parent)
        if (auto ok = read_member(o, m, r.captured[0], patch); !ok)
          return answer_now(x, problem(ok.error()));
  }
  s.node.put_project(
      r.captured[0], std::move(patch),
      answering<actors::put_project_answer>(x, [](const actors::put_project_answer& a) {
        return show_project(a.project, a.created ? 201 : 200);
      }));
}

void delete_project(service& s, const request& r, const exchange_ptr& x) {
  if (!named(r, x)) return;
  const auto* confirm = r.argument("confirm");
  if (confirm == nullptr || *confirm != r.captured[0])
    return answer_now(x, problem({errc::invalid_argument, "confirm",
                                  "must repeat the project's name: its data will be gone"}));
  s.node.delete_project(r.captured[0], answering<std::uint64_t>(x, [](std::uint64_t tasks) {
                          return json("{\"deleted\":true,\"tasks\":" + std::to_string(tasks) + "}");
                        }));
}

void start_project(service& s, const request& r, const exchange_ptr& x) {
  if (!named(r, x)) return;
  s.node.start_project(r.captured[0],
                       answering<actors::submit_answer>(x, [](const actors::submit_answer& a) {
                         std::string b = "\"new\":";
                         append_unsigned(b, a.created);
                         b += ",\"restarted\":";
                         append_unsigned(b, a.restarted);
                         b += ",\"ignored\":";
                         append_unsigned(b, a.ignored);
                         b += ",\"cancelled\":";
                         append_unsigned(b, a.cancelled);
                         append_ignored(b, a.ignored_reasons);
                         b += ",\"rejected\":";
                         append_rejected(b, a.rejected);
                         return a.failure ? problem(*a.failure, b) : json("{" + b + "}");
                       }));
}

} // namespace lycosa::gateway
