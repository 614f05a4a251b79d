#pragma once

#include "core/result.hpp"
#include "gateway/budget.hpp"

#include <string>
#include <string_view>

namespace lycosa::gateway {

/// Unpacks a body sent with `Content-Encoding: gzip`, `zstd` or `identity`. Never makes more than
/// `limit` bytes, however small the input: `too_large` past it, `busy` when the memory budget is
/// used up, `invalid_argument` for damaged input or an unknown encoding (field
/// "content-encoding").
result<std::string> decode_body(std::string_view encoding, std::string packed, std::size_t limit,
                                budget_share& share);

} // namespace lycosa::gateway
