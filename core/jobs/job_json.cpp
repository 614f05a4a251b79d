#include "core/jobs/job_json.hpp"

#include "core/jobs/member_reader.hpp"
#include "core/triggers/time_text.hpp"

#include <algorithm>

namespace lycosa::jobs {

namespace {

using detail::dump;
using detail::json;
using detail::member_reader;

constexpr std::size_t longest_id = 255;
constexpr std::size_t largest_job = 1 << 20; // as of tasks
constexpr std::uint32_t most_retries = 1'000'000;
constexpr std::size_t longest_retry_table = 1000;

template <class Enum, std::size_t N>
void choice(member_reader& in, std::string_view name, const std::array<Enum, N>& all, Enum& out) {
  std::string text;
  in.text(name, text);
  if (!in.find(name)) return;
  std::string names;
  for (const auto e : all) {
    if (to_string(e) == text) {
      out = e;
      return;
    }
    names += (names.empty() ? "" : ", ") + std::string(to_string(e));
  }
  in.refuse(name, "expected one of " + names);
}

/// A number, a list by retry, or pyspider's table {"0": 30, "1": 3600, "": 86400}.
void read_retry_delay(member_reader& in, std::vector<usec>& out) {
  const auto* v = in.find("retry_delay");
  if (!v) return;
  out.clear();
  if (v->is_array()) {
    // One more than a table has: its last is what the table has for the rest.
    if (v->size() > longest_retry_table + 1)
      return in.refuse("retry_delay",
                       "has more than " + std::to_string(longest_retry_table + 1) + " entries");
    for (std::size_t i = 0; i < v->size(); ++i)
      if (auto d = in.seconds_of((*v)[i], "retry_delay[" + std::to_string(i) + "]"))
        out.push_back(*d);
    return;
  }
  if (!v->is_object()) {
    if (auto d = in.seconds_of(*v, "retry_delay")) out = {*d};
    return;
  }
  std::map<std::size_t, usec> table;
  std::optional<usec> rest;
  for (const auto& [key, value] : v->items()) {
    const auto d = in.seconds_of(value, "retry_delay." + key);
    if (!d) return;
    if (key.empty()) {
      rest = d;
    } else if (key.size() <= 3 && key.find_first_not_of("0123456789") == std::string::npos) {
      table[std::stoul(key)] = *d;
    } else {
      in.refuse("retry_delay." + key,
                "expected the number of a retry from 0 to 999, or nothing for the rest");
    }
  }
  if (table.empty() && !rest) return in.refuse("retry_delay", "the table is empty");
  const auto fallback = rest ? *rest : table.rbegin()->second;
  const auto size = table.empty() ? 0 : table.rbegin()->first + 1;
  out.assign(size, fallback);
  for (const auto& [n, d] : table)
    out[n] = d;
  if (rest) out.push_back(*rest);
}

void read_members(member_reader& in, job& j) {
  in.text("name", j.name);
  if (const auto* t = in.find("trigger")) j.trigger_json = dump(*t);
  in.text("timezone", j.timezone);
  if (const auto* a = in.find("action")) {
    j.action_json = dump(*a);
    if (auto parsed = detail::read_action(*a, "action"))
      j.action = std::move(*parsed);
    else
      in.refuse(parsed.error().what, parsed.error().why);
  }
  in.text("executor", j.executor);
  if (j.executor.empty()) in.refuse("executor", "the name is empty");
  in.whole("max_instances", 1, 1'000'000, j.max_instances);
  choice(in, "overlap",
         std::array{overlap_policy::skip, overlap_policy::buffer_one, overlap_policy::buffer_all,
                    overlap_policy::cancel_other, overlap_policy::allow},
         j.overlap);
  choice(in, "coalesce",
         std::array{coalesce_policy::latest, coalesce_policy::earliest, coalesce_policy::all},
         j.coalesce);
  in.optional_seconds("misfire_grace_time", j.misfire_grace);
  in.seconds("jitter", j.jitter);
  in.whole("retries", 0, most_retries, j.retries);
  read_retry_delay(in, j.retry_delay);
  in.optional_seconds("timeout", j.timeout);
  if (j.timeout && *j.timeout <= usec::zero()) in.refuse("timeout", "must be more than 0");
  if (const auto* tags = in.find("tags")) {
    if (!tags->is_object()) in.refuse("tags", "expected an object of strings");
    j.tags.clear();
    for (const auto& [key, value] : tags->items())
      if (tags->is_object())
        j.tags[key] = value.is_string() ? value.get<std::string>() : dump(value);
  }
  in.flag("run_on_start", j.run_on_start);
  in.flag("rerun_lost", j.rerun_lost);
  in.flag("keep_finished", j.keep_finished);
  in.flag("paused", j.paused);
  in.text("pause_reason", j.pause_reason);
  if (!j.paused) j.pause_reason.clear();
}

void check_members(member_reader& in) {
  in.only(
      {"id",           "name",          "trigger",      "timezone",         "action",
       "executor",     "max_instances", "overlap",      "coalesce",         "misfire_grace_time",
       "jitter",       "retries",       "retry_delay",  "timeout",          "paused",
       "pause_reason", "next_run_time", "finished",     "replace_existing", "tags",
       "run_on_start", "rerun_lost",    "keep_finished"});
}

result<void> check_id(std::string_view id) {
  if (id.empty())
    return fail(errc::invalid_argument, "id",
                "the id is missing: choose one, so that the same job sent twice is one job");
  if (id.size() > longest_id) return fail(errc::invalid_argument, "id", "longer than 255 bytes");
  for (const char c : id)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '/')
      return fail(errc::invalid_argument, "id", "control characters and / are not allowed");
  return {};
}

result<job> read_job(const json& object, job j) {
  member_reader in(object, "");
  check_members(in);
  in.text("id", j.id);
  if (in.ok())
    if (auto ok = check_id(j.id); !ok) return tl::unexpected(ok.error());
  read_members(in, j);
  std::size_t bytes = j.name.size() + j.trigger_json.size() + j.action_json.size()
                      + j.pause_reason.size() + j.timezone.size();
  for (const auto& [key, value] : j.tags)
    bytes += key.size() + value.size();
  if (bytes > largest_job) in.refuse("job", "larger than 1 MiB");
  if (j.trigger_json.empty()) in.refuse("trigger", "the trigger is missing");
  if (j.action_json.empty()) in.refuse("action", "the action is missing");
  if (in.failure()) {
    error e = *in.failure();
    return tl::unexpected(std::move(e));
  }
  if (auto ok = compile_trigger(j); !ok) return tl::unexpected(ok.error());
  return j;
}

/// All members of the client's but the trigger and the action, which are texts already.
json plain_members(const job& j) {
  json o;
  o["id"] = j.id;
  o["name"] = j.name;
  if (!j.timezone.empty()) o["timezone"] = j.timezone;
  o["executor"] = j.executor;
  o["max_instances"] = j.max_instances;
  o["overlap"] = to_string(j.overlap);
  o["coalesce"] = to_string(j.coalesce);
  o["misfire_grace_time"] = nullptr;
  if (j.misfire_grace) o["misfire_grace_time"] = detail::to_seconds(*j.misfire_grace);
  o["jitter"] = detail::to_seconds(j.jitter);
  o["retries"] = j.retries;
  if (!j.retry_delay.empty()) {
    auto list = json::array();
    for (const auto d : j.retry_delay)
      list.push_back(detail::to_seconds(d));
    o["retry_delay"] = std::move(list);
  }
  o["timeout"] = nullptr;
  if (j.timeout) o["timeout"] = detail::to_seconds(*j.timeout);
  o["tags"] = j.tags;
  o["run_on_start"] = j.run_on_start;
  o["rerun_lost"] = j.rerun_lost;
  o["keep_finished"] = j.keep_finished;
  o["paused"] = j.paused;
  o["pause_reason"] = j.pause_reason;
  return o;
}

/// The texts were one line of JSON each when the job was read: they need not be read again.
std::string with_texts(const json& members, const job& j) {
  auto text = dump(members);
  text.pop_back();
  text += ",\"trigger\":" + j.trigger_json + ",\"action\":" + j.action_json + "}";
  return text;
}

result<job_input> read_input(const json& object, wall_time now) {
  job j;
  j.created = now;
  auto made = read_job(object, std::move(j));
  if (!made) return tl::unexpected(made.error());
  job_input in{std::move(*made), false};
  member_reader reader(object, "");
  reader.flag("replace_existing", in.replace_existing);
  if (reader.failure()) return tl::unexpected(*reader.failure());
  return in;
}

} // namespace

result<job_input> parse_job(std::string_view text, wall_time now) {
  auto object = detail::parse_object(text, "job");
  if (!object) return tl::unexpected(object.error());
  return read_input(*object, now);
}

result<std::vector<result<job_input>>> parse_jobs(std::string_view text, wall_time now) {
  const auto list = json::parse(text, nullptr, false);
  if (!list.is_array()) return fail(errc::invalid_argument, "jobs", "this is not a JSON list");
  std::vector<result<job_input>> out;
  out.reserve(list.size());
  for (const auto& item : list) {
    if (item.is_object())
      out.push_back(read_input(item, now));
    else
      out.emplace_back(fail(errc::invalid_argument, "job", "not an object"));
  }
  return out;
}

result<std::string> one_line(std::string_view object, std::string_view what) {
  auto read = detail::parse_object(object, what);
  if (!read) return tl::unexpected(read.error());
  return dump(*read);
}

result<job> apply_patch(const job& old, const job_patch& patch) {
  auto object = detail::parse_object(patch.members, "job");
  if (!object) return tl::unexpected(object.error());
  if (const auto id = object->find("id"); id != object->end() && *id != old.id)
    return fail(errc::invalid_argument, "id", "an id cannot be changed");
  return read_job(*object, old);
}

std::string to_json(const job& j) {
  auto o = plain_members(j);
  const auto next = j.next_run_time();
  o["next_run_time"] = nullptr;
  if (next) o["next_run_time"] = trigger::to_iso(*next, j.trigger.timezone());
  o["finished"] = j.finished();
  return with_texts(o, j);
}

std::string to_members_json(const job& j) {
  return with_texts(plain_members(j), j);
}

result<job> parse_members(std::string_view text, const job_place& place) {
  auto object = detail::parse_object(text, "job");
  if (!object) return fail(errc::corrupt, "job", object.error().why);
  job j;
  j.created = place.created;
  j.previous = place.previous;
  j.next = place.next;
  j.runs = place.runs;
  auto made = read_job(*object, std::move(j));
  if (!made) return fail(errc::corrupt, made.error().what, made.error().why);
  return made;
}

} // namespace lycosa::jobs
