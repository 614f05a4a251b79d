#pragma once

#include "actors/links.hpp"

#include "wire/link_frames.hpp"

#include <string>

/// What two nodes decide from each other's first words.
namespace lycosa::actors {

/// `to`: whom it dials; none = it was dialled.
[[nodiscard]] wire::link_hello hello_of(const link_config& config, cluster::node_id to,
                                        std::string nonce);

/// Why a peer is refused that says `theirs` to who has said `mine`; empty = it is not.
[[nodiscard]] std::string refusal(const wire::link_hello& mine, const wire::link_hello& theirs);

/// Shows to whoever has said `verifier` that `prover` knows the secret. It binds both nonces, so it
/// is good for one connection, and who speaks, so it cannot be sent back as one's own.
[[nodiscard]] std::string proof_of(const std::string& secret, const wire::link_hello& prover,
                                   const wire::link_hello& verifier);

/// Bytes that nobody can guess.
[[nodiscard]] std::string fresh_nonce();

} // namespace lycosa::actors
