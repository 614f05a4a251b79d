#include "core/result.hpp"

namespace lycosa {

std::string_view to_string(errc code) noexcept {
  switch (code) {
  case errc::invalid_argument:
    return "invalid_argument";
  case errc::not_found:
    return "not_found";
  case errc::conflict:
    return "conflict";
  case errc::stale_lease:
    return "stale_lease";
  case errc::too_large:
    return "too_large";
  case errc::busy:
    return "busy";
  case errc::unavailable:
    return "unavailable";
  case errc::no_space:
    return "no_space";
  case errc::corrupt:
    return "corrupt";
  case errc::incompatible:
    return "incompatible";
  case errc::io_error:
    return "io_error";
  case errc::internal:
    return "internal";
  }
  return "internal";
}

std::string error::text() const {
  if (what.empty()) return why;
  if (why.empty()) return what;
  return what + ": " + why;
}

} // namespace lycosa
