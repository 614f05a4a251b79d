#pragma once

#include "core/result.hpp"
#include "core/types.hpp"

#include <cstdint>
#include <string>

namespace lycosa::actors {

/// A file descriptor that is closed with its owner.
class file_handle {
public:
  explicit file_handle(int fd = -1) noexcept : fd_(fd) {}
  ~file_handle();
  file_handle(file_handle&& other) noexcept : fd_(other.release()) {}
  file_handle& operator=(file_handle&& other) noexcept;

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int release() noexcept {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

private:
  int fd_;
};

/// Says once, to any number of waiting threads, that they are to give up.
class stop_flag {
public:
  stop_flag();
  void raise() noexcept;
  /// Readable for `poll` once raised, for ever.
  [[nodiscard]] int descriptor() const noexcept { return event_.get(); }

private:
  file_handle event_;
};

struct dial_request {
  std::string host; ///< name or address
  std::uint16_t port = 0;
  usec limit{}; ///< for all of it: look-up, connection, the peer's first words
};

/// Connects to a CAF system. The socket is returned when the peer has sent the whole handshake that
/// every CAF system begins with, which is still there to be read: so whoever does not speak CAF, or
/// says nothing, is told from a peer before CAF's own code meets its bytes. The system notices
/// when the peer's machine is gone (keep-alive, a minute).
///
/// Blocks, up to `limit` or until `stop` is raised. Errors: `unavailable`.
[[nodiscard]] result<file_handle> dial(const dial_request& request, const stop_flag& stop);

/// The same for peers that are no CAF systems: returned as soon as there is a connection.
[[nodiscard]] result<file_handle> dial_any(const dial_request& request, const stop_flag& stop);

} // namespace lycosa::actors
