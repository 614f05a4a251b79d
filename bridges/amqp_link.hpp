#pragma once

#include "bridges/stream.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lycosa::bridges {

/// Where a broker is: `amqp://user:password@host:port/vhost`, `amqps://…` with TLS (`?ca=FILE`,
/// `?verify=no`). Errors name what is wrong; never the password.
struct amqp_address {
  std::string host = "127.0.0.1", user = "guest", password = "guest", vhost = "/";
  int port = 5672;
  bool tls = false, verify = true;
  std::string ca_file;
  [[nodiscard]] std::string display() const;
};
[[nodiscard]] result<amqp_address> parse_amqp_url(std::string_view url);

/// One connection with one channel, used by one thread; waits end when the signal is raised. After
/// an error (`unavailable`) it is to be thrown away.
class amqp_link {
public:
  static result<std::unique_ptr<amqp_link>> open(const amqp_address& to, const stop_signal& stop);
  ~amqp_link();
  amqp_link(const amqp_link&) = delete;
  amqp_link& operator=(const amqp_link&) = delete;

  /// The queue as it is, else made as pika makes it: not durable, not exclusive, kept when its
  /// consumers go.
  result<void> declare(const std::string& queue);
  /// How many messages wait in it.
  result<std::uint64_t> length(const std::string& queue);

  /// Messages come by themselves from now on, at most `ahead` without an acknowledgement.
  result<void> consume(const std::string& queue, std::uint16_t ahead);
  struct delivery {
    std::uint64_t tag = 0;
    std::string body;
  };
  /// What has come, at most `most`; waits for the first one, but not longer than `wait`.
  result<std::vector<delivery>> receive(std::size_t most, usec wait);
  /// Everything up to this one is done with.
  result<void> acknowledge(std::uint64_t tag);

  /// From now on the broker tells when it has what was published.
  result<void> confirm();
  /// Publishes and waits until the broker has them all.
  result<void> publish(const std::string& queue, const std::vector<std::string_view>& bodies);

private:
  struct impl;
  explicit amqp_link(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

} // namespace lycosa::bridges
