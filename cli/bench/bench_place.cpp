#include "cli/bench/bench_place.hpp"

#include "cli/freed_memory.hpp"
#include "cli/logging.hpp"
#include "conf/load.hpp"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <ostream>
#include <utility>

namespace lycosa::cli::bench {

namespace {

/// The numeric host and port of `http://HOST:PORT`.
std::optional<std::pair<std::string, std::uint16_t>> split_url(std::string_view url) {
  constexpr std::string_view scheme = "http://";
  if (!url.starts_with(scheme)) return std::nullopt;
  url.remove_prefix(scheme.size());
  while (url.ends_with('/'))
    url.remove_suffix(1);
  const auto colon = url.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::uint16_t port = 0;
  const auto digits = url.substr(colon + 1);
  if (std::from_chars(digits.data(), digits.data() + digits.size(), port).ec != std::errc{})
    return std::nullopt;
  return std::pair{std::string{url.substr(0, colon)}, port};
}

result<std::string> temporary_directory() {
  const char* base = std::getenv("TMPDIR");
  std::string path = std::string{base != nullptr && *base != '\0' ? base : "/tmp"};
  path += "/lycosa-bench-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return fail(errc::io_error, path, std::strerror(errno));
  return path;
}

result<std::unique_ptr<load_target>> embedded(const load_options& options,
                                              const std::string& data) {
  conf::load_request ask;
  ask.search = false;
  ask.sets = options.sets;
  ask.sets.push_back("node.data=" + data);
  auto config = conf::load(ask);
  if (!config) return fail(errc::invalid_argument, "--set", config.error().front().text());
  config->values.log.level = "warn";
  if (auto ok = start_logging(config->values.log); !ok) return tl::unexpected(ok.error());
  keep_freed_memory(); // as the node of a process that serves
  return embedded_target(config->values);
}

} // namespace

result<std::unique_ptr<bench_place>> bench_place::make(const load_options& options,
                                                       std::ostream& say) {
  std::unique_ptr<bench_place> made{new bench_place};
  if (!options.server.empty()) {
    const auto where = split_url(options.server);
    if (!where)
      return fail(errc::invalid_argument, "--server", "must be http://NUMERIC-ADDRESS:PORT");
    made->target_ = http_target(where->first, where->second);
    return made;
  }
  auto data = options.data;
  if (data.empty()) {
    auto directory = temporary_directory();
    if (!directory) return tl::unexpected(directory.error());
    data = made->temporary_ = *directory;
  }
  const auto* kept = options.data.empty() ? " (removed at the end)" : "";
  if (options.embedded) {
    auto target = embedded(options, data);
    if (!target) return tl::unexpected(target.error());
    made->target_ = std::move(*target);
    say << "bench: a node in this process on " << data << kept << std::endl;
    return made;
  }
  auto child = child_node::start(data, options.sets);
  if (!child) return tl::unexpected(child.error());
  made->child_ = std::move(*child);
  made->target_ = http_target(made->child_->host(), made->child_->port());
  say << "bench: serves on http://" << made->child_->host() << ':' << made->child_->port()
      << " from " << data << kept << std::endl;
  return made;
}

bench_place::~bench_place() {
  target_.reset();
  child_.reset();
  std::error_code ec;
  if (!temporary_.empty()) std::filesystem::remove_all(temporary_, ec);
}

} // namespace lycosa::cli::bench
