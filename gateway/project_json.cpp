#include "gateway/project_json.hpp"

#include "gateway/json_writer.hpp"
#include "gateway/numbers.hpp"

#include <cmath>

namespace lycosa::gateway {
namespace {

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

void append_states(std::string& b, const status_counts& c) {
  const std::pair<std::string_view, std::int64_t> states[]{
      {"active", c.active}, {"success", c.success}, {"failed", c.failed}, {"bad", c.bad}};
  for (const auto& [name, n] : states) {
    append_key(b, name);
    append_integer(b, n);
  }
}

/// pyspider's windows; of `all`, which are states, there are no retries.
void append_counters(std::string& b, const actors::project_view& v, const project_fields& f) {
  const auto& c = v.counters;
  const auto whole = member_bit("counters");
  append_key(b, "counters");
  b += '{';
  if (f.has(whole)) append_states(b, v.counts);
  if (f.has(whole | member_bit("counters.5m_time"))) {
    append_key(b, "5m_time");
    b += '{';
    append_key(b, "fetch_time");
    append_double(b, c.five_minutes_time.fetch_time);
    append_key(b, "process_time");
    append_double(b, c.five_minutes_time.process_time);
    b += '}';
  }
  if (f.has(whole | member_bit("counters.5m"))) append_events(b, "5m", c.five_minutes);
  if (f.has(whole | member_bit("counters.1h"))) append_events(b, "1h", c.hour);
  if (f.has(whole | member_bit("counters.1d"))) append_events(b, "1d", c.day);
  if (f.has(whole | member_bit("counters.all"))) append_events(b, "all", c.all);
  b += '}';
}

void append_handled(std::string& b, const handled_values& h) {
  append_key(b, "handled");
  b += "{\"until\":";
  append_seconds(b, h.until.time_since_epoch());
  append_key(b, "step");
  append_seconds(b, handled_values::step);
  append_key(b, "counts");
  b += '[';
  for (const auto n : h.counts) {
    if (b.back() != '[') b += ',';
    append_double(b, std::round(n * 10) / 10);
  }
  b += "]}";
}

event_values& operator+=(event_values& to, const event_values& e) {
  to.pending += e.pending;
  to.success += e.success;
  to.retry += e.retry;
  to.failed += e.failed;
  return to;
}

} // namespace

result<project_fields> project_fields::parse(std::string_view list) {
  project_fields out;
  out.wanted_ = member_bit("name");
  while (!list.empty()) {
    const auto comma = list.find(',');
    const auto name = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    if (name.empty()) continue;
    std::size_t i = 0;
    while (i < project_members.size() && project_members[i] != name)
      ++i;
    if (i == project_members.size()) {
      std::string known;
      for (const auto n : project_members)
        known += (known.empty() ? "" : ", ") + std::string{n};
      return fail(errc::invalid_argument, "fields", "there are " + known);
    }
    out.wanted_ |= std::uint64_t{1} << i;
  }
  return out;
}

void append_project(std::string& b, const actors::project_view& v, const project_fields& f) {
  const auto& p = v.record;
  const auto text = [&](std::uint64_t bit, std::string_view key, std::string_view value) {
    if (!f.has(bit)) return;
    append_key(b, key);
    append_string(b, value);
  };
  const auto number = [&](std::uint64_t bit, std::string_view key, std::uint64_t value) {
    if (!f.has(bit)) return;
    append_key(b, key);
    append_unsigned(b, value);
  };
  const auto amount = [&](std::uint64_t bit, std::string_view key, double value) {
    if (!f.has(bit)) return;
    append_key(b, key);
    append_double(b, value);
  };
  const auto seconds = [&](std::uint64_t bit, std::string_view key, usec value) {
    if (!f.has(bit)) return;
    append_key(b, key);
    append_seconds(b, value);
  };
  const auto flag = [&](std::uint64_t bit, std::string_view key, bool value) {
    if (!f.has(bit)) return;
    append_key(b, key);
    b += value ? "true" : "false";
  };
  b += '{';
  text(member_bit("name"), "name", p.name);
  text(member_bit("group"), "group", p.group);
  text(member_bit("status"), "status", to_string(p.status));
  amount(member_bit("rate"), "rate", p.rate);
  amount(member_bit("burst"), "burst", p.burst);
  text(member_bit("script"), "script", p.script);
  text(member_bit("script_md5"), "script_md5", p.script_md5);
  text(member_bit("comments"), "comments", p.comments);
  seconds(member_bit("min_tick"), "min_tick", p.min_tick);
  if (f.has(member_bit("retry_delay"))) {
    append_key(b, "retry_delay");
    if (p.retry)
      append_retry(b, *p.retry);
    else
      b += "null";
  }
  if (f.has(member_bit("crawl_config"))) {
    append_key(b, "crawl_config");
    b += p.crawl_config.empty() ? "null" : p.crawl_config;
  }
  number(member_bit("queue_limit"), "queue_limit", p.queue_limit);
  number(member_bit("queue_window"), "queue_window", p.queue_window);
  seconds(member_bit("retain_age"), "retain_age", p.retain.age);
  number(member_bit("retain_count"), "retain_count", p.retain.count);
  seconds(member_bit("updatetime"), "updatetime", p.updatetime.time_since_epoch());
  flag(member_bit("deleting"), "deleting", p.deleting);
  flag(member_bit("paused"), "paused", v.paused);
  number(member_bit("size"), "size", v.size());
  number(member_bit("ready"), "ready", v.ready);
  number(member_bit("delayed"), "delayed", v.delayed);
  number(member_bit("processing"), "processing", v.processing);
  number(member_bit("on_disk"), "on_disk", v.on_disk);
  if (f.has(member_bit("counters") | member_bit("counters.5m_time") | member_bit("counters.5m")
            | member_bit("counters.1h") | member_bit("counters.1d") | member_bit("counters.all")))
    append_counters(b, v, f);
  number(member_bit("refused"), "refused", v.refused);
  if (f.has(member_bit("next_at"))) {
    append_key(b, "next_at");
    if (v.next_at)
      append_seconds(b, v.next_at->time_since_epoch());
    else
      b += "null";
  }
  text(member_bit("gate"), "gate", v.gate);
  if (f.has(member_bit("handled"))) append_handled(b, v.counters.handled);
  b += '}';
}

void append_totals(std::string& b, const std::vector<actors::project_view>& all) {
  actors::project_view sum;
  std::uint64_t running = 0;
  std::uint64_t paused = 0;
  for (const auto& v : all) {
    const auto status = v.record.status;
    running += status == project_status::running || status == project_status::debug ? 1U : 0U;
    paused += v.paused ? 1U : 0U;
    sum.ready += v.ready;
    sum.delayed += v.delayed;
    sum.processing += v.processing;
    sum.on_disk += v.on_disk;
    sum.refused += v.refused;
    sum.counts.active += v.counts.active;
    sum.counts.success += v.counts.success;
    sum.counts.failed += v.counts.failed;
    sum.counts.bad += v.counts.bad;
    sum.counters.five_minutes += v.counters.five_minutes;
    sum.counters.hour += v.counters.hour;
    sum.counters.day += v.counters.day;
    sum.counters.all += v.counters.all;
    // A step may have ended while the projects were asked: the later one counts.
    auto& h = sum.counters.handled;
    if (v.counters.handled.until > h.until) h = {v.counters.handled.until, {}};
    if (v.counters.handled.until == h.until)
      for (std::size_t i = 0; i < h.counts.size(); ++i)
        h.counts[i] += v.counters.handled.counts[i];
  }
  b += '{';
  const std::pair<std::string_view, std::uint64_t> numbers[]{
      {"projects", all.size()},       {"running", running},     {"paused", paused},
      {"size", sum.size()},           {"ready", sum.ready},     {"delayed", sum.delayed},
      {"processing", sum.processing}, {"on_disk", sum.on_disk}, {"refused", sum.refused}};
  for (const auto& [name, n] : numbers) {
    append_key(b, name);
    append_unsigned(b, n);
  }
  append_key(b, "counters");
  b += '{';
  append_states(b, sum.counts);
  append_events(b, "5m", sum.counters.five_minutes);
  append_events(b, "1h", sum.counters.hour);
  append_events(b, "1d", sum.counters.day);
  append_events(b, "all", sum.counters.all);
  b += '}';
  append_handled(b, sum.counters.handled);
  b += '}';
}

} // namespace lycosa::gateway
