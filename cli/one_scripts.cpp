#include "cli/one_scripts.hpp"

#include "core/project.hpp"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace lycosa::cli {

namespace fs = std::filesystem;

namespace {

result<script_file> read_script(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(errc::not_found, path.string(), "cannot be read");
  script_file s;
  s.path = fs::absolute(path).string();
  s.project = path.stem().string();
  s.text.assign(std::istreambuf_iterator<char>(in), {});
  if (auto ok = check_project_name(s.project); !ok)
    return fail(errc::invalid_argument, path.string(),
                "names a project after itself: " + ok.error().why);
  return s;
}

} // namespace

result<std::vector<script_file>> find_scripts(const std::string& path) {
  std::error_code ec;
  std::vector<fs::path> files;
  if (fs::is_directory(path, ec)) {
    for (const auto& entry : fs::directory_iterator(path, ec))
      if (entry.path().extension() == ".py" && entry.path().filename().string().front() != '_')
        files.push_back(entry.path());
    std::ranges::sort(files);
    if (files.empty()) return fail(errc::invalid_argument, path, "has no *.py files");
  } else if (fs::is_regular_file(path, ec)) {
    files.emplace_back(path);
  } else {
    return fail(errc::invalid_argument, path, "no such file or folder");
  }
  std::vector<script_file> scripts;
  for (const auto& file : files) {
    auto s = read_script(file);
    if (!s) return tl::unexpected(s.error());
    scripts.push_back(std::move(*s));
  }
  return scripts;
}

script_watch::script_watch(const std::vector<script_file>& scripts,
                           std::function<void(const std::string&)> changed)
    : changed_(std::move(changed)), inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  for (const auto& s : scripts) {
    const auto folder = fs::path{s.path}.parent_path().string();
    if (std::ranges::any_of(folders_, [&](const auto& f) { return f.second == folder; })) continue;
    // Editors write beside a file and rename: the folder is what tells.
    const int wd = ::inotify_add_watch(inotify_, folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO);
    if (wd >= 0) folders_.emplace_back(wd, folder);
  }
  thread_ = std::thread([this] { run(); });
}

script_watch::~script_watch() {
  stop_.raise();
  thread_.join();
  if (inotify_ >= 0) ::close(inotify_);
}

void script_watch::run() {
  alignas(inotify_event) std::array<char, 16384> bytes{};
  for (;;) {
    std::array<pollfd, 2> fds{pollfd{inotify_, POLLIN, 0}, pollfd{stop_.fd(), POLLIN, 0}};
    if (::poll(fds.data(), fds.size(), -1) < 0) continue;
    if (fds[1].revents != 0) return;
    const auto n = ::read(inotify_, bytes.data(), bytes.size());
    for (std::ptrdiff_t at = 0; at < n;) {
      const auto* event = reinterpret_cast<const inotify_event*>(bytes.data() + at);
      at += static_cast<std::ptrdiff_t>(sizeof(inotify_event) + event->len);
      const auto folder =
          std::ranges::find(folders_, event->wd, &std::pair<int, std::string>::first);
      if (folder != folders_.end() && event->len > 0)
        changed_((fs::path{folder->second} / event->name).string());
    }
  }
}

} // namespace lycosa::cli
