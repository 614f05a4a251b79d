"""A stand-in, written here, for the storage work of pyspider's scheduler on SQLite: not pyspider.

What that scheduler does for a task, with the table and the default settings its SQLite has: a
SELECT (is it known?) and an INSERT when it comes, a SELECT when it is sent out, an UPDATE when its
result comes; each statement a transaction of its own, synchronous=FULL. Without the scheduler's
queues, messages and scripts, so it is faster than the whole could be. Prints JSON.

    sqlite_load.py TASKS FOLDER
"""

from __future__ import annotations

import json
import resource
import sqlite3
import sys
import time

ACTIVE, SUCCESS = 1, 2
FILLER = "x" * 200


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    tasks, folder = int(sys.argv[1]), sys.argv[2]
    db = sqlite3.connect(f"{folder}/task.db", isolation_level=None)
    db.execute("PRAGMA synchronous=FULL")
    db.execute("CREATE TABLE taskdb_bench (taskid PRIMARY KEY, project, url, status, schedule, "
               "fetch, process, track, lastcrawltime, updatetime)")
    db.execute("CREATE INDEX status_taskdb_bench_index ON taskdb_bench (status)")
    seen = [0] * tasks
    begun, spent = time.monotonic(), cpu()
    for first in range(0, tasks, 100):  # a queue's worth comes, goes out and is settled
        some = range(first, min(first + 100, tasks))
        for i in some:
            name = f"run-{i}"
            if db.execute("SELECT status FROM taskdb_bench WHERE taskid=?", (name,)).fetchone():
                continue
            db.execute("INSERT INTO taskdb_bench VALUES (?,?,?,?,?,?,?,?,?,?)", (
                name, "bench", f"http://example.com/page/{i}", ACTIVE,
                json.dumps({"priority": 1}), json.dumps({"method": "GET"}),
                json.dumps({"callback": "index_page", "save": FILLER}), None, None, time.time()))
        for i in some:
            got = db.execute("SELECT taskid, url, schedule, fetch, process FROM taskdb_bench "
                             "WHERE taskid=? AND status=?", (f"run-{i}", ACTIVE)).fetchone()
            if got:
                seen[int(got[0][4:])] += 1
        for i in some:
            db.execute("UPDATE taskdb_bench SET status=?, track=?, lastcrawltime=?, updatetime=? "
                       "WHERE taskid=?", (SUCCESS, json.dumps(
                           {"fetch": {"ok": True, "time": 0.12, "status_code": 200},
                            "process": {"ok": True, "time": 0.01}}),
                           time.time(), time.time(), f"run-{i}"))
    took = time.monotonic() - begun
    print(json.dumps({"seconds": took, "client_cpu": cpu() - spent, "lost": seen.count(0),
                      "twice": sum(1 for n in seen if n > 1)}))


if __name__ == "__main__":
    main()
