"""Load for APScheduler 3: date jobs that are due at once, run to the end. Prints JSON.

    apscheduler_load.py memory|sqlite TASKS FOLDER
"""

from __future__ import annotations

import datetime
import json
import resource
import sys
import threading
import time

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.background import BackgroundScheduler

FILLER = "x" * 200
seen: list[int] = []  # how often each ran; list items are counted under the lock
lock = threading.Lock()
left = 0
finished = threading.Event()
ended = 0.0


def task(number: int, body: dict) -> None:
    global left, ended
    with lock:
        seen[number] += 1
        left -= 1
        if left == 0:
            ended = time.monotonic()
            finished.set()


def body(i: int) -> dict:
    return {"project": "bench", "taskid": f"run-{i}", "url": f"http://example.com/page/{i}",
            "schedule": {"priority": 1}, "fetch": {"method": "GET"},
            "process": {"callback": "index_page", "save": FILLER}}


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    global left, seen, ended
    kind, tasks, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    seen, left = [0] * tasks, tasks
    if kind == "sqlite":
        from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
        store = SQLAlchemyJobStore(url=f"sqlite:///{folder}/jobs")
    else:
        store = MemoryJobStore()
    # One pool of ten is its default. No limit of lateness: each job has to run.
    scheduler = BackgroundScheduler(
        jobstores={"default": store}, executors={"default": ThreadPoolExecutor(10)},
        job_defaults={"misfire_grace_time": None}, timezone="UTC")
    now = datetime.datetime.now(datetime.timezone.utc)
    begun, spent = time.monotonic(), cpu()
    # Paused while jobs are added: woken by each of them it would be slower.
    scheduler.start(paused=True)
    for i in range(tasks):
        scheduler.add_job(task, "date", run_date=now, args=(i, body(i)), id=str(i))
    scheduler.resume()
    if not finished.wait(500):
        sys.exit(f"{left} of {tasks} jobs never ran")
    # A job is removed from the store when it is handed to the pool: settled, if not durably done.
    while scheduler.get_jobs():
        time.sleep(0.005)
        ended = time.monotonic()
    print(json.dumps({"seconds": ended - begun, "lost": seen.count(0),
                      "twice": sum(1 for n in seen if n > 1), "client_cpu": cpu() - spent}))
    scheduler.shutdown(wait=False)


if __name__ == "__main__":
    # Under its real name, so that the durable store can refer to the function.
    import apscheduler_load
    apscheduler_load.main()
