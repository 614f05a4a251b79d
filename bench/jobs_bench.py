#!/usr/bin/python3
"""Jobs at scale, on a node as its users run it, and APScheduler 3 beside it in the same run.

    bench/jobs_bench.py [--stored 100000] [--busy 1000] [--seconds 20] [--peer]

Says how long adding takes, what an idle job costs in memory, how long a restart takes, and how late
jobs that run every second start. `--peer` needs python3-apscheduler, and python3-sqlalchemy for its
durable store.
"""

from __future__ import annotations

import argparse
import datetime
import http.client
import importlib.util
import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "system"))
from harness import Client, Node, status_pack  # noqa: E402

BATCH = 1000


def anonymous(pid: int) -> int:
    """Bytes the process itself holds, without cached pages of its files."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    return 0


def percentiles(values: list[float]) -> str:
    values = sorted(values)
    at = [(p, values[min(len(values) - 1, int(len(values) * p / 100))]) for p in (50, 99, 99.9)]
    return ", ".join(f"p{p} {v * 1000:.2f} ms" for p, v in at) + f" ({len(values)} runs)"


class Api:
    def __init__(self, address: str):
        self.connection = http.client.HTTPConnection(address, timeout=120)

    def __call__(self, method: str, path: str, body: object = None) -> dict:
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        self.connection.request(method, path, text, {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        got = answer.read()
        if answer.status >= 300:
            sys.exit(f"{method} {path}: {answer.status} {got[:500]!r}")
        return json.loads(got)


def task_job(name: str, trigger: dict) -> dict:
    return {"id": name, "trigger": trigger,
            "action": {"type": "task", "task": {"project": "bench", "taskid": name,
                                                "url": "data:," + name,
                                                "schedule": {"age": 0, "force_update": True}}}}


def add(node: Node, jobs: list[dict], batch: int = BATCH) -> float:
    """Seconds to add them, over four connections; what it takes to write the lists is not in it."""
    bodies = [json.dumps(jobs[i:i + batch]) for i in range(0, len(jobs), batch)]
    waiting = iter(bodies)
    lock = threading.Lock()

    def work() -> None:
        api = Api(node.address)
        while True:
            with lock:
                body = next(waiting, None)
            if body is None:
                return
            api("POST", "/v1/jobs", body)
    workers = [threading.Thread(target=work) for _ in range(4)]
    begun = time.monotonic()
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    return time.monotonic() - begun


def stored(number: int) -> None:
    node = Node()
    try:
        node.start()
        api = Api(node.address)
        before = anonymous(node.process.pid)
        jobs = [task_job(f"job-{i:07}", {"type": "cron", "month": 1, "day": 1, "hour": i % 24,
                                         "minute": i // 24 % 60}) for i in range(number)]
        took = add(node, jobs)
        after = anonymous(node.process.pid)
        print(f"stored: {number} jobs added in {took:.2f} s ({number / took:.0f}/s), "
              f"{(after - before) / number:.0f} bytes a job held", flush=True)
        node.kill()
        begun = time.monotonic()
        node.start()
        ready = time.monotonic() - begun
        count = Api(node.address)("GET", "/v1/scheduler/jobs")["jobs"]
        print(f"stored: after kill -9 ready in {ready:.2f} s with {count} jobs, "
              f"{anonymous(node.process.pid) / 1e6:.1f} MB held in all", flush=True)
    finally:
        node.close()


def busy(number: int, seconds: int, together: bool, *extra: str) -> None:
    node = Node('jobs.history_count=100', *extra)
    try:
        node.start()
        node.client.put_project("bench", status="RUNNING", rate=1e6, burst=1e6)
        api = Api(node.address)
        first = datetime.datetime.fromtimestamp(int(time.time()), datetime.timezone.utc).isoformat()
        every = {"type": "interval", "seconds": 1}
        if together:
            every["start_date"] = first  # all of them at each full second
        # Without it they are counted from when they were added: in small lists, all over a second.
        add(node, [task_job(f"job-{i:06}", every) for i in range(number)], BATCH if together else 20)
        arrived: list[float] = []
        ends = time.time() + seconds
        client = Client(node.url)
        while time.time() < ends:
            got = client.lease(1000, 1, ["bench"])
            arrived += [time.time() % 1] * len(got)
            if got:
                client.report([status_pack(one, True) for one in got])
        api("POST", "/v1/scheduler/jobs/pause")
        late: list[float] = []
        states: dict[str, int] = {}
        step = max(1, number // 500)
        for i in range(0, number, step):
            for run in api("GET", f"/v1/jobs/job-{i:06}/runs?limit={min(100, seconds)}")["runs"]:
                states[run["outcome"]] = states.get(run["outcome"], 0) + 1
                if run.get("started"):
                    late.append(run["late"])
        how = "all at each full second" if together else "spread over it"
        print(f"busy: {number} jobs each second, {how}: late by {percentiles(late)}; {states}; "
              f"{len(arrived) / seconds:.0f} tasks/s taken by a consumer", flush=True)
        if together:
            print(f"busy: at a consumer after {percentiles(arrived)}", flush=True)
    finally:
        node.close()


def peer(number: int, seconds: int) -> None:
    from apscheduler import __version__ as version
    from apscheduler.events import EVENT_JOB_EXECUTED, EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED
    from apscheduler.executors.pool import ThreadPoolExecutor
    from apscheduler.jobstores.memory import MemoryJobStore
    from apscheduler.schedulers.background import BackgroundScheduler

    def at() -> int:
        return anonymous(os.getpid())

    stores = [("memory", lambda: MemoryJobStore())]
    if importlib.util.find_spec("sqlalchemy"):
        from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
        folder = tempfile.mkdtemp()
        stores.append(("sqlite", lambda: SQLAlchemyJobStore(url=f"sqlite:///{folder}/jobs")))
    for name, make in stores:
        few = min(number, 1000) if name == "sqlite" else number
        scheduler = BackgroundScheduler(jobstores={"default": make()}, timezone="UTC")
        scheduler.start(paused=True)
        before, begun = at(), time.monotonic()
        for i in range(few):
            scheduler.add_job(print, "cron", id=str(i), month=1, day=1, hour=i % 24)
        took = time.monotonic() - begun
        print(f"APScheduler {version}, {name}: {few} jobs added in {took:.2f} s "
              f"({few / took:.0f}/s), {(at() - before) / few:.0f} bytes a job held", flush=True)
        scheduler.shutdown(wait=False)

    late: list[float] = []
    scheduler = BackgroundScheduler(executors={"default": ThreadPoolExecutor(10)}, timezone="UTC")
    counted = {"missed": 0}

    def heard(event) -> None:
        if event.code == EVENT_JOB_EXECUTED:
            late.append((event.retval - event.scheduled_run_time).total_seconds())
        else:
            counted["missed"] += 1
    scheduler.add_listener(heard, EVENT_JOB_EXECUTED | EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES)
    scheduler.start(paused=True)
    for i in range(number):
        scheduler.add_job(now, "interval", seconds=1, id=str(i), max_instances=10)
    scheduler.resume()
    time.sleep(seconds)
    scheduler.shutdown(wait=False)
    print(f"APScheduler {version}: {number} jobs each second, memory store: "
          + (f"late by {percentiles(late)}" if late else "none ran")
          + f"; {counted['missed']} missed or skipped, {number * seconds} were due", flush=True)


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stored", type=int, default=100_000,
                        help="idle jobs that are added and kept; 0 = leave this part out "
                             "(default: 100000)")
    parser.add_argument("--busy", type=int, default=1000,
                        help="jobs that run every second; 0 = leave this part out (default: 1000)")
    parser.add_argument("--seconds", type=int, default=20,
                        help="how long they run (default: 20)")
    parser.add_argument("--peer", action="store_true",
                        help="the busy jobs in APScheduler 3 too")
    options = parser.parse_args()
    if options.stored:
        stored(options.stored)
    if options.busy:
        busy(options.busy, options.seconds, together=True)
        busy(options.busy, options.seconds, together=False)
        if options.peer:
            peer(options.busy, options.seconds)


if __name__ == "__main__":
    main()
