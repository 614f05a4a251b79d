#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace lycosa {

/// Edits that turn one word into the other; a swap of neighbours counts one, the commonest slip of
/// the fingers. Of words longer than 256 bytes, which nobody has misspelt, the length of the
/// longer.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name that was probably meant, at most a third of the word's letters away (or two); empty
/// when none is near.
[[nodiscard]] std::string_view nearest_name(std::string_view word,
                                            std::span<const std::string_view> names);

} // namespace lycosa
