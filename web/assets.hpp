#pragma once

#include <span>
#include <string_view>

/// The dashboard's files, packed into the binary when it is built.
namespace lycosa::web {

struct asset {
  std::string_view name; ///< without a folder
  std::string_view content_type;
  std::string_view etag;   ///< with its quotes; of the plain bytes
  std::string_view packed; ///< gzip
};

/// All of them, the page `index.html` among them.
[[nodiscard]] std::span<const asset> all_assets() noexcept;

} // namespace lycosa::web
