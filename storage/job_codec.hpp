#pragma once

#include "core/jobs/job_place.hpp"
#include "core/jobs/run.hpp"
#include "core/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// Records of jobs to bytes and back (schema/job.capnp).
namespace lycosa::storage {

/// A job's place, and what the store keeps beside it.
struct stored_place {
  jobs::job_place place;
  std::uint64_t uid = 0;    ///< names this adding of the job; never 0, never used again
  std::uint64_t ended = 0;  ///< how many of its runs have ended
  std::uint64_t newest = 0; ///< where the record of the last of them is; 0 = none
};

/// A run, and where it stands in its job's history.
struct stored_run {
  jobs::run_record run;
  std::uint64_t uid = 0;
  std::uint64_t index = 0;  ///< it was the index-th of the job's runs to end; 0 = it has not ended
  std::uint64_t before = 0; ///< where the record of the one that ended before it is; 0 = none
};

/// Bytes of one record.
[[nodiscard]] std::string encode_members(std::string_view json);
[[nodiscard]] std::string encode_place(const stored_place& p);
[[nodiscard]] std::string encode_run(const stored_run& r);

/// Errors are `corrupt`.
[[nodiscard]] result<std::string> decode_members(std::string_view bytes);
[[nodiscard]] result<stored_place> decode_place(std::string_view bytes);
[[nodiscard]] result<stored_run> decode_run(std::string_view bytes);

} // namespace lycosa::storage
