#include "storage/job_check.hpp"

#include "core/jobs/job_json.hpp"
#include "storage/blob_log.hpp"
#include "storage/job_codec.hpp"
#include "storage/job_names.hpp"

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace lycosa::storage {

namespace {

class job_check {
public:
  job_check(const blob_snapshot& blobs, check_report& report) : blobs_(blobs), r_(report) {}

  int run() {
    if (const int rc = read_log(); rc != 0) return rc;
    read_state();
    const int rc = each([&](std::string_view name, std::string_view value) {
      const auto rest = name.empty() ? name : name.substr(1);
      switch (name.empty() ? '\0' : name.front()) {
      case 'd':
        return look_at_members(rest, value);
      case 'j':
        return look_at_old();
      case 'l':
        return; // read first of all
      case 'n':
        if (rest.empty()) return;
        break;
      case 'o':
        return look_at_open_run(rest, value);
      case 'p':
        return look_at_place(rest, value);
      case 'r':
        return look_at_record(rest, value);
      default:
        break;
      }
      problem("an entry is of no known kind");
    });
    if (used_ && !next_) problem("the counters are missing");
    return rc != 0 ? rc : failed_;
  }

private:
  void problem(const std::string& text) {
    r_.ok = false;
    ++r_.problem_count;
    if (r_.problems.size() < 100) r_.problems.push_back("jobs: " + text);
  }

  static std::string job_of(std::string_view id) { return "job " + std::string(id); }

  static std::string run_of(const jobs::run_record& r) {
    return job_of(r.job_id) + ": run " + std::to_string(r.number);
  }

  /// What the log says goes before what is in its place.
  int read_log() {
    return blobs_.each([&](std::string_view name, std::string_view value) {
      if (!name.starts_with(job_names::log)) return;
      used_ = true;
      if (name.size() != job_names::log.size() + 8)
        return problem("a record of the log has a name of the wrong length");
      auto changes = decode_changes(value);
      if (!changes) return problem(changes.error().text());
      for (auto& [changed, to] : *changes)
        log_[std::move(changed)] = std::move(to);
    });
  }

  /// Every entry as it will be when the log has been carried out, in the order of the names.
  template <class Look>
  int each(Look look) {
    auto i = log_.begin();
    const auto logged_before = [&](const std::string* name) {
      for (; i != log_.end() && (!name || i->first < *name); ++i)
        if (!i->second.empty()) look(std::string_view(i->first), std::string_view(i->second));
    };
    const int rc = blobs_.each([&](std::string_view name, std::string_view value) {
      const std::string here(name);
      logged_before(&here);
      if (!log_.contains(here)) look(name, value);
    });
    logged_before(nullptr);
    return rc;
  }

  std::optional<std::string_view> get(std::string_view name) {
    if (const auto i = log_.find(name); i != log_.end())
      return i->second.empty() ? std::nullopt : std::optional<std::string_view>(i->second);
    std::string_view value;
    const int rc = blobs_.get(name, value);
    if (rc == 0) return value;
    if (rc != MDB_NOTFOUND) failed_ = rc;
    return std::nullopt;
  }

  void read_state() {
    const auto bytes = get(job_names::state);
    if (!bytes) return;
    if (bytes->size() >= 24)
      next_ = job_names::number_at(*bytes);
    else
      problem("the counters have the wrong length");
  }

  /// Numbers of records and of jobs are given out once and in order.
  void given_out(std::uint64_t number, const std::string& whose) {
    used_ = true;
    if (next_ && number >= *next_)
      problem(whose + " has number " + std::to_string(number)
              + ", which the counter would give out again");
  }

  void look_at_old() {
    if (!std::exchange(told_old_, true))
      problem(
          "there are jobs stored by a version of lycosa before format 3, which can export them");
  }

  void look_at_members(std::string_view id, std::string_view value) {
    ++r_.jobs;
    used_ = true;
    const auto members = decode_members(value);
    if (!members) return problem(job_of(id) + ": " + members.error().text());
    const auto bytes = get(job_names::place(id));
    if (!bytes) return problem(job_of(id) + " has no place in time");
    const auto place = decode_place(*bytes);
    if (!place) return; // told of where places are looked at
    const auto job = jobs::parse_members(*members, place->place);
    if (!job) return problem(job_of(id) + ": " + job.error().text());
    if (job->id != id) problem(job_of(id) + ": its record is of job " + job->id);
  }

  void look_at_place(std::string_view id, std::string_view value) {
    used_ = true;
    if (!get(job_names::members(id)))
      problem("there is a place of job " + std::string(id) + ", which does not exist");
    const auto place = decode_place(value);
    if (!place) return problem(job_of(id) + ": " + place.error().text());
    given_out(place->uid, job_of(id));
    if ((place->newest == 0) != (place->ended == 0))
      problem(job_of(id) + " counts " + std::to_string(place->ended) + " ended runs and "
              + (place->newest == 0 ? "knows none of them" : "knows one of them"));
    if (place->newest == 0) return;
    given_out(place->newest, job_of(id) + ": its newest run");
    const auto bytes = get(job_names::record(place->newest));
    if (!bytes) { // erased for its age, unless one before it is there
      without_newest_.emplace(place->uid, id);
      return;
    }
    const auto newest = decode_run(*bytes);
    if (newest && (newest->uid != place->uid || newest->index != place->ended))
      problem(job_of(id) + ": its newest run is another job's, or another one");
  }

  void look_at_open_run(std::string_view rest, std::string_view value) {
    ++r_.job_runs;
    used_ = true;
    const auto end = rest.find('\0');
    if (end == std::string_view::npos || rest.size() != end + 9)
      return problem("a run that has not ended has a name of the wrong form");
    const auto id = rest.substr(0, end);
    const auto number = job_names::number_at(rest.substr(end + 1));
    const auto name = job_of(id) + ": run " + std::to_string(number);
    const auto run = decode_run(value);
    if (!run) return problem(name + ": " + run.error().text());
    if (run->run.job_id != id || run->run.number != number)
      problem(name + ": its record is of " + run_of(run->run));
    if (jobs::is_final(run->run.state)) problem(name + " has ended and stands among the others");
    const auto bytes = get(job_names::place(id));
    if (!bytes) return problem(name + " has not ended, but the job does not exist");
    const auto place = decode_place(*bytes);
    if (place && place->uid != run->uid)
      problem(name + " has not ended, but is of an earlier job of this name");
  }

  /// Records come in the order of the ends, and all places before them.
  void look_at_record(std::string_view rest, std::string_view value) {
    ++r_.job_runs;
    if (rest.size() != 8) return problem("a run that has ended has a name of the wrong length");
    const auto at = job_names::number_at(rest);
    const auto record = "record " + std::to_string(at);
    given_out(at, record);
    const auto run = decode_run(value);
    if (!run) return problem(record + ": " + run.error().text());
    const auto name = run_of(run->run);
    if (!jobs::is_final(run->run.state))
      problem(name + " has not ended and stands among those that have");
    if (run->uid == 0 || run->index == 0) return problem(name + " does not say which it is");
    if ((run->index == 1) != (run->before == 0) || run->before >= at)
      return problem(name + " and the one before it do not follow one another");
    if (const auto job = without_newest_.extract(run->uid))
      problem(job_of(job.mapped()) + ": its newest run is missing, and older ones are there");
    look_before(*run, name);
  }

  void look_before(const stored_run& run, const std::string& name) {
    auto& seen = seen_[run.uid];
    const auto older = std::exchange(seen, {run.index, run.run.ended});
    if (run.before == 0) return;
    const auto bytes = get(job_names::record(run.before));
    if (bytes) {
      const auto before = decode_run(*bytes);
      if (before && (before->uid != run.uid || before->index + 1 != run.index))
        problem(name + ": the one before it is another job's, or another one");
    } else if (older.index != 0 && older.ended <= run.run.ended) {
      // The oldest are erased first; only a clock that was set back lets one outlive a later one.
      problem(name + ": the one before it is missing, and older ones are there");
    }
  }

  struct last_seen {
    std::uint64_t index = 0;
    std::optional<wall_time> ended;
  };

  const blob_snapshot& blobs_;
  check_report& r_;
  std::map<std::string, std::string, std::less<>> log_; ///< the latest it says of each name
  std::optional<std::uint64_t> next_;                   ///< the number that is given out next
  bool used_ = false;                                   ///< there is what the counters count
  bool told_old_ = false;
  int failed_ = 0; ///< what LMDB said when something could not be read
  std::unordered_map<std::uint64_t, std::string> without_newest_; ///< uid → job
  std::unordered_map<std::uint64_t, last_seen> seen_; ///< uid → the last record of the job so far
};

} // namespace

result<void> check_jobs(lmdb_catalog& catalog, check_report& report) {
  auto blobs = catalog.snapshot(job_names::space);
  if (!blobs) return tl::unexpected(blobs.error());
  const int rc = job_check(*blobs, report).run();
  if (rc != 0) return lmdb::failed(rc, catalog.env().name());
  return {};
}

} // namespace lycosa::storage
