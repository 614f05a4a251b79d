#pragma once

#include "actors/dial.hpp"

#include <caf/all.hpp>

#include <memory>

namespace lycosa::actors {

struct peer_config {
  dial_request to; ///< `limit` bounds the dialling, and the answer to one look-up of a name
  std::shared_ptr<stop_flag> stop; ///< raised: what blocks gives up
};

/// One CAF system that listens at a host and port, and the connection to it: made when it is first
/// needed, kept, made anew after it was lost. Answers `(get_atom, name)` with the actor registered
/// there under that name, none if nobody is, or an error with a text. Dialling blocks a thread of
/// its own, so peers do not wait for one another. Ended by `exit_reason::kill`.
caf::behavior peer(caf::event_based_actor* self, peer_config config);

} // namespace lycosa::actors
