#include "core/placement.hpp"

// Inlined: one call a task on the hottest path.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace lycosa {

task_hash hash_task(std::string_view project, std::string_view taskid) noexcept {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, project.data(), project.size());
  XXH3_128bits_update(&state, "", 1); // the NUL keeps ("ab","c") apart from ("a","bc")
  XXH3_128bits_update(&state, taskid.data(), taskid.size());
  const auto h = XXH3_128bits_digest(&state);
  return {h.high64, h.low64};
}

std::uint64_t hash_itag(std::string_view itag) noexcept {
  const auto h = XXH3_64bits(itag.data(), itag.size());
  return h == 0 ? 1 : h;
}

} // namespace lycosa
