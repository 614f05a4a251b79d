#include "storage/memory_catalog.hpp"

#include "storage/lmdb_catalog.hpp"

#include <algorithm>

namespace lycosa::storage {

result<std::vector<project_record>> memory_catalog::projects() {
  const std::lock_guard lock(mutex_);
  std::vector<project_record> out;
  for (const auto& [id, p] : projects_)
    out.push_back(p);
  return out;
}

result<std::vector<project_record>>
memory_catalog::put_projects(std::vector<project_record> batch) {
  const std::lock_guard lock(mutex_);
  // Names as they are when those before have been stored; nothing is until all may be.
  std::map<std::string, project_id, std::less<>> changed;
  auto next = next_;
  for (auto& p : batch) {
    if (auto ok = check_storable(p); !ok) return tl::unexpected(ok.error());
    auto owner = project_id{};
    if (const auto now = changed.find(p.name); now != changed.end())
      owner = now->second;
    else if (const auto known = names_.find(p.name); known != names_.end())
      owner = known->second;
    if (owner != project_id{} && owner != p.id)
      return fail(errc::conflict, "name", "project " + p.name + " exists");
    if (p.id == project_id{}) p.id = project_id{next};
    next = std::max(next, static_cast<std::uint32_t>(p.id) + 1);
    if (const auto old = projects_.find(p.id); old != projects_.end())
      changed[old->second.name] = project_id{};
    changed[p.name] = p.id;
  }
  next_ = next;
  for (const auto& p : batch) {
    if (const auto old = projects_.find(p.id); old != projects_.end())
      names_.erase(old->second.name);
    projects_[p.id] = p;
    names_[p.name] = p.id;
  }
  return batch;
}

result<void> memory_catalog::erase_project(project_id id) {
  const std::lock_guard lock(mutex_);
  const auto p = projects_.find(id);
  if (p == projects_.end()) return fail(errc::not_found, "project", "does not exist");
  names_.erase(p->second.name);
  projects_.erase(p);
  return {};
}

result<void>
memory_catalog::put_blobs(std::string_view space,
                          const std::vector<std::pair<std::string, std::string>>& batch) {
  for (const auto& [name, value] : batch)
    if (auto ok = check_blob_name(space, name); !ok) return ok;
  const std::lock_guard lock(mutex_);
  auto& blobs = spaces_[std::string(space)];
  for (const auto& [name, value] : batch) {
    if (value.empty())
      blobs.erase(name);
    else
      blobs[name] = value;
  }
  return {};
}

result<std::string> memory_catalog::get_blob(std::string_view space, std::string_view name) {
  if (auto ok = check_blob_name(space, name); !ok) return tl::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  if (auto s = spaces_.find(space); s != spaces_.end())
    if (auto b = s->second.find(std::string(name)); b != s->second.end()) return b->second;
  return fail(errc::not_found, std::string(name), "does not exist");
}

result<std::vector<std::pair<std::string, std::string>>>
memory_catalog::scan_blobs(std::string_view space, std::string_view after, std::size_t limit) {
  if (auto ok = check_blob_name(space, after); !ok) return tl::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, std::string>> out;
  auto s = spaces_.find(space);
  if (s == spaces_.end()) return out;
  auto b = after.empty() ? s->second.begin() : s->second.upper_bound(std::string(after));
  for (; b != s->second.end() && out.size() < limit; ++b)
    out.emplace_back(*b);
  return out;
}

} // namespace lycosa::storage
