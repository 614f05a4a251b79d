#pragma once

#include "core/types.hpp"

#include "bridges/redis_url.hpp"

#include <memory>
#include <string_view>

namespace lycosa::bridges {

/// An event other threads can raise to end whatever a bridge's thread is waiting for.
class stop_signal {
public:
  stop_signal();
  ~stop_signal();
  stop_signal(const stop_signal&) = delete;
  stop_signal& operator=(const stop_signal&) = delete;

  void raise() noexcept; ///< from any thread; stays raised
  [[nodiscard]] bool raised() const noexcept;
  /// Waits until it is raised, at most `longest`. True if it is.
  bool wait(usec longest) const noexcept;
  [[nodiscard]] int fd() const noexcept { return fd_; }

private:
  int fd_;
};

/// A byte stream to a server, plain or TLS, used by one thread. Every wait ends when the signal is
/// raised. Errors: `unavailable` (cannot be reached, closed, timed out, stopped).
class stream {
public:
  static result<std::unique_ptr<stream>> open(const redis_address& to, const stop_signal& stop,
                                              usec timeout);
  virtual ~stream() = default;

  virtual result<void> write(std::string_view bytes, usec timeout) = 0;
  /// At least one byte. `timeout` zero or less: as long as it takes.
  virtual result<std::size_t> read(char* to, std::size_t size, usec timeout) = 0;
};

} // namespace lycosa::bridges
