#include "core/jobs/engine.hpp"

#include <utility>

/// Which jobs are held whole, and which rest as their place in time alone.
namespace lycosa::jobs {

job_slot* engine::slot(std::string_view id) {
  const auto i = jobs_.find(id);
  return i == jobs_.end() ? nullptr : whole(i);
}

const job* engine::find(std::string_view id) {
  const auto* s = slot(id);
  return s ? &s->job : nullptr;
}

job_slot& engine::hold(job_index::iterator i, job j) {
  auto& r = i->second;
  r.live = std::make_unique<job_slot>();
  r.live->job = std::move(j);
  r.live->at = i;
  used_.push_front(r.live.get());
  r.live->recency = used_.begin();
  ++touched_;
  return *r.live;
}

void engine::touch(job_slot& s) {
  used_.splice(used_.begin(), used_, s.recency);
  ++touched_;
}

job_slot* engine::whole(job_index::iterator i) {
  auto& r = i->second;
  if (r.live) {
    touch(*r.live);
    return r.live.get();
  }
  auto stored = source_.load(i->first);
  if (stored) return &hold(i, std::move(*stored));
  out_.unreadable.emplace_back(i->first, stored.error());
  unplan(i);
  count(r, std::uint64_t(-1));
  jobs_.erase(i);
  return nullptr;
}

/// False while it has open runs or is about to be stored.
bool engine::let_rest(job_slot& s) {
  const auto& id = s.job.id;
  if (!s.open.empty() || out_.jobs.contains(id) || out_.places.contains(id)) return false;
  used_.erase(s.recency);
  s.at->second.live.reset();
  return true;
}

void engine::rest(wall_time now) {
  auto i = used_.begin();
  for (auto n = std::exchange(touched_, 0); n > 0 && i != used_.end(); --n) {
    auto& s = **i++;
    const auto& r = s.at->second;
    if (r.paused || r.planned > now + limits_.near) (void)let_rest(s);
  }
  if (used_.size() <= limits_.cache) return;
  // Those with open runs stay; a bound on the looks keeps a busy moment from being slow.
  for (auto looks = (used_.size() - limits_.cache) * 2 + 64;
       looks > 0 && used_.size() > limits_.cache; --looks)
    if (auto& s = *used_.back(); !let_rest(s)) used_.splice(used_.begin(), used_, s.recency);
}

void engine::warm_up() {
  std::vector<job_index::iterator> first;
  for (auto i = agenda_.begin(); i != agenda_.end() && first.size() < limits_.cache; ++i)
    first.push_back(*i);
  if (jobs_.size() <= limits_.cache) {
    first.clear();
    for (auto i = jobs_.begin(); i != jobs_.end(); ++i)
      first.push_back(i);
  }
  for (const auto i : first)
    (void)whole(i);
}

std::vector<job> engine::list(std::string_view after, std::size_t limit) const {
  std::vector<job> out;
  for (auto i = after.empty() ? jobs_.begin() : jobs_.upper_bound(after);
       i != jobs_.end() && out.size() < limit; ++i) {
    if (i->second.live)
      out.push_back(i->second.live->job);
    else if (auto stored = source_.load(i->first))
      out.push_back(std::move(*stored));
  }
  return out;
}

} // namespace lycosa::jobs
