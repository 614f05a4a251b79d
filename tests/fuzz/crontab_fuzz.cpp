// Feeds the reader of crontabs any bytes, as a user's crontab and as a system's, and holds what is
// accepted to what it promises: each job can be sent and arrives as it was read.
#include "core/jobs/crontab_file.hpp"
#include "core/jobs/job_json.hpp"
#include "tests/fuzz/require.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lycosa::jobs;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  for (const bool system : {false, true}) {
    crontab_options options;
    options.system = system;
    options.source = "crontab";
    options.now = lycosa::wall_time{std::chrono::seconds{1'700'000'000}};
    const auto file = read_crontab(text, options);
    for (const auto* remarks : {&file.errors, &file.warnings})
      for (const auto& r : *remarks)
        require(r.line >= 1 && r.line <= lines && !r.why.empty());
    if (!file.errors.empty()) continue;
    std::set<std::string_view> ids;
    for (const auto& e : file.entries) {
      require(e.line >= 1 && e.line <= lines);
      require(ids.insert(e.job.id).second);
      const auto sent = parse_job(e.json, options.now);
      require(sent.has_value());
      require(to_json(sent->job) == to_json(e.job));
    }
  }
  return 0;
}
