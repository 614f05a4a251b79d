#pragma once

#include <string_view>

namespace lycosa::gateway {

/// What a request says of where it comes from; empty = it does not say.
struct request_origin {
  std::string_view method;
  std::string_view host;       ///< Host
  std::string_view origin;     ///< Origin
  std::string_view fetch_site; ///< Sec-Fetch-Site
};

/// Whether a browser sends this for a page of another site, and it could change something: any page
/// that an operator opens can make the browser post to an address that only the operator reaches.
/// Programs say nothing of the kind and may do all. A browser's word (Sec-Fetch-Site, W3C Fetch
/// Metadata) goes before our own comparison of Origin (RFC 6454) with Host; a page on another port
/// is another site here.
[[nodiscard]] bool is_cross_site(const request_origin& from);

} // namespace lycosa::gateway
