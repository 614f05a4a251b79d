#pragma once

#include "core/result.hpp"

#include "bridges/stream.hpp"

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace lycosa::cli {

/// A script file and the project it is: named after the file.
struct script_file {
  std::string project;
  std::string path;
  std::string text;
};

/// The scripts of a folder (each `*.py`, but not those that begin with `_`), in order of names, or
/// the one file that is named. Errors: nothing is there, or a name no project can have.
[[nodiscard]] result<std::vector<script_file>> find_scripts(const std::string& path);

/// Calls `changed(path)` on a thread of its own whenever a file in these folders was written.
class script_watch {
public:
  script_watch(const std::vector<script_file>& scripts,
               std::function<void(const std::string&)> changed);
  ~script_watch();
  script_watch(const script_watch&) = delete;
  script_watch& operator=(const script_watch&) = delete;

private:
  void run();

  std::function<void(const std::string&)> changed_;
  std::vector<std::pair<int, std::string>> folders_; ///< watch descriptor, folder
  int inotify_ = -1;
  bridges::stop_signal stop_;
  std::thread thread_;
};

} // namespace lycosa::cli
