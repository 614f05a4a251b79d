#pragma once

#include "core/project.hpp"
#include "core/result.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lycosa::storage {

/// What belongs to the node rather than to a shard: projects now; jobs and counters use the named
/// blobs. Every mutation is durable when it returns. May be called from any thread; calls block on
/// the disk, so never from a shared actor thread.
class catalog_store {
public:
  virtual ~catalog_store() = default;

  virtual result<std::vector<project_record>> projects() = 0;

  /// Stores projects; one without an id (0) gets a new one, never used before in this directory.
  /// A batch is one commit: all are stored, or none. Returns the records as stored, in their order.
  virtual result<std::vector<project_record>> put_projects(std::vector<project_record> batch) = 0;

  /// The same for one.
  result<project_record> put_project(project_record p) {
    auto stored = put_projects({std::move(p)});
    if (!stored) return tl::unexpected(stored.error());
    return std::move(stored->front());
  }

  /// Marks a project as being deleted (`project_record::deleting`) or forgets it at last.
  virtual result<void> erase_project(project_id id) = 0;

  /// Named blobs in a namespace ("counters", "jobs", …). A batch is one commit; an empty value
  /// erases.
  virtual result<void> put_blobs(std::string_view space,
                                 const std::vector<std::pair<std::string, std::string>>& batch) = 0;
  virtual result<std::string> get_blob(std::string_view space, std::string_view name) = 0;
  /// Blobs with names in (after, ∞) in order, at most `limit`.
  virtual result<std::vector<std::pair<std::string, std::string>>>
  scan_blobs(std::string_view space, std::string_view after, std::size_t limit) = 0;
};

} // namespace lycosa::storage
