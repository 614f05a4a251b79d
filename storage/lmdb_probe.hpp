#pragma once

#include "core/result.hpp"

#include <cstdint>
#include <string>

namespace lycosa::storage::lmdb {

struct probe {
  std::uint64_t file_bytes = 0;
  std::uint64_t page_bytes = 0;
  std::uint64_t pages = 0; ///< that the file ought to have
};

/// Looks at a data file by reading alone, before LMDB maps it: LMDB believes the file's length, and
/// a page missing from the end kills the process with SIGBUS when it is touched. `not_found` when
/// there is no file, `corrupt` when its head is not one of a data file or pages in use are missing.
[[nodiscard]] result<probe> probe_file(const std::string& path);

} // namespace lycosa::storage::lmdb
