#include "migrate/rows.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace lycosa::migrate {

namespace {

using nlohmann::json;

/// A string as JSON; what is not UTF-8 is replaced, as nothing else could be sent.
std::string quoted(const std::string& text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string seconds(double t) {
  return json(std::isfinite(t) && t > 0 ? t : 0.0).dump();
}

/// Appends a JSON column. False if it is neither absent nor an object.
bool add_part(std::string& line, const char* name, const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text.compare(first, 4, "null") == 0) return true;
  if (text[first] != '{' || !json::accept(text)) return false;
  line += std::string{",\""} + name + "\":" + text;
  return true;
}

} // namespace

tl::expected<std::string, std::string> to_line(const task_row& row) {
  std::string line = "{\"project\":" + quoted(row.project) + ",\"taskid\":" + quoted(row.taskid)
                     + ",\"url\":" + quoted(row.url) + ",\"status\":" + std::to_string(row.status)
                     + ",\"lastcrawltime\":" + seconds(row.lastcrawltime)
                     + ",\"updatetime\":" + seconds(row.updatetime);
  const std::pair<const char*, const std::string&> parts[]{{"schedule", row.schedule},
                                                           {"fetch", row.fetch},
                                                           {"process", row.process},
                                                           {"track", row.track}};
  for (const auto& [name, text] : parts)
    if (!add_part(line, name, text))
      return tl::unexpected(std::string{name} + ": is not a JSON object");
  return line + '}';
}

tl::expected<std::string, std::string> to_line(const std::string& project, const result_row& row) {
  const std::string value = row.result.empty() ? "null" : row.result;
  if (!json::accept(value)) return tl::unexpected(std::string{"result: is not JSON"});
  return "{\"project\":" + quoted(project) + ",\"taskid\":" + quoted(row.taskid)
         + ",\"url\":" + quoted(row.url) + ",\"result\":" + value
         + ",\"updatetime\":" + seconds(row.updatetime) + "}";
}

} // namespace lycosa::migrate
