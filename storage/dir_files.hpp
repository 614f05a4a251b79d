#pragma once

#include "core/result.hpp"

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

/// Files and folders of a data directory, below LMDB.
namespace lycosa::storage {

/// What the last system call said of a path.
inline auto os_error(const std::string& path) {
  return fail(errc::io_error, path, std::strerror(errno));
}

/// The lock of a directory, held until it is let go of; the end of the process ends it too.
/// `incompatible` when another process holds it.
result<std::shared_ptr<void>> take_lock(const std::string& dir);

/// Makes what was added to or removed from a folder last.
result<void> sync_dir(const std::string& path);

/// Replaces a file by another content, whole or not at all, lasting.
result<void> replace_file(const std::string& dir, const std::string& name, std::string_view text);

} // namespace lycosa::storage
