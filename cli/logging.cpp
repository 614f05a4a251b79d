#include "cli/logging.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace lycosa::cli {

namespace {

constexpr std::array<std::string_view, 8> subsystems{"node",   "scheduler", "dispatch", "storage",
                                                     "actors", "http",      "gateway",  "events"};

constexpr auto text_pattern = "%Y-%m-%dT%H:%M:%S.%e%z %^%-5l%$ %n: %v";

/// One JSON object a line; `%v` of a pattern would not escape the message.
class json_formatter final : public spdlog::formatter {
public:
  void format(const spdlog::details::log_msg& msg, spdlog::memory_buf_t& out) override {
    head_.format(msg, out);
    escape({msg.payload.data(), msg.payload.size()}, out);
    append("\"}\n", out);
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<json_formatter>();
  }

private:
  static void append(std::string_view text, spdlog::memory_buf_t& out) {
    out.append(text.data(), text.data() + text.size());
  }

  static void escape(std::string_view text, spdlog::memory_buf_t& out) {
    constexpr std::string_view hex = "0123456789abcdef";
    for (char c : text) {
      auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        out.push_back('\\');
        out.push_back(c);
      } else if (byte < 0x20) {
        append("\\u00", out);
        out.push_back(hex[byte >> 4]);
        out.push_back(hex[byte & 15]);
      } else {
        out.push_back(c);
      }
    }
  }

  spdlog::pattern_formatter head_{
      R"({"time":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l","subsystem":"%n","thread":%t,"message":")",
      spdlog::pattern_time_type::utc, ""};
};

spdlog::sink_ptr make_sink(const conf::log_settings& settings) {
  if (settings.file.empty()) return std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  return std::make_shared<spdlog::sinks::rotating_file_sink_mt>(
      settings.file, settings.max_size.count, settings.keep);
}

} // namespace

result<void> start_logging(const conf::log_settings& settings) {
  try {
    spdlog::drop_all();
    auto sink = make_sink(settings);
    if (settings.format == "json")
      sink->set_formatter(std::make_unique<json_formatter>());
    else
      sink->set_pattern(text_pattern);

    auto add = [&](const std::string& name) {
      auto logger = std::make_shared<spdlog::logger>(name, sink);
      auto own = settings.levels.find(name);
      logger->set_level(
          spdlog::level::from_str(own == settings.levels.end() ? settings.level : own->second));
      logger->flush_on(spdlog::level::info);
      return logger;
    };
    for (auto name : subsystems)
      spdlog::register_logger(add(std::string{name}));
    for (const auto& [name, level] : settings.levels)
      if (!spdlog::get(name)) spdlog::register_logger(add(name));
    spdlog::set_default_logger(add("lycosa"));
    // A line that cannot be written must not stop the work, nor be reported by another line.
    spdlog::set_error_handler([](const std::string&) {});
  } catch (const std::exception& e) {
    return fail(errc::io_error, "log.file", e.what());
  }
  return {};
}

void stop_logging() {
  spdlog::shutdown();
}

std::span<const std::string_view> log_subsystems() {
  return subsystems;
}

} // namespace lycosa::cli
