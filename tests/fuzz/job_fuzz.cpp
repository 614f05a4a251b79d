// Feeds the readers of jobs any bytes and holds what is accepted to what they promise: what is
// stored and what is shown of a job read back to the same job.
#include "core/jobs/job_json.hpp"
#include "tests/fuzz/require.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lycosa::jobs;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr lycosa::wall_time now{std::chrono::seconds{1'700'000'000}};
  if (const auto list = parse_jobs(text, now))
    for (const auto& one : *list)
      require(one.has_value() || !one.error().why.empty());
  const auto read = parse_job(text, now);
  if (!read) {
    require(!read.error().why.empty());
    return 0;
  }
  const auto& job = read->job;
  const auto stored = parse_members(to_members_json(job), place_of(job));
  require(stored.has_value());
  require(to_json(*stored) == to_json(job));
  require(place_of(*stored) == place_of(job));
  const auto shown = parse_job(to_json(job), now);
  require(shown.has_value());
  require(to_members_json(shown->job) == to_members_json(job));
  require(!explain_trigger(job).empty());
  return 0;
}
