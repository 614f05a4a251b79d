#include "storage/job_store.hpp"

#include "core/jobs/job_json.hpp"
#include "storage/job_codec.hpp"
#include "storage/job_names.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace lycosa::storage {

namespace {

constexpr std::size_t page = 1000;
constexpr std::size_t sweep_piece = 500;
constexpr usec sweep_interval = std::chrono::minutes{10};

/// Numbers of the whole space, as the blob "n".
std::string encode_state(std::uint64_t next, std::uint64_t records, std::uint64_t dead) {
  std::string out;
  for (const auto n : {next, records, dead})
    job_names::append_number(out, n);
  return out;
}

} // namespace

result<stored_place> job_store::place_of(const std::string& id) {
  auto bytes = log_.get(job_names::place(id));
  if (!bytes) return tl::unexpected(bytes.error());
  return decode_place(*bytes);
}

result<void> job_store::commit(const job_batch& batch) {
  std::unordered_map<std::string, std::string> blobs; // later entries replace earlier ones
  std::unordered_map<std::string, stored_place> places;
  auto next = next_;
  auto records = records_;
  auto dead = dead_;
  for (const auto& id : batch.erased) {
    if (auto old = place_of(id)) dead += std::min<std::uint64_t>(old->ended, limits_.count);
    blobs[job_names::members(id)].clear();
    blobs[job_names::place(id)].clear();
    const auto prefix = job_names::open_runs_of(id);
    auto open = log_.scan(prefix, page);
    if (!open) return tl::unexpected(open.error());
    while (!open->empty() && open->front().first.starts_with(prefix)) {
      for (const auto& [name, value] : *open)
        if (name.starts_with(prefix)) blobs[name].clear();
      auto more = log_.scan(open->back().first, page);
      if (!more) return tl::unexpected(more.error());
      open = std::move(more);
    }
    places.emplace(id, stored_place{{}, next++, 0, 0}); // should it be added again
  }
  const auto known_place = [&](const std::string& id) -> stored_place& {
    const auto [i, made] = places.try_emplace(id);
    if (!made) return i->second;
    if (auto old = place_of(id))
      i->second = *old;
    else
      i->second.uid = next++;
    return i->second;
  };
  for (const auto* j : batch.jobs) {
    blobs[job_names::members(j->id)] = encode_members(jobs::to_members_json(*j));
    known_place(j->id).place = jobs::place_of(*j);
  }
  for (const auto* j : batch.places)
    known_place(j->id).place = jobs::place_of(*j);
  for (const auto* r : batch.runs) {
    auto& place = known_place(r->job_id);
    const auto open_name = job_names::open_run(r->job_id, r->number);
    if (!jobs::is_final(r->state)) {
      blobs[open_name] = encode_run({*r, place.uid, 0, 0});
      continue;
    }
    blobs[open_name].clear();
    const auto at = next++;
    blobs[job_names::record(at)] = encode_run({*r, place.uid, ++place.ended, place.newest});
    place.newest = at;
    ++records;
    if (place.ended > limits_.count) ++dead;
  }
  for (const auto& [id, place] : places) {
    const auto name = job_names::place(id);
    if (const auto b = blobs.find(name);
        b != blobs.end() && !blobs[job_names::members(id)].size()) // erased and not added again
      continue;
    blobs[name] = encode_place(place);
  }
  for (const auto& name : swept_names_)
    blobs[name].clear();
  records -= std::min<std::uint64_t>(records, swept_names_.size());
  dead -= std::min<std::uint64_t>(dead, swept_names_.size());
  if (blobs.empty()) return {};
  blobs[std::string(job_names::state)] = encode_state(next, records, dead);

  blob_changes placed, scattered;
  std::unordered_set<std::string_view> whole;
  for (const auto* j : batch.jobs)
    whole.insert(j->id);
  for (auto& [name, value] : blobs) {
    // A run changes its job's place and its own record, wherever these are in the tree.
    const bool moves = name.front() == 'o'
                       || (name.front() == 'p' && !value.empty()
                           && !whole.contains(std::string_view(name).substr(1)));
    (moves ? scattered : placed).emplace_back(name, std::move(value));
  }
  if (auto ok = log_.put(std::move(placed), std::move(scattered)); !ok) return ok;
  next_ = next;
  records_ = records;
  dead_ = dead;
  swept_names_.clear();
  return {};
}

result<stored_jobs> job_store::open() {
  if (auto ok = log_.open(); !ok) return tl::unexpected(ok.error());
  // Formats 1 and 2 kept a job as one text under 'j', and their runs under names that would be
  // taken for others here.
  const auto old = log_.scan("j", 1);
  if (!old) return tl::unexpected(old.error());
  if (!old->empty() && old->front().first.starts_with('j'))
    return fail(errc::corrupt, "jobs",
                "stored by a version of lycosa before format 3, which can export them");
  if (const auto bytes = log_.get(job_names::state); bytes && bytes->size() >= 24) {
    next_ = job_names::number_at(*bytes);
    records_ = job_names::number_at(std::string_view(*bytes).substr(8));
    dead_ = job_names::number_at(std::string_view(*bytes).substr(16));
  } else if (!bytes && bytes.error().code != errc::not_found) {
    return tl::unexpected(bytes.error());
  }
  stored_jobs out;
  std::vector<std::pair<std::uint64_t, std::size_t>> order;
  std::string after = "o";
  for (bool more = true; more;) {
    auto found = log_.scan(after, page);
    if (!found) return tl::unexpected(found.error());
    more = found->size() == page;
    if (more) after = found->back().first;
    for (auto& [name, value] : *found) {
      if (name.starts_with('o')) {
        auto r = decode_run(value);
        if (r)
          out.open_runs.push_back(std::move(r->run));
        else
          ++out.unreadable_runs;
      } else if (name.starts_with('p')) {
        auto p = decode_place(value);
        if (!p) {
          out.unreadable.push_back(name.substr(1));
          continue;
        }
        order.emplace_back(p->uid, out.jobs.size());
        out.jobs.emplace_back(name.substr(1), p->place);
      } else {
        more = false;
        break;
      }
    }
  }
  std::sort(order.begin(), order.end());
  std::vector<std::pair<std::string, jobs::job_place>> sorted;
  sorted.reserve(order.size());
  for (const auto& [uid, i] : order)
    sorted.push_back(std::move(out.jobs[i]));
  out.jobs = std::move(sorted);
  std::sort(out.open_runs.begin(), out.open_runs.end(), [](const auto& a, const auto& b) {
    return std::pair{a.planned, a.number} < std::pair{b.planned, b.number};
  });
  return out;
}

result<jobs::job> job_store::load(std::string_view id) {
  auto bytes = log_.get(job_names::members(id));
  if (!bytes) return tl::unexpected(bytes.error());
  auto members = decode_members(*bytes);
  if (!members) return tl::unexpected(members.error());
  auto place = place_of(std::string(id));
  if (!place) return tl::unexpected(place.error());
  auto j = jobs::parse_members(*members, place->place);
  if (j && j->id != id) return fail(errc::corrupt, std::string(id), "its record is of another job");
  return j;
}

// -- history -------------------------------------------------------------------------------------

result<std::vector<jobs::run_record>> job_store::runs(std::string_view id, std::uint64_t before,
                                                      std::size_t limit, wall_time now) {
  std::vector<jobs::run_record> out;
  auto place = place_of(std::string(id));
  if (!place) {
    if (place.error().code == errc::not_found) return out;
    return tl::unexpected(place.error());
  }
  // Runs that overlapped have not ended in the order of their numbers.
  auto at = place->newest;
  for (std::uint32_t n = 0; n < limits_.count && at != 0; ++n) {
    auto bytes = log_.get(job_names::record(at));
    if (!bytes && bytes.error().code == errc::not_found) break; // too old
    if (!bytes) return tl::unexpected(bytes.error());
    auto r = decode_run(*bytes);
    if (!r || r->uid != place->uid) {
      jobs::run_record unknown;
      unknown.job_id = id;
      unknown.state = jobs::run_state::lost;
      unknown.reason = "its record and what is before it cannot be read";
      unknown.number = out.empty() ? place->place.runs : out.back().number - 1;
      out.push_back(std::move(unknown));
      break;
    }
    at = r->before;
    const auto ended = r->run.ended.value_or(now);
    if (limits_.age > usec::zero() && ended < now - limits_.age) break;
    out.push_back(std::move(r->run));
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.number > b.number; });
  if (before > 0) std::erase_if(out, [&](const auto& r) { return r.number >= before; });
  if (out.size() > limit) out.resize(limit);
  return out;
}

bool job_store::is_shown(const stored_run& r, wall_time now) {
  if (limits_.age > usec::zero() && r.run.ended && *r.run.ended < now - limits_.age) return false;
  const auto place = place_of(r.run.job_id);
  if (!place) return place.error().code != errc::not_found;
  return place->uid == r.uid && r.index + limits_.count > place->ended;
}

result<bool> job_store::sweep(wall_time now) {
  if (cursor_.empty()) {
    const auto shown = records_ - std::min(records_, dead_);
    whole_sweep_ = dead_ > limits_.garbage && dead_ > shown;
    if (!whole_sweep_ && swept_ && now < *swept_ + sweep_interval && now >= *swept_) return false;
    swept_ = now;
    cursor_ = "r";
  }
  auto found = log_.scan(cursor_, sweep_piece);
  if (!found) return tl::unexpected(found.error());
  bool more = found->size() == sweep_piece;
  for (const auto& [name, value] : *found) {
    const auto r = decode_run(value);
    if (!r) continue; // what cannot be read is never deleted
    if (!is_shown(*r, now))
      swept_names_.push_back(name);
    else if (!whole_sweep_) {
      more = false; // records are in the order of their ends
      break;
    }
  }
  if (more) {
    cursor_ = found->back().first;
  } else {
    if (whole_sweep_) dead_ = std::min<std::uint64_t>(dead_, swept_names_.size());
    cursor_.clear();
  }
  return more || !swept_names_.empty();
}

} // namespace lycosa::storage
