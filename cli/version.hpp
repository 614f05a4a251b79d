#pragma once

namespace lycosa::cli {

/// Version of the program; the build passes the project's.
#ifdef LYCOSA_VERSION
inline constexpr const char* version = LYCOSA_VERSION;
#else
inline constexpr const char* version = "0.1.0";
#endif

} // namespace lycosa::cli
