#include "actors/supervisor.hpp"

namespace lycosa::actors {

catalog_actor::behavior_type catalog(catalog_actor::pointer self, storage::catalog_store* store) {
  return {
      [self, store](change_project_ptr& op, const supervisor_actor& from) {
        if (auto stored = store->put_project(op->record))
          op->record = std::move(*stored);
        else
          op->failure = stored.error();
        self->send(from, done_atom_v, std::move(op));
      },
      [self, store](drop_project_ptr& op, const supervisor_actor& from) {
        if (op->finally) {
          if (auto done = store->erase_project(op->record.id); !done) op->failure = done.error();
        } else {
          op->record.deleting = true;
          if (auto stored = store->put_project(op->record); !stored) op->failure = stored.error();
        }
        self->send(from, done_atom_v, std::move(op));
      },
      [self](drain_atom) { self->quit(); },
  };
}

} // namespace lycosa::actors
