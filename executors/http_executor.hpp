#pragma once

#include "core/jobs/executor.hpp"
#include "core/result.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace lycosa::executors {

struct http_options {
  std::size_t output_cap = 64 * 1024; ///< bytes of an answer's body kept: the last ones
  usec connect_timeout = std::chrono::seconds{30}; ///< name, connection and TLS, of each server
  std::optional<std::string> proxy = {}; ///< url; "" = none; unset = as `http_proxy` etc. say
  std::string ca_file = {};              ///< certificates to trust (PEM); empty = the system's
};

/// Sends `http_action`s; one thread serves all of them.
///
/// Success is an answer of an expected status whose body holds the expected text. A redirect is
/// followed only to http and https and at most `max_redirects` times; one that is an expected
/// status is the answer. Authorization and Cookie headers are not sent on to another host. A JSON
/// body that was kept whole is the run's return value. A body has no Content-Type unless the
/// action gives one.
///
/// `stop`: a request cannot be asked to end, so those under way have the grace to be answered.
///
/// io_error if the system gives no descriptors.
[[nodiscard]] result<std::unique_ptr<jobs::executor>> make_http_executor(http_options o = {});

} // namespace lycosa::executors
