#pragma once

#include "bridges/stream.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace lycosa::bridges {

/// One connection to Redis, used by one thread: commands out, replies in. Nothing reconnects by
/// itself; after an error with code `unavailable` the link is dead and is to be thrown away. What
/// the server refuses is `invalid_argument` with its words; the link lives on.
class redis_link {
public:
  using command = std::vector<std::string_view>;
  /// A reply: none for nil; a number as text; a list as its elements (nil ones left out).
  struct reply {
    std::optional<std::string> text;
    std::vector<std::string> list;
    [[nodiscard]] std::int64_t number() const;
  };

  /// Connects, authenticates, chooses the database.
  static result<std::unique_ptr<redis_link>> open(const redis_address& to, const stop_signal& stop);
  ~redis_link();

  /// `wait`: how long the server may take to answer (zero or less: for ever).
  result<reply> run(const command& c, usec wait = default_wait);
  /// All commands in one go, all replies in order. One refused by the server has no value.
  result<std::vector<result<reply>>> run_all(const std::vector<command>& commands);

  static constexpr usec default_wait = std::chrono::seconds{10};

private:
  struct reader_deleter {
    void operator()(redisReader* r) const;
  };
  redis_link(std::unique_ptr<stream> s);
  result<void> send(const command& c, std::string& out) const;
  result<reply> receive(usec wait);

  std::unique_ptr<stream> stream_;
  std::unique_ptr<redisReader, reader_deleter> reader_;
  std::vector<char> buffer_;
};

} // namespace lycosa::bridges
