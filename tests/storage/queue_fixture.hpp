#pragma once

#include "storage/keys.hpp"
#include "tests/storage/fixture.hpp"

#include <tuple>

/// A project's queue that is kept in order, as tests look at it.
namespace lycosa::storage::test {

using places = std::vector<std::tuple<std::int32_t, std::int64_t, std::uint64_t, std::uint64_t>>;

/// Priority, due, arrival, key.
inline places::value_type place_of(const active_entry& e) {
  return {e.position.priority, e.position.due.time_since_epoch().count(), e.position.arrival,
          e.key.value()};
}

/// What the queue should be: `active`, sorted.
inline places expected_queue(shard_store& s, std::uint32_t project) {
  places all;
  for (const auto& e : must(s.scan_active(project_id{project}, std::nullopt, 100'000)))
    all.push_back(place_of(e));
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    const auto& [p, d, r, k] = a;
    const auto& [q, e, s, l] = b;
    return p != q ? p > q : std::tie(d, r, k) < std::tie(e, s, l);
  });
  return all;
}

/// The whole queue, read `page` entries at a time.
inline places read_queue(shard_store& s, std::uint32_t project, std::size_t page = 3) {
  const project_id id{project};
  places all;
  for (std::optional<std::int32_t> below;;) {
    const auto heads = must(s.queue_heads(id, below, page));
    EXPECT_LE(heads.size(), page);
    for (const auto& head : heads) {
      EXPECT_EQ(head.project, id);
      for (auto from = head;;) {
        const auto part = must(s.scan_queue(id, from, page));
        EXPECT_LE(part.size(), page);
        for (const auto& e : part)
          all.push_back(place_of(e));
        if (part.size() < page) break;
        from = part.back();
        from.key = task_key{from.key.shard(), from.key.seq() + 1};
      }
      below = head.position.priority;
    }
    if (heads.size() < page) return all;
  }
}

/// One step of its own commit.
inline order_step step(shard_store& s, std::uint32_t project, bool wanted, std::size_t limit) {
  auto txn = must(s.begin());
  const auto out = must(txn->keep_in_order(project_id{project}, wanted, limit));
  EXPECT_LE(out.looked, limit);
  must(txn->commit(commit_class::growth));
  return out;
}

/// All steps; returns how many tasks they looked at.
inline std::size_t keep(shard_store& s, std::uint32_t project, bool wanted = true,
                        std::size_t limit = 1000) {
  std::size_t looked = 0;
  for (int n = 0; n < 1000; ++n) {
    const auto did = step(s, project, wanted, limit);
    looked += did.looked;
    if (did.done) return looked;
  }
  ADD_FAILURE() << "no end";
  return looked;
}

inline bool is_kept(shard_store& s, std::uint32_t project) {
  const auto heads = s.queue_heads(project_id{project}, std::nullopt, 1);
  const auto scan = s.scan_queue(project_id{project}, {}, 1);
  EXPECT_EQ(heads.has_value(), scan.has_value());
  if (heads) return true;
  for (const auto& e : {heads.error(), scan.error()}) {
    EXPECT_EQ(e.code, errc::conflict);
    EXPECT_EQ(e.what, "project " + std::to_string(project));
  }
  return false;
}

/// An update of its own commit, from ACTIVE.
inline void change(shard_store& s, std::string_view id, task_key key, task_status to,
                   queue_position p = {}, std::uint32_t project = 1,
                   task_status from = task_status::active) {
  auto txn = must(s.begin());
  task t;
  t.taskid = id;
  t.status = to;
  must(txn->update(named(id, project), key, from, t, p));
  must(txn->commit(commit_class::settle));
}

} // namespace lycosa::storage::test
