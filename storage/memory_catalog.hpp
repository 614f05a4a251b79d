#pragma once

#include "storage/catalog.hpp"

#include <map>
#include <mutex>

namespace lycosa::storage {

/// A catalog that lives as long as the process.
class memory_catalog final : public catalog_store {
public:
  result<std::vector<project_record>> projects() override;
  result<std::vector<project_record>> put_projects(std::vector<project_record> batch) override;
  result<void> erase_project(project_id id) override;
  result<void> put_blobs(std::string_view space,
                         const std::vector<std::pair<std::string, std::string>>& batch) override;
  result<std::string> get_blob(std::string_view space, std::string_view name) override;
  result<std::vector<std::pair<std::string, std::string>>>
  scan_blobs(std::string_view space, std::string_view after, std::size_t limit) override;

private:
  std::mutex mutex_;
  std::map<project_id, project_record> projects_;
  std::map<std::string, project_id, std::less<>> names_;
  std::uint32_t next_ = 1;
  std::map<std::string, std::map<std::string, std::string>, std::less<>> spaces_;
};

} // namespace lycosa::storage
