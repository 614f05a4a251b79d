#include "storage/job_store.hpp"

#include "core/jobs/job_json.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace lycosa::storage {

namespace {

constexpr std::string_view space = "jobs";
constexpr std::size_t page = 1000;
constexpr std::size_t number_bytes = 8;

std::string job_name(std::string_view id) {
  return "j" + std::string(id);
}

/// Runs of a job lie together, the newest first: the number is stored inverted, high byte first.
std::string run_name(std::string_view id, std::uint64_t number) {
  std::string name = "r" + std::string(id) + '\0';
  for (int shift = 56; shift >= 0; shift -= 8)
    name += static_cast<char>((~number >> shift) & 0xff);
  return name;
}

std::string runs_of(std::string_view id) {
  return "r" + std::string(id) + '\0';
}

/// Id and number of a run's name; ids hold no NUL.
std::optional<std::pair<std::string, std::uint64_t>> split_run_name(std::string_view name) {
  const auto end = name.find('\0');
  if (end == std::string_view::npos || name.size() != end + 1 + number_bytes) return std::nullopt;
  std::uint64_t inverted = 0;
  for (const char c : name.substr(end + 1))
    inverted = inverted << 8 | static_cast<unsigned char>(c);
  return std::pair{std::string(name.substr(1, end - 1)), ~inverted};
}

} // namespace

result<void> job_store::commit(const job_batch& batch) {
  std::map<std::string, std::string> blobs; // later entries replace earlier ones
  for (const auto& id : batch.erased) {
    blobs[job_name(id)].clear();
    const auto prefix = runs_of(id);
    for (std::string after = prefix;;) {
      auto found = catalog_.scan_blobs(space, after, page);
      if (!found) return tl::unexpected(found.error());
      for (const auto& [name, value] : *found)
        if (name.starts_with(prefix)) blobs[name].clear();
      if (found->size() < page || !found->back().first.starts_with(prefix)) break;
      after = found->back().first;
    }
  }
  for (const auto& [id, number] : batch.forgotten)
    blobs[run_name(id, number)].clear();
  for (const auto& j : batch.jobs)
    blobs[job_name(j.id)] = jobs::to_stored_json(j);
  for (const auto& r : batch.runs)
    blobs[run_name(r.job_id, r.number)] = jobs::to_json(r);
  return catalog_.put_blobs(
      space, {std::make_move_iterator(blobs.begin()), std::make_move_iterator(blobs.end())});
}

result<stored_jobs> job_store::load() {
  stored_jobs out;
  for (std::string after;;) {
    auto found = catalog_.scan_blobs(space, after, page);
    if (!found) return tl::unexpected(found.error());
    for (const auto& [name, value] : *found) {
      if (name.starts_with('j')) {
        auto j = jobs::parse_stored_job(value);
        if (j && job_name(j->id) == name)
          out.jobs.push_back(std::move(*j));
        else
          out.unreadable.push_back(name.substr(1));
      } else if (name.starts_with('r')) {
        auto r = jobs::parse_run(value);
        if (!r)
          ++out.unreadable_runs;
        else if (!jobs::is_final(r->state))
          out.open_runs.push_back(std::move(*r));
      }
    }
    if (found->size() < page) break;
    after = found->back().first;
  }
  std::sort(out.open_runs.begin(), out.open_runs.end(), [](const auto& a, const auto& b) {
    return std::pair{a.planned, a.number} < std::pair{b.planned, b.number};
  });
  return out;
}

result<std::vector<jobs::run_record>> job_store::runs(std::string_view id, std::uint64_t before,
                                                      std::size_t limit) {
  std::vector<jobs::run_record> out;
  const auto prefix = runs_of(id);
  auto found = catalog_.scan_blobs(space, before == 0 ? prefix : run_name(id, before), limit);
  if (!found) return tl::unexpected(found.error());
  for (const auto& [name, value] : *found) {
    if (!name.starts_with(prefix)) break;
    if (auto r = jobs::parse_run(value)) {
      out.push_back(std::move(*r));
    } else if (const auto split = split_run_name(name)) {
      jobs::run_record unknown;
      unknown.job_id = split->first;
      unknown.number = split->second;
      unknown.state = jobs::run_state::lost;
      unknown.reason = "its record cannot be read";
      out.push_back(std::move(unknown));
    }
  }
  return out;
}

result<std::vector<std::pair<std::string, std::uint64_t>>>
job_store::ended_before(wall_time oldest, std::string& cursor, std::size_t limit) {
  std::vector<std::pair<std::string, std::uint64_t>> out;
  auto found = catalog_.scan_blobs(space, cursor.empty() ? "r" : cursor, limit);
  if (!found) return tl::unexpected(found.error());
  cursor = found->size() < limit ? "" : found->back().first;
  for (const auto& [name, value] : *found) {
    const auto split = split_run_name(name);
    if (!split) continue;
    const auto r = jobs::parse_run(value);
    if (r && jobs::is_final(r->state) && r->ended && *r->ended < oldest) out.push_back(*split);
  }
  return out;
}

} // namespace lycosa::storage
