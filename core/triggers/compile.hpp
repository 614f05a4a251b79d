#pragma once

#include "core/triggers/cron_fields.hpp"
#include "core/triggers/node.hpp"
#include "core/triggers/spec.hpp"
#include "core/triggers/time_text.hpp"

#include <string>

namespace lycosa::trigger::detail {

/// What the compilation of one spec needs: its members by name, the names that belong to it, and
/// where it stands in a combination, for the names in errors.
class spec_reader {
public:
  spec_reader(const spec& s, const compile_options& options, std::string path)
      : spec_(s), options_(options), path_(std::move(path)) {}

  [[nodiscard]] const spec& source() const { return spec_; }
  [[nodiscard]] const compile_options& options() const { return options_; }
  [[nodiscard]] std::string name(std::string_view member) const {
    return path_.empty() ? std::string(member) : path_ + "." + std::string(member);
  }
  [[nodiscard]] const std::string* find(std::string_view member) const {
    const auto i = spec_.fields.find(member);
    return i == spec_.fields.end() ? nullptr : &i->second;
  }
  [[nodiscard]] tl::unexpected<error> bad(std::string_view member, std::string why) const {
    return fail(errc::invalid_argument, name(member), std::move(why));
  }
  /// The same error, its field's name made complete.
  [[nodiscard]] tl::unexpected<error> at(error e) const {
    e.what = name(e.what);
    return tl::unexpected<error>(std::move(e));
  }
  /// Whole number within bounds; `fallback` when left out.
  [[nodiscard]] result<std::int64_t> whole(std::string_view member, std::int64_t low,
                                           std::int64_t high, std::int64_t fallback) const;
  [[nodiscard]] result<bool> flag(std::string_view member) const;

private:
  const spec& spec_;
  const compile_options& options_;
  std::string path_;
};

/// The length of an interval's members added up; must be more than nothing.
[[nodiscard]] result<usec> interval_length(const spec_reader& in);

/// A crontab expression taken apart: zone, at-start, and five fields (six or seven in Quartz's).
struct crontab_parts {
  std::string zone;      ///< of CRON_TZ= or TZ=
  bool at_start = false; ///< @reboot
  struct part {
    cron_field field;
    std::string_view text;
    std::size_t column;
  };
  std::vector<part> fields;
};
[[nodiscard]] result<crontab_parts> split_crontab(std::string_view expr, dialect d);

[[nodiscard]] result<node> compile_cron(const spec_reader& in, node n);
[[nodiscard]] result<node> compile_crontab(const spec_reader& in, node n);
[[nodiscard]] result<node> compile_steps(const spec_reader& in, node n);

[[nodiscard]] result<trigger> compile_at(const spec& s, const compile_options& options,
                                         const std::string& path);

} // namespace lycosa::trigger::detail
