#pragma once

#include "core/result.hpp"

#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

#include <string>
#include <string_view>

namespace lycosa::coordination {

/// Why an answer is none.
struct answer_failure {
  errc code = errc::unavailable;
  std::string why;
  bool elsewhere = false; ///< another server may do better
  bool token = false;     ///< the token was not taken: log in again
};

/// What etcd's JSON gateway has answered: an object with a header. Streamed answers come in a
/// "result". Whatever else it is, is reported as not being etcd's.
[[nodiscard]] tl::expected<nlohmann::json, answer_failure> read_answer(unsigned status,
                                                                       std::string_view body);

} // namespace lycosa::coordination
