#!/usr/bin/python3
"""Many projects and large ones, on a node as its users run it.

    bench/projects_bench.py ticks  [--projects 10000] [--min-tick 60] [--seconds 60]
    bench/projects_bench.py delete [--tasks 10000000]
    bench/projects_bench.py import [--tasks 1000000]

ticks: how late `_on_cronjob` comes, whether any is missing, and what it costs in processor time.
delete: how long a project takes to go, and what others notice of it meanwhile.
import: how long pyspider's databases take to come over.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "system"))
from harness import BINARY, Client, Node, status_pack, task, until  # noqa: E402


def processor_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def percentiles(values: list[float]) -> str:
    values = sorted(values)
    at = [(p, values[min(len(values) - 1, int(len(values) * p / 100))]) for p in (50, 99, 99.9)]
    return (", ".join(f"p{p} {v * 1000:.1f} ms" for p, v in at)
            + f", most {values[-1] * 1000:.1f} ms ({len(values)})")


def ticks(options: argparse.Namespace) -> None:
    with Node() as node:
        begun = time.monotonic()
        for i in range(options.projects):
            node.client.put_project(f"p{i:06}", status="RUNNING", rate=1e6, burst=1e6,
                                    min_tick=options.min_tick)
        print(f"ticks: {options.projects} projects made in {time.monotonic() - begun:.1f} s",
              flush=True)
        seen: dict[str, list[int]] = {}
        late: list[float] = []
        used, begun = processor_seconds(node.process.pid), time.time()
        while time.time() < begun + options.seconds:
            got = node.client.lease(consumer="bench", max=1000, wait=1)
            at = time.time()
            for one in got:
                tick = one["fetch"]["save"]["tick"]
                if tick > begun + 1:  # the first ones are those that were made meanwhile
                    late.append(at - tick)
                    seen.setdefault(one["project"], []).append(tick)
            if got:
                node.client.report([status_pack(one, True) for one in got])
        used = processor_seconds(node.process.pid) - used
        took = time.time() - begun
        expected = int(took - 1) // options.min_tick
        short = sum(1 for i in range(options.projects)
                    if len(seen.get(f"p{i:06}", [])) < expected)
        twice = sum(len(t) - len(set(t)) for t in seen.values())
        print(f"ticks: every {options.min_tick} s for {options.projects} projects: "
              f"{len(late) / took:.0f}/s, late by {percentiles(late)}; {short} projects lack one, "
              f"{twice} came twice; {100 * used / took:.1f} % of a core", flush=True)
        client = node.client
        for i in range(options.projects):
            client.put_project(f"p{i:06}", min_tick=0)
        used, begun = processor_seconds(node.process.pid), time.time()
        time.sleep(10)
        used = processor_seconds(node.process.pid) - used
        print(f"ticks: none of them ticking: {100 * used / (time.time() - begun):.2f} % of a core",
              flush=True)


class Traffic:
    """One task after the other through another project, timed."""

    def __init__(self, node: Node):
        self.client = Client(node.url)
        self.client.put_project("other", status="RUNNING", rate=1e6, burst=1e6)
        self.took: list[float] = []
        self.going = True
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        for n in range(1_000_000_000):
            if not self.going:
                return
            begun = time.monotonic()
            self.client.submit([task("other", f"t{n}")])
            got = self.client.lease(consumer="bench", projects=["other"], max=1, wait=10)
            self.client.report([status_pack(one, True) for one in got])
            self.took.append(time.monotonic() - begun)

    def part(self) -> str:
        values, self.took = self.took, []
        return f"submit, lease and report of one task: {percentiles(values)}"

    def stop(self) -> None:
        self.going = False
        self.thread.join()


def delete(options: argparse.Namespace) -> None:
    with Node('storage.map_size="64GiB"') as node:
        begun = time.monotonic()
        subprocess.run([BINARY, "bench", "submit", "--server", node.url, "--project", "big",
                        "--tasks", str(options.tasks), "--batch", "10000"], check=True,
                       stdout=subprocess.DEVNULL)
        took = time.monotonic() - begun
        print(f"delete: {options.tasks} tasks submitted in {took:.0f} s", flush=True)
        traffic = Traffic(node)
        time.sleep(15)
        print(f"delete: before, {traffic.part()}", flush=True)
        begun = time.monotonic()
        node.client.drop_project("big")

        def gone() -> bool:
            time.sleep(0.2)  # its name is free at once; the log tells when the last task is gone
            return "project big: deleted" in node.log.read_text()
        until(gone, "the project's end", within=7200)
        took = time.monotonic() - begun
        print(f"delete: gone after {took:.1f} s ({options.tasks / took:.0f} tasks/s); "
              f"meanwhile, {traffic.part()}", flush=True)
        traffic.stop()


def bring(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder, Node('storage.map_size="64GiB"') as node:
        db = sqlite3.connect(f"{folder}/project.db")
        db.execute("CREATE TABLE projectdb (name PRIMARY KEY, `group`, status, script, comments,"
                   " rate, burst, updatetime)")
        db.execute("INSERT INTO projectdb VALUES ('news', '', 'STOP', '', '', 1, 3, 1)")
        db.commit()
        db = sqlite3.connect(f"{folder}/task.db")
        db.execute("CREATE TABLE taskdb_news (taskid PRIMARY KEY, project, url, status, schedule,"
                   " fetch, process, track, lastcrawltime, updatetime)")
        parts = (json.dumps({"priority": 3, "age": 864000, "itag": "v1"}),
                 json.dumps({"headers": {"Referer": "http://site.test/list"}}),
                 json.dumps({"callback": "detail_page"}),
                 json.dumps({"fetch": {"ok": True, "status_code": 200, "time": 0.21},
                             "process": {"ok": True, "time": 0.01, "follows": 12}}))
        db.executemany("INSERT INTO taskdb_news VALUES (?,?,?,?,?,?,?,?,?,?)", (
            (f"{i * 0x9E3779B97F4A7C15 % 2**64:016x}{i:016x}", "news",
             f"http://site.test/detail/{i}.html", 2, *parts, 1.6e9 + i, 1.6e9 + i)
            for i in range(options.tasks)))
        db.commit()
        db.close()
        begun = time.monotonic()
        ended = subprocess.run(
            [BINARY, "import", "pyspider", "--server", node.url,
             "--projectdb", f"sqlite+projectdb:///{folder}/project.db",
             "--taskdb", f"sqlite+taskdb:///{folder}/task.db"], capture_output=True, text=True)
        took = time.monotonic() - begun
        if ended.returncode != 0:
            sys.exit(ended.stderr)
        kept = int(re.sub(r"\D", "", str(node.client.project("news")["counters"]["success"])))
        print(f"import: {kept} of {options.tasks} tasks in {took:.1f} s ({kept / took:.0f}/s)",
              flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_subparsers(required=True)
    one = what.add_parser("ticks", help="how late ticks come, and what they cost")
    one.add_argument("--projects", type=int, default=10_000, help="how many (default: 10000)")
    one.add_argument("--min-tick", type=int, default=60,
                     help="seconds between a project's ticks (default: 60)")
    one.add_argument("--seconds", type=int, default=60, help="how long (default: 60)")
    one.set_defaults(run=ticks)
    one = what.add_parser("delete", help="how long a project takes to go")
    one.add_argument("--tasks", type=int, default=10_000_000,
                     help="tasks of the project (default: 10000000)")
    one.set_defaults(run=delete)
    one = what.add_parser("import", help="how long pyspider's databases take to come over")
    one.add_argument("--tasks", type=int, default=1_000_000,
                     help="tasks in the databases (default: 1000000)")
    one.set_defaults(run=bring)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
