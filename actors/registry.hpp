#pragma once

#include "actors/interfaces.hpp"
#include "actors/meters.hpp"

#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lycosa::actors {

/// Names to project actors, for any thread. Written by the supervisor alone.
class registry {
public:
  struct entry {
    facts_ptr facts;
    project_actor actor; ///< none while it is being restarted or has been given up
    std::string failed;  ///< why it has been given up; empty = it has not
  };

  [[nodiscard]] std::optional<entry> find(std::string_view name) const {
    std::shared_lock lock(mutex_);
    auto i = entries_.find(name);
    if (i == entries_.end()) return std::nullopt;
    return i->second.shown;
  }

  [[nodiscard]] std::optional<entry> find(project_id id) const {
    std::shared_lock lock(mutex_);
    auto i = names_.find(id);
    if (i == names_.end()) return std::nullopt;
    auto e = entries_.find(i->second);
    return e == entries_.end() ? std::nullopt : std::optional{e->second.shown};
  }

  [[nodiscard]] std::vector<entry> all() const {
    std::shared_lock lock(mutex_);
    std::vector<entry> out;
    out.reserve(entries_.size());
    for (const auto& [name, e] : entries_)
      out.push_back(e.shown);
    return out;
  }

  /// Shows every project's meter to `f(id, name, meter)`, in the order of names. Copies nothing,
  /// and lets a writer in between every few thousand; what is put or erased meanwhile may be seen
  /// or not.
  template <class F>
  void each_meter(F&& f) const {
    constexpr int at_once = 4096;
    std::string last;
    for (bool more = true; more;) {
      std::shared_lock lock(mutex_);
      auto i = entries_.upper_bound(last);
      for (int n = 0; n < at_once && i != entries_.end(); ++n, ++i)
        f(i->second.id, std::string_view{i->first}, *i->second.meter);
      more = i != entries_.end();
      if (more) last = std::prev(i)->first;
    }
  }

  /// `meter` is not null.
  void put(entry e, std::shared_ptr<const project_meter> meter) {
    std::unique_lock lock(mutex_);
    names_[e.facts->id] = e.facts->name;
    auto& known = entries_[e.facts->name];
    known.id = e.facts->id;
    known.shown = std::move(e);
    known.meter = std::move(meter);
  }

  void erase(std::string_view name) {
    std::unique_lock lock(mutex_);
    auto i = entries_.find(name);
    if (i == entries_.end()) return;
    names_.erase(i->second.shown.facts->id);
    entries_.erase(i);
  }

  void clear() {
    std::unique_lock lock(mutex_);
    entries_.clear();
    names_.clear();
  }

private:
  struct known {
    entry shown;
    // Apart from the entry, which every request takes a copy of.
    std::shared_ptr<const project_meter> meter;
    project_id id{};
  };

  mutable std::shared_mutex mutex_;
  std::map<std::string, known, std::less<>> entries_;
  std::map<project_id, std::string> names_;
};

} // namespace lycosa::actors
