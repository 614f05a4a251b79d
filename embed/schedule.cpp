#include "lycosa/schedule.hpp"

#include "core/triggers/time_text.hpp"
#include "core/triggers/zone.hpp"

#include "embed/convert.hpp"
#include <nlohmann/json.hpp>

namespace lycosa {

namespace {

using json = nlohmann::ordered_json;

std::string iso(time_point t) {
  return trigger::to_iso(t, trigger::zone());
}

schedule made(const json& o) {
  return o.dump(-1, ' ', false, json::error_handler_t::replace);
}

json object_of(const schedule& s) {
  auto o = json::parse(embed::trigger_json(s), nullptr, false);
  if (!o.is_object())
    throw scheduler_error(failure::invalid, "trigger", "expected a JSON object: " + s.text());
  return o;
}

json fields_json(const cron_fields& f) {
  json o = {{"type", "cron"}};
  const auto put = [&](const char* name, const std::string& text) {
    if (!text.empty()) o[name] = text;
  };
  put("year", f.year);
  put("month", f.month);
  put("day", f.day);
  put("week", f.week);
  put("day_of_week", f.day_of_week);
  put("hour", f.hour);
  put("minute", f.minute);
  put("second", f.second);
  return o;
}

schedule combined(const char* type, std::initializer_list<schedule> all) {
  json o = {{"type", type}, {"triggers", json::array()}};
  for (const auto& s : all)
    o["triggers"].push_back(object_of(s));
  return made(o);
}

/// A number of seconds, exact.
json seconds(duration d) {
  if (d.count() % 1'000'000 == 0) return d.count() / 1'000'000;
  return static_cast<double>(d.count()) / 1e6;
}

} // namespace

schedule::schedule(const cron_fields& fields) : text_(made(fields_json(fields)).text()) {}

schedule schedule::with(std::string_view member, std::string_view value) const {
  auto o = object_of(*this);
  o[std::string(member)] = value;
  return made(o);
}

schedule schedule::in_zone(std::string_view iana_name) const {
  return with("timezone", iana_name);
}

schedule schedule::starting(time_point first) const {
  return with("start_date", iso(first));
}

schedule schedule::until(time_point last) const {
  return with("end_date", iso(last));
}

schedule schedule::with_jitter(duration most) const {
  auto o = object_of(*this);
  o["jitter"] = seconds(most);
  return made(o);
}

schedule every(duration interval) {
  return made({{"type", "interval"}, {"seconds", seconds(interval)}});
}

schedule cron(std::string_view expression) {
  if (expression.starts_with('@')) return std::string(expression);
  return made({{"type", "crontab"}, {"expr", expression}});
}

schedule cron(const cron_fields& fields) {
  return fields;
}

schedule at(time_point when) {
  return made({{"type", "date"}, {"run_date", iso(when)}});
}

schedule calendar(const calendar_step& step) {
  json o = {{"type", "calendar_interval"}};
  const auto put = [&](const char* name, int value) {
    if (value != 0) o[name] = value;
  };
  put("years", step.years);
  put("months", step.months);
  put("weeks", step.weeks);
  put("days", step.days);
  put("hour", step.hour);
  put("minute", step.minute);
  put("second", step.second);
  return made(o);
}

schedule oncalendar(std::string_view expression) {
  return made({{"type", "oncalendar"}, {"expr", expression}});
}

schedule any_of(std::initializer_list<schedule> all) {
  return combined("or", all);
}

schedule all_of(std::initializer_list<schedule> all) {
  return combined("and", all);
}

} // namespace lycosa
