#pragma once

#include "storage/lmdb_catalog.hpp"
#include "storage/maintenance.hpp"

namespace lycosa::storage {

/// Looks through the space "jobs" as of one commit and adds what it finds to the report: every job
/// decodes and can be planned, has its place, and the reverse; every run decodes and belongs to its
/// job; the records of a job's ended runs follow one another as far as the history goes back; the
/// counters are ahead of what is there. Errors are those of reading.
result<void> check_jobs(lmdb_catalog& catalog, check_report& report);

} // namespace lycosa::storage
