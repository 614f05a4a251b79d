#pragma once

#include "cli/commands.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace lycosa::cli {

struct migrate_options : server_options {
  std::string taskdb, projectdb, resultdb; ///< URLs; empty = not moved
  std::vector<std::string> projects;       ///< empty = all
  std::uint64_t batch = 1000;
  std::string state; ///< file that remembers how far an import has come; empty = none
  bool dry_run = false;
};

int import_pyspider(const migrate_options& o, context& ctx);
int export_pyspider(const migrate_options& o, context& ctx);

} // namespace lycosa::cli
