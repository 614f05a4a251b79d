#pragma once

#include <string>
#include <string_view>

namespace lycosa {

/// MD5 as 32 lower-case hex digits. A name, not a protection: the id of a task without one is the
/// digest of its url, and fetchers compare scripts by theirs.
[[nodiscard]] std::string md5_hex(std::string_view bytes);

} // namespace lycosa
