#pragma once

#include "actors/gather.hpp"
#include "actors/registry.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// How the node spreads one request over several project actors and puts their answers together.
/// Internal to the node.
namespace lycosa::actors {

inline error no_such_project(std::string_view name) {
  return {errc::not_found, std::string{name}, "no such project"};
}

/// Why a known project has no actor to ask right now.
inline error no_actor(const registry::entry& e) {
  if (!e.failed.empty()) return {errc::unavailable, e.facts->name, "given up: " + e.failed};
  return {errc::unavailable, e.facts->name, "being restarted"};
}

/// Answers that come one by one, until the last is there.
template <class T>
struct collecting {
  std::mutex mutex;
  std::vector<T> got;
  std::size_t open = 0;
  reply<std::vector<T>> done;

  /// The last one to finish answers.
  void finished(std::unique_lock<std::mutex> lock) {
    if (--open > 0) return;
    lock.unlock();
    done(std::move(got));
  }
};

/// Sorts a request's items by project and sends each project its part. `Part` has `items`;
/// `take(item)` adds one to it. Items of projects that cannot be asked end up in `rejected`.
template <class Part, class Answer, class Items, class NameOf, class Take, class Reject>
void scatter(const registry& projects, const Items& items, reply<Answer> done, NameOf name_of,
             Take take, Reject reject) {
  struct bundle {
    std::optional<registry::entry> to;
    std::shared_ptr<Part> part;
  };
  std::unordered_map<std::string_view, bundle> bundles;
  Answer refused;
  std::string_view last_name;
  bundle* last = nullptr; // a list mostly stays with one project
  std::size_t parts = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string_view name = name_of(items[i]);
    if (!last || name != last_name) {
      auto found = bundles.find(name);
      if (found == bundles.end()) {
        auto entry = projects.find(name);
        // Unknown names are not remembered: a list of a million of them costs no more than itself.
        if (!entry) {
          reject(refused, items[i], no_such_project(name));
          continue;
        }
        found = bundles.emplace(name, bundle{std::move(entry), nullptr}).first;
      }
      last = &found->second;
      last_name = name;
    }
    if (!last->to->actor) {
      reject(refused, items[i], no_actor(*last->to));
      continue;
    }
    if (!last->part) {
      last->part = std::make_shared<Part>();
      ++parts;
    }
    take(*last->part, items[i]);
  }
  auto whole = std::make_shared<gather<Answer>>(parts + 1, std::move(done));
  for (auto& [name, b] : bundles) {
    if (!b.part) continue;
    b.part->promise = part_promise<Answer>{whole};
    caf::anon_send(b.to->actor, std::move(b.part));
  }
  whole->finish(std::move(refused));
}

} // namespace lycosa::actors
