#pragma once

#include "actors/open_runs.hpp"

#include <caf/all.hpp>

#include <memory>
#include <string>

namespace lycosa::actors {

/// Spawns an actor that carries out a run: finds whom it is for, sends the message, waits for the
/// answer, for the end of whom it asked, or for the run's time-out, and ends the run.
///
/// `finder` answers `(get_atom, name)` with the actor, none if nobody has that name, or an error
/// whose context is a text. It is asked only where `target` is none.
void spawn_run(caf::event_based_actor* parent, const std::shared_ptr<open_runs>& runs,
               const actor_run_ptr& run, const caf::actor& finder, const caf::actor& target);

/// An error for a person, on one line: its text where it has one, else what CAF calls it.
[[nodiscard]] std::string text_of(const caf::error& e, const caf::actor_system& system);

/// For an actor that others may send anything: drops it and prints nothing.
void ignore_strangers(caf::event_based_actor* self);

} // namespace lycosa::actors
