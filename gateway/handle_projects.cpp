#include "core/edit_distance.hpp"
#include "gateway/handlers.hpp"
#include "gateway/items.hpp"
#include "gateway/json_writer.hpp"
#include "gateway/numbers.hpp"
#include "gateway/project_json.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

namespace lycosa::gateway {
namespace {

constexpr std::array<std::string_view, 1> opened{"retry_delay"};

constexpr std::array<std::string_view, 14> changeable{
    "group",       "script",       "comments",     "rate",       "burst",
    "min_tick",    "queue_limit",  "queue_window", "retain_age", "retain_count",
    "retry_delay", "crawl_config", "status",       "name"};

tl::unexpected<error> wrong(std::string field, std::string why) {
  return fail(errc::invalid_argument, std::move(field), std::move(why));
}

result<usec> read_duration(const json_member& m, std::string field) {
  const auto t = m.is(json_kind::number) ? parse_seconds(m.raw) : std::nullopt;
  if (!t || *t < usec::zero() || *t > std::chrono::seconds{100'000'000'000})
    return wrong(std::move(field), "must be a number of seconds from 0 to 1e11");
  return *t;
}

/// A name as an error tells it: whole, unless it is endless.
std::string shown(std::string_view name) {
  std::size_t most = 64;
  if (name.size() <= most) return std::string{name};
  while ((static_cast<unsigned char>(name[most]) & 0xC0U) == 0x80U)
    --most;
  return std::string{name.substr(0, most)} + "…";
}

/// Members of a request that nothing knows, each with what may have been meant. They are passed
/// over, as everywhere, but whoever misspelt one is told.
class unknown_members {
public:
  void note(std::string_view name) {
    const auto near = nearest_name(name, changeable);
    std::string why = "unknown, and passed over";
    if (!near.empty()) ((why += "; the nearest known name is \"") += near) += '"';
    list_ += list_.empty() ? ",\"warnings\":[{\"field\":" : ",{\"field\":";
    append_string(list_, shown(name));
    list_ += ",\"reason\":";
    append_string(list_, why);
    list_ += '}';
  }
  /// As a member `warnings` of an object; nothing if there are none.
  [[nodiscard]] std::string text() const { return list_.empty() ? list_ : list_ + ']'; }

private:
  std::string list_;
};

result<void> read_retry(const outline& o, const json_member& object, project_patch& patch) {
  if (object.is(json_kind::null)) {
    patch.default_retry = true;
    return {};
  }
  if (!object.is(json_kind::object)) return wrong("retry_delay", "must be an object or null");
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
      return wrong("retry_delay",
                   "has a key that is neither a number of retries from 0 to 1000000 nor \"\"");
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
  if (!n || *n < 0) return wrong(std::string{m.key}, integer_reason(0, INT64_MAX));
  to = static_cast<std::uint64_t>(*n);
  return {};
}

/// Of a member whose 0 means "none" or "for ever": what is more than 0 must not become that.
result<void> read_duration(const json_member& m, usec least, std::optional<usec>& to) {
  auto t = read_duration(m, std::string{m.key});
  if (!t) return tl::unexpected<error>(t.error());
  if (*t < least && is_written_nonzero(m.raw)) {
    std::string why = "must be 0, or a number of seconds from ";
    append_seconds(why, least);
    return wrong(std::string{m.key}, why + " to 1e11");
  }
  to = *t;
  return {};
}

result<void> read_member(const outline& o, const json_member& m, const std::string& name,
                         project_patch& p, unknown_members& unknown) {
  constexpr std::size_t any = SIZE_MAX;
  if (m.key == "group") return read_text(m, 1024, p.group);
  if (m.key == "script") return read_text(m, any, p.script);
  if (m.key == "comments") return read_text(m, 64 * 1024, p.comments);
  if (m.key == "rate") return read_amount(m, p.rate);
  if (m.key == "burst") return read_amount(m, p.burst);
  if (m.key == "min_tick") return read_duration(m, std::chrono::seconds{1}, p.min_tick);
  if (m.key == "queue_limit") return read_count(m, p.queue_limit);
  if (m.key == "queue_window") return read_count(m, p.queue_window);
  if (m.key == "retain_age") return read_duration(m, usec{1}, p.retain_age);
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
  } else if (m.key == "name") {
    if (m.text != name) return wrong("name", "differs from the one in the address");
  } else if (std::ranges::find(project_members, m.key) == project_members.end()) {
    // What a project shows and nobody sets may be sent back as it was read.
    unknown.note(m.key);
  }
  return {};
}

response show_project(const actors::project_view& v, unsigned status,
                      std::string_view warnings = {}) {
  std::string b;
  append_project(b, v, {});
  b.insert(b.size() - 1, warnings);
  return json(std::move(b), status);
}

/// Whether the name in the address can be one; answers if not.
bool named(const request& r, const exchange_ptr& x) {
  auto ok = check_project_name(r.captured[0]);
  if (!ok) answer_now(x, problem(ok.error()));
  return ok.has_value();
}

constexpr std::size_t most_names = 1000;

/// Asks for the projects of a list of names with commas; what is not there is left out.
void ask_each(service& s, std::string_view names,
              std::function<void(result<std::vector<actors::project_view>>)> done) {
  std::vector<std::string> wanted;
  for (std::size_t at = 0; at < names.size();) {
    const auto comma = std::min(names.find(',', at), names.size());
    if (comma > at) wanted.emplace_back(names.substr(at, comma - at));
    at = comma + 1;
  }
  if (wanted.size() > most_names)
    return done(fail(errc::invalid_argument, "names",
                     "more than " + std::to_string(most_names) + " names"));
  if (wanted.empty()) return done(std::vector<actors::project_view>{});
  struct gathered {
    std::mutex mutex;
    std::vector<std::optional<actors::project_view>> views;
    std::optional<error> failure;
    std::size_t open = 0;
  };
  auto all = std::make_shared<gathered>();
  all->views.resize(wanted.size());
  all->open = wanted.size();
  for (std::size_t i = 0; i < wanted.size(); ++i)
    s.node.get_project(std::move(wanted[i]), [all, i, done](result<actors::project_view> v) {
      std::unique_lock lock(all->mutex);
      if (v)
        all->views[i] = std::move(*v);
      else if (v.error().code != errc::not_found) // it may well be there
        all->failure = std::move(v.error());
      if (--all->open > 0) return;
      if (all->failure) {
        lock.unlock();
        return done(tl::unexpected(std::move(*all->failure)));
      }
      std::vector<actors::project_view> found;
      for (auto& view : all->views)
        if (view) found.push_back(std::move(*view));
      lock.unlock();
      done(std::move(found));
    });
}

} // namespace

/// `fields`: which members; `names`: only these, those that there are not are left out; `totals`:
/// with the sums of all that were asked for.
void list_projects(service& s, const request& r, const exchange_ptr& x) {
  project_fields fields;
  if (const auto* list = r.argument("fields"); list != nullptr) {
    auto read = project_fields::parse(*list);
    if (!read) return answer_now(x, problem(read.error()));
    fields = *read;
  }
  const auto* totals = r.argument("totals");
  const bool with_totals = totals != nullptr && *totals == "true";
  auto answer = answering<std::vector<actors::project_view>>(
      x,
      [lines = r.wants_lines(), fields, with_totals](const std::vector<actors::project_view>& all) {
        std::string b = lines ? "" : R"({"projects":[)";
        bool first = true;
        for (const auto& v : all) {
          if (!lines && !first) b += ',';
          first = false;
          append_project(b, v, fields);
          if (lines) b += '\n';
        }
        if (!lines) {
          b += ']';
          if (with_totals) {
            b += ",\"totals\":";
            append_totals(b, all);
          }
          b += '}';
        }
        auto shown = json(std::move(b));
        if (lines) shown.content_type = "application/x-ndjson";
        return shown;
      });
  const auto* names = r.argument("names");
  if (names == nullptr) return s.node.list_projects(std::move(answer));
  ask_each(s, *names, std::move(answer));
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
  unknown_members unknown;
  if (!r.body->text.empty()) {
    outline o(r.body->arena, opened);
    if (auto ok = read_object(r.body->text, o); !ok) return answer_now(x, problem(ok.error()));
    for (const auto& m : o.members())
      if (m.parent == json_member::no_parent)
        if (auto ok = read_member(o, m, r.captured[0], patch, unknown); !ok)
          return answer_now(x, problem(ok.error()));
  }
  s.node.put_project(r.captured[0], std::move(patch),
                     answering<actors::put_project_answer>(
                         x, [warnings = unknown.text()](const actors::put_project_answer& a) {
                           return show_project(a.project, a.created ? 201 : 200, warnings);
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
