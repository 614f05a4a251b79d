#!/usr/bin/env python3
"""How exact rates are kept under load, and what many projects with rates cost at rest.

    bench/limiter_bench.py [--projects 200] [--seconds 60] [--idle 10000]

Serves a node on a temporary directory. Projects with rates from 0.5 to 100 a second, spread evenly on
a logarithmic scale, and a burst of 5 get more tasks than they may give; two consumers take what comes.
Told are, over all projects: by how many tasks any window of time had more than burst + rate x t, by
the times at which they arrived here (what held them up on the way counts against the node), and how
far the long-run rate of those with 1,000 deliveries or more is from what was set. Then `--idle`
projects of different rates with a task each that is not due: what the node takes with nothing to do.
"""

import argparse
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = ("127.0.0.1", 18061)
BURST = 5


class Client:
    def __init__(self):
        self.connection = http.client.HTTPConnection(*ADDRESS, timeout=60)

    def call(self, method: str, path: str, body) -> dict:
        self.connection.request(method, path, json.dumps(body))
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{method} {path}: {answer.status} {text[:200]!r}")
        return json.loads(text)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def submit(client: Client, tasks: list[dict]) -> None:
    for at in range(0, len(tasks), 5000):
        client.call("POST", "/v1/tasks", tasks[at:at + 5000])


def excess(times: list[float], rate: float) -> float:
    """Tasks above burst + rate x t in the worst window."""
    worst, lowest = -BURST, float("inf")
    for i, t in enumerate(times):
        level = i - rate * t
        lowest = min(lowest, level)
        worst = max(worst, level - lowest + 1 - BURST)
    return worst


def busy(projects: int, seconds: float) -> None:
    client = Client()
    rates = {f"r{n}": 0.5 * 200 ** (n / max(1, projects - 1)) for n in range(projects)}
    for name, rate in rates.items():
        client.call("PUT", f"/v1/projects/{name}",
                    {"status": "PAUSED", "rate": rate, "burst": BURST})
        submit(client, [{"project": name, "taskid": str(i), "url": "u"}
                        for i in range(int(rate * (seconds + 10)) + 2 * BURST)])
    for name in rates:
        client.call("PUT", f"/v1/projects/{name}", {"status": "RUNNING"})
    arrivals = {name: [] for name in rates}
    begin = time.monotonic()

    def consume() -> None:
        own = Client()
        while time.monotonic() - begin < seconds:
            got = own.call("POST", "/v1/lease", {"max": 1000, "wait": 1})["tasks"]
            now = time.monotonic()
            for task in got:
                arrivals[task["project"]].append(now)
            own.call("POST", "/v1/report", [
                {"project": t["project"], "taskid": t["taskid"], "lease": t["lease"],
                 "track": {"process": {"ok": True}}} for t in got])

    threads = [threading.Thread(target=consume) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    worst, furthest, many = -BURST, 0.0, 0
    for name, times in arrivals.items():
        times.sort()
        worst = max(worst, excess(times, rates[name]))
        if len(times) < 1000:
            continue
        many += 1
        # What was given at the start out of the full bucket is no part of the rate.
        late = times[100:]
        rate = (len(late) - 1) / (late[-1] - late[0])
        furthest = max(furthest, abs(rate / rates[name] - 1))
    print(f"{projects} projects, {sum(map(len, arrivals.values())):,} tasks in {seconds:g} s: "
          f"worst window {worst:+.2f} tasks from burst + rate x t; long-run rate of the {many} "
          f"busiest within {furthest:.3%}")


def idle(projects: int, pid: int) -> None:
    client = Client()
    for n in range(projects):
        client.call("PUT", f"/v1/projects/i{n}",
                    {"status": "RUNNING", "rate": 0.1 + n % 97, "burst": 1 + n % 7})
    submit(client, [{"project": f"i{n}", "taskid": "t", "url": "u",
                     "schedule": {"exetime": time.time() + 86400}} for n in range(projects)])
    time.sleep(3)
    before, begin = cpu_seconds(pid), time.monotonic()
    time.sleep(20)
    took = (cpu_seconds(pid) - before) / (time.monotonic() - begin)
    print(f"{projects} projects at rest: {took:.2%} of a core")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lycosa", default=str(ROOT / "build/release/lycosa"), metavar="PATH",
                        help="the binary (default: build/release/lycosa)")
    parser.add_argument("--projects", type=int, default=200,
                        help="projects with rates under load; 0 = leave this part out "
                             "(default: 200)")
    parser.add_argument("--seconds", type=float, default=60, help="how long (default: 60)")
    parser.add_argument("--idle", type=int, default=10_000,
                        help="projects at rest; 0 = leave this part out (default: 10000)")
    o = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="lycosa-limiter-")
    node = subprocess.Popen([o.lycosa, "serve", "--data", folder + "/data", "--listen",
                             f"{ADDRESS[0]}:{ADDRESS[1]}", "--set", "xmlrpc.enabled=false"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        if not node.stdout.readline().startswith("lycosa ready"):
            sys.exit("the node did not start")
        if o.projects:
            busy(o.projects, o.seconds)
        if o.idle:
            idle(o.idle, node.pid)
    finally:
        node.kill()
        node.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
