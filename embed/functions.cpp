#include "embed/scheduler_impl.hpp"

namespace lycosa::embed {

namespace {

thread_local const inside_scope* innermost = nullptr;

} // namespace

inside_scope::inside_scope(const void* owner)
    : owner_(owner), outer_(std::exchange(innermost, this)) {}

inside_scope::~inside_scope() {
  innermost = outer_;
}

bool inside_scope::of(const void* owner) {
  for (const auto* s = innermost; s; s = s->outer_)
    if (s->owner_ == owner) return true;
  return false;
}

void function_table::put(const std::string& name,
                         std::shared_ptr<const executors::job_function> f) {
  // What it takes the place of may own much: it ends outside the lock.
  const std::lock_guard lock(mutex_);
  functions_[name].swap(f);
}

std::shared_ptr<const executors::job_function> function_table::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto i = functions_.find(name);
  return i == functions_.end() ? nullptr : i->second;
}

void function_table::erase(const std::string& name) {
  decltype(functions_)::node_type gone;
  const std::lock_guard lock(mutex_);
  gone = functions_.extract(name);
}

void function_table::keep_only(std::string_view prefix,
                               const std::function<bool(const std::string&)>& wanted) {
  std::vector<std::string> gone;
  {
    const std::lock_guard lock(mutex_);
    for (auto i = functions_.lower_bound(std::string(prefix));
         i != functions_.end() && i->first.starts_with(prefix); ++i)
      if (!wanted(i->first.substr(prefix.size()))) gone.push_back(i->first);
  }
  for (const auto& name : gone)
    erase(name);
}

} // namespace lycosa::embed
