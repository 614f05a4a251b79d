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

result<project_record> memory_catalog::put_project(const project_record& p) {
  if (auto ok = check_storable(p); !ok) return tl::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  for (const auto& [id, other] : projects_)
    if (other.name == p.name && id != p.id)
      return fail(errc::conflict, "name", "project " + p.name + " exists");
  auto stored = p;
  if (stored.id == project_id{}) stored.id = project_id{next_};
  next_ = std::max(next_, static_cast<std::uint32_t>(stored.id) + 1);
  projects_[stored.id] = stored;
  return stored;
}

result<void> memory_catalog::erase_project(project_id id) {
  const std::lock_guard lock(mutex_);
  if (projects_.erase(id) == 0) return fail(errc::not_found, "project", "does not exist");
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
