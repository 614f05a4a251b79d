#pragma once

#include "actors/messages.hpp"

#include <caf/all.hpp>

/// The map of the actor system: every typed handle, one comment a handler (who sends it, what
/// follows). Messages are one-way; answers are messages of their own, so no actor keeps a table of
/// outstanding requests. All payloads are local objects (messages.hpp).
namespace lycosa::actors {

template <class T>
using ptr = std::shared_ptr<T>;

using submit_part_ptr = ptr<submit_part>;
using report_part_ptr = ptr<report_part>;
using leases_part_ptr = ptr<leases_part>;
using project_query_ptr = ptr<project_query>;
using active_query_ptr = ptr<active_query>;
using active_entries_ptr = ptr<std::vector<active_entry>>;
using task_query_ptr = ptr<task_query>;
using submit_op_ptr = ptr<submit_op>;
using report_op_ptr = ptr<report_op>;
using result_op_ptr = ptr<result_op>;
using erase_op_ptr = ptr<erase_op>;
using order_op_ptr = ptr<order_op>;
using window_op_ptr = ptr<window_op>;
using find_op_ptr = ptr<find_op>;
using scan_op_ptr = ptr<scan_op>;
using load_op_ptr = ptr<load_op>;
using ticket_ptr = ptr<ticket>;
using list_tasks_op_ptr = ptr<list_tasks_op>;
using list_results_op_ptr = ptr<list_results_op>;
using get_result_op_ptr = ptr<get_result_op>;
using stats_op_ptr = ptr<stats_op>;
using change_project_ptr = ptr<change_project>;
using drop_project_ptr = ptr<drop_project>;
using keys_ptr = ptr<std::vector<task_key>>;
using counter_query_ptr = ptr<counter_query>;
using counters_op_ptr = ptr<counters_op>;
using undo_op_ptr = ptr<undo_op>;
using send_op_ptr = ptr<send_op>;
using job_call_ptr = ptr<job_call>;

} // namespace lycosa::actors

CAF_BEGIN_TYPE_ID_BLOCK(lycosa, first_custom_type_id)
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::submit_part_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::report_part_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::leases_part_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::project_query_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::active_query_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::active_entries_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::task_query_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::submit_op_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::report_op_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::result_op_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::erase_op_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::find_op_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::scan_op_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::load_op_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::grant_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::ticket_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::list_tasks_op_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::list_results_op_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::get_result_op_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::stats_op_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::change_project_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::drop_project_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::keys_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::counter_query_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::counters_op_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::undo_op_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::send_op_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::facts_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::job_call_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::order_op_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::actors::window_op_ptr))
CAF_ADD_TYPE_ID(lycosa, (lycosa::project_id))
CAF_ADD_ATOM(lycosa, lycosa::actors, cancel_atom, "cancel") // a consumer has gone
CAF_ADD_ATOM(lycosa, lycosa::actors, commit_atom, "commit") // to self: write what has gathered
CAF_ADD_ATOM(lycosa, lycosa::actors, done_atom, "done")     // an operation comes back, filled in
CAF_ADD_ATOM(lycosa, lycosa::actors, drain_atom, "drain")   // take nothing more, finish, quit
CAF_ADD_ATOM(lycosa, lycosa::actors, drop_atom, "drop")     // a project is to be deleted
CAF_ADD_ATOM(lycosa, lycosa::actors, flush_atom,
             "flush") // to self: the mailbox was seen empty up to here
CAF_ADD_ATOM(lycosa, lycosa::actors, forget_atom, "forget")   // a project, or tasks, are gone
CAF_ADD_ATOM(lycosa, lycosa::actors, granted_atom, "granted") // a project has used a grant
CAF_ADD_ATOM(lycosa, lycosa::actors, hungry_atom, "hungry")   // a project could hand out tasks
CAF_ADD_ATOM(lycosa, lycosa::actors, loaded_atom, "loaded")   // bodies of a grant are there
CAF_ADD_ATOM(lycosa, lycosa::actors, more_atom, "more")       // to self: the rest of a long list
CAF_ADD_ATOM(lycosa, lycosa::actors, resume_atom, "resume")   // an operator says: go on
CAF_ADD_ATOM(lycosa, lycosa::actors, save_atom, "save")       // counters have changed; give them
CAF_ADD_ATOM(lycosa, lycosa::actors, survey_atom, "survey")   // to self: a minute has passed
CAF_ADD_ATOM(lycosa, lycosa::actors, undo_atom, "undo")       // leases that were never delivered
CAF_ADD_ATOM(lycosa, lycosa::actors, wake_atom, "wake") // to self: the moment armed for has come
CAF_END_TYPE_ID_BLOCK(lycosa)

// Local payloads: they are never serialised, so CAF needs no inspect for them.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::submit_part_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::report_part_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::leases_part_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::project_query_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::active_query_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::active_entries_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::task_query_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::submit_op_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::report_op_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::result_op_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::erase_op_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::order_op_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::window_op_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::find_op_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::scan_op_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::load_op_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::grant_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::ticket_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::list_tasks_op_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::list_results_op_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::get_result_op_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::stats_op_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::change_project_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::drop_project_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::keys_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::counter_query_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::counters_op_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::undo_op_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::send_op_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::job_call_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lycosa::actors::facts_ptr)

namespace lycosa::actors {

/// PROJECT, one a project: owns its queue, its token bucket and its leases, and with them every
/// gate that decides whether a task may run now.
using project_actor = caf::typed_actor<
    // Client: take these tasks. Passed on to the shard writers.
    caf::reacts_to<submit_part_ptr>,
    // Shard writer: they are durable (or refused). Queued, then the client is answered.
    caf::reacts_to<done_atom, submit_op_ptr>,
    // Client: these crawls have ended. Judged by lease, passed on to the shard writers.
    caf::reacts_to<report_part_ptr>,
    // Shard reader: where the tasks of lease-less reports live. Judged and passed on.
    caf::reacts_to<done_atom, find_op_ptr>,
    // Shard writer: the reports are durable. Tasks leave the queue or go back, client answered.
    caf::reacts_to<done_atom, report_op_ptr>,
    // Client: extend or release leases.
    caf::reacts_to<leases_part_ptr>,
    // Dispatcher: hand out up to `credit` tasks. Answered by granted_atom at once, and by one
    // loaded_atom a shard from the readers.
    caf::reacts_to<grant_ptr>,
    // Dispatcher: these leases and messages never reached their consumer.
    caf::reacts_to<undo_atom, undo_op_ptr>,
    // Client: hand this to the next consumer, past the queue.
    caf::reacts_to<send_op_ptr>,
    // Shard reader: these leased tasks have no record any more.
    caf::reacts_to<forget_atom, keys_ptr>,
    // Shard reader: a page of the queue, at start.
    caf::reacts_to<done_atom, scan_op_ptr>,
    // Self: the rest of a list that is too long for one turn, from this item on.
    caf::reacts_to<more_atom, submit_part_ptr, std::uint32_t>,
    caf::reacts_to<more_atom, report_part_ptr, std::uint32_t>,
    // Supervisor: the record has changed.
    caf::reacts_to<facts_ptr>,
    // Supervisor: an operator has set the status; an automatic pause ends.
    caf::reacts_to<resume_atom>,
    // Client: what was counted?
    caf::reacts_to<counter_query_ptr>,
    // Catalog: the counters, to be stored.
    caf::reacts_to<save_atom>,
    // Client: how does the project stand?
    caf::reacts_to<project_query_ptr>,
    // Shard reader: these tasks were handed out (the latest of them).
    caf::reacts_to<active_entries_ptr>,
    // Client: what happened lately?
    caf::reacts_to<active_query_ptr>,
    // Client: how does this task stand? Asked of a shard reader, completed here.
    caf::reacts_to<task_query_ptr>, caf::reacts_to<done_atom, task_query_ptr>,
    // Supervisor: delete everything you have; then forget_atom goes to the supervisor.
    caf::reacts_to<drop_atom>,
    // Shard writer: a slice is deleted.
    caf::reacts_to<done_atom, erase_op_ptr>,
    // Shard writer: a step towards a queue in order is taken.
    caf::reacts_to<done_atom, order_op_ptr>,
    // Shard reader: the next tasks of a queue that is longer than its window.
    caf::reacts_to<done_atom, window_op_ptr>,
    // Self: a delayed task, a token or the end of a lease is due.
    caf::reacts_to<wake_atom>,
    // Supervisor: the node stops.
    caf::reacts_to<drain_atom>>;

/// SHARD WRITER, one a shard, on a thread of its own: gathers what its mailbox holds into one
/// transaction, commits it, then sends every operation back.
using shard_writer_actor = caf::typed_actor<
    // Project: store tasks.
    caf::reacts_to<submit_op_ptr, project_actor>,
    // Project: store reports.
    caf::reacts_to<report_op_ptr, project_actor>,
    // Client: store a result.
    caf::reacts_to<result_op_ptr>,
    // Project: delete a slice.
    caf::reacts_to<erase_op_ptr, project_actor>,
    // Project: keep the queue in order, or no longer.
    caf::reacts_to<order_op_ptr, project_actor>,
    // Self: commit what has been gathered.
    caf::reacts_to<flush_atom>,
    // Supervisor: commit and quit.
    caf::reacts_to<drain_atom>>;

/// DISPATCHER, one a node: matches consumers' demand with hungry projects, fairly.
using dispatcher_actor = caf::typed_actor<
    // Client: wants tasks.
    caf::reacts_to<ticket_ptr>,
    // Client: has gone.
    caf::reacts_to<cancel_atom, std::uint64_t>,
    // Project: could hand out tasks. Sent once per change from "cannot" to "can".
    caf::reacts_to<hungry_atom, project_id, project_actor>,
    // Project: has used its grant.
    caf::reacts_to<granted_atom, grant_ptr>,
    // Shard reader: bodies of a grant are there.
    caf::reacts_to<loaded_atom, load_op_ptr>,
    // Supervisor: a project is gone.
    caf::reacts_to<forget_atom, project_id>,
    // Self: a consumer has waited long enough.
    caf::reacts_to<wake_atom>,
    // Supervisor: answer everybody with what is there and quit.
    caf::reacts_to<drain_atom>>;

/// SHARD READER, one a shard, on a thread of its own: reads the committed state while the writer
/// syncs.
using shard_reader_actor = caf::typed_actor<
    // Project: load the bodies of a grant; they go to the dispatcher.
    caf::reacts_to<load_op_ptr, project_actor, dispatcher_actor>,
    // Project: a page of its queue.
    caf::reacts_to<scan_op_ptr, project_actor>,
    // Project: the next tasks after those in memory.
    caf::reacts_to<window_op_ptr, project_actor>,
    // Project: where do these tasks live?
    caf::reacts_to<find_op_ptr, project_actor>,
    // Project: one task for a client.
    caf::reacts_to<task_query_ptr, facts_ptr, project_actor>,
    // Client: listings; passed on to the next shard's reader while the page is not full.
    caf::reacts_to<list_tasks_op_ptr>, caf::reacts_to<list_results_op_ptr>,
    caf::reacts_to<get_result_op_ptr>,
    // Client: sizes and states of all shards; passed from reader to reader.
    caf::reacts_to<stats_op_ptr>,
    // Supervisor: quit.
    caf::reacts_to<drain_atom>>;

/// SUPERVISOR, one a node: the registry of projects; starts, watches, restarts and ends their
/// actors.
using supervisor_actor = caf::typed_actor<
    // Client: make or change a project. Answered when it is durable and in effect.
    caf::reacts_to<change_project_ptr>,
    // Client: delete a project. Answered when it takes and gives nothing any more.
    caf::reacts_to<drop_project_ptr>,
    // Catalog: the change is durable (or refused).
    caf::reacts_to<done_atom, change_project_ptr>, caf::reacts_to<done_atom, drop_project_ptr>,
    // Project: all its data is deleted.
    caf::reacts_to<forget_atom, project_id>,
    // Self: a project may be due for deletion.
    caf::reacts_to<wake_atom>,
    // Self: the back-off of a failed project actor is over.
    caf::reacts_to<wake_atom, project_id>,
    // Self: time for the log's line about the last minutes.
    caf::reacts_to<survey_atom>,
    // Client: end every actor, in order, and quit.
    caf::reacts_to<drain_atom>>;

/// CATALOG, one a node, on a thread of its own: the durable list of projects.
using catalog_actor = caf::typed_actor<
    // Supervisor: store a project; mark or forget a deleted one. Comes back filled in.
    caf::reacts_to<change_project_ptr, supervisor_actor>,
    caf::reacts_to<drop_project_ptr, supervisor_actor>,
    // Project: its counters have changed since they were last stored. Asked for them (save_atom)
    // when it is their turn.
    caf::reacts_to<save_atom, project_actor>,
    // Project: its counters.
    caf::reacts_to<counters_op_ptr>,
    // Self: ask for changed counters; store those that have come.
    caf::reacts_to<wake_atom>, caf::reacts_to<flush_atom>, caf::reacts_to<commit_atom>,
    // Supervisor: quit.
    caf::reacts_to<drain_atom>>;

/// JOBS, one a node, on a thread of its own: decides about jobs and stores what was decided.
using jobs_actor = caf::typed_actor<
    // Client, executor: a step on the state, e.g. add a job, or note how a run ended.
    caf::reacts_to<job_call_ptr>,
    // Self: something is due.
    caf::reacts_to<wake_atom>,
    // Self: store, then start, publish and answer.
    caf::reacts_to<flush_atom>,
    // Client, self: start nothing more, wait for what runs, at last end it, quit.
    caf::reacts_to<drain_atom>>;

} // namespace lycosa::actors
