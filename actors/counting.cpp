#include "actors/counting.hpp"

#include "actors/scatter.hpp"

#include <utility>

namespace lycosa::actors {

namespace {

bool counted_nothing(const counter_view& v) {
  const auto& e = v.events;
  return e.pending == 0 && e.success == 0 && e.retry == 0 && e.failed == 0
         && v.times.fetch_time == 0 && v.times.process_time == 0;
}

} // namespace

void ask_counters(const std::vector<registry::entry>& projects, counter_set set, counter_kind kind,
                  reply<std::vector<counter_view>> done) {
  auto all = std::make_shared<collecting<counter_view>>();
  all->got.resize(projects.size());
  all->open = projects.size() + 1;
  all->done = [done = std::move(done)](result<std::vector<counter_view>> got) {
    if (got) std::erase_if(*got, counted_nothing);
    done(std::move(got));
  };
  for (std::size_t i = 0; i < projects.size(); ++i) {
    auto query = std::make_shared<counter_query>();
    query->set = set;
    query->kind = kind;
    query->done = promise<counter_view>{[all, i](result<counter_view> view) {
      std::unique_lock lock(all->mutex);
      if (view) all->got[i] = std::move(*view); // else it ended while we asked
      all->finished(std::move(lock));
    }};
    if (projects[i].actor) caf::anon_send(projects[i].actor, std::move(query));
  }
  std::unique_lock lock(all->mutex);
  all->finished(std::move(lock));
}

} // namespace lycosa::actors
