#!/usr/bin/python3
"""Lycosa and other queues and schedulers, one after the other on one machine, in one run.

    bench/peers/run.py [--small] [--peers a,b] [--repeat 3] [--others CORES] [--install]
                       [--lycosa PATH] [--json FILE] [--markdown FILE] [--svg FILE] [--data FOLDER]

Round 1 runs every row once, round 2 again, and so on: a slow minute of the machine hits all alike.
What is compared with what, and what is not comparable: README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import apscheduler_peer  # noqa: E402
import beanstalkd_peer  # noqa: E402
import bullmq_peer  # noqa: E402
import chart  # noqa: E402
import lycosa_peer  # noqa: E402
import machine  # noqa: E402
import pyspider_peer  # noqa: E402
import report  # noqa: E402
from rows import Missing, Run, Workload  # noqa: E402

PEERS = {"lycosa": lycosa_peer, "beanstalkd": beanstalkd_peer, "bullmq": bullmq_peer,
         "apscheduler": apscheduler_peer, "pyspider": pyspider_peer}


def install(names: list[str], folder: str) -> None:
    """Debian's packages by apt-get, BullMQ by npm into a folder."""
    wanted = dict.fromkeys(p for name in names for p in getattr(PEERS[name], "APT", []))
    have = subprocess.run(["dpkg-query", "-W", "-f=${Package} ${db:Status-Status}\n", *wanted],
                          capture_output=True, text=True, check=False).stdout.splitlines()
    # A program that came another way will do.
    programs = {"nodejs": "node", "npm": "npm"}
    missing = [p for p in wanted
               if f"{p} installed" not in have and not shutil.which(programs.get(p, "/"))]
    if missing:
        as_root = [] if os.geteuid() == 0 else ["sudo"]
        get = [*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
        print(f"installing: {' '.join(missing)}", file=sys.stderr)
        subprocess.run([*get, "install", "-y", "-q", "--no-install-recommends", *missing],
                       check=True, stdout=subprocess.DEVNULL)
    if "bullmq" in names and not bullmq_peer.home:
        bullmq_peer.home = os.path.join(folder, "npm")
        os.mkdir(bullmq_peer.home)
        print(f"installing by npm: {' '.join(bullmq_peer.NPM)}", file=sys.stderr)
        bullmq_peer.install(bullmq_peer.home)


def check(names: list[str]) -> dict[str, str]:
    """The versions of the peers; ends the program with all that is missing."""
    versions, missing = {}, []
    for name in names:
        try:
            versions[name] = PEERS[name].check()
        except Missing as what:
            missing.append(f"{name}: {what}")
    if missing:
        sys.exit("\n".join(missing))
    return versions


def one_run(load: Workload, scratch: str) -> Run:
    folder = tempfile.mkdtemp(dir=scratch)
    begun, busy, own = time.monotonic(), machine.busy(), sum(os.times()[:4])
    try:
        run = load.go(load, folder)
        # Client and server have been waited for, so that their times are in this process's.
        others = machine.busy() - busy - (sum(os.times()[:4]) - own)
        run.others = max(0.0, others / (time.monotonic() - begun))
        return run
    finally:
        shutil.rmtree(folder)
        os.sync()  # what it left to write back is not the next one's burden


def quiet_run(load: Workload, scratch: str, others: float) -> Run | None:
    """A run during which others took no more cores than that; None when none of five was.

    It is judged by others' processor time alone, never by its own figure.
    """
    for _ in range(5):
        machine.wait_until_idle(min(others, 0.1))
        run = one_run(load, scratch)
        if run.others <= others:
            return run
        print(f"void, others took {run.others:.2f} cores: {load.name}, {load.shape}",
              file=sys.stderr, flush=True)
    return None


def rounds(loads: list[Workload], scratch: str,
           given: argparse.Namespace) -> list[tuple[Workload, list[Run]]]:
    """All runs; after an interrupt (Ctrl-C) those that were done."""
    results: list[tuple[Workload, list[Run]]] = [(load, []) for load in loads]
    try:
        for number in range(given.repeat):
            for load, runs in results:
                run = (quiet_run(load, scratch, given.others) if given.others
                       else one_run(load, scratch))
                if run is not None:
                    runs.append(run)
                    tell(number + 1, load, run)
    except KeyboardInterrupt:
        print("interrupted: what follows is of the runs that were done", file=sys.stderr)
    return results


def tell(number: int, load: Workload, run: Run) -> None:
    wrong = "" if run.exactly_once() else f" {run.lost} LOST, {run.twice} TWICE"
    print(f"round {number}: {load.name}, {load.shape}: {run.rate:,.0f} tasks/s "
          f"({run.seconds:.1f} s), others {run.others:.2f} cores{wrong}", file=sys.stderr,
          flush=True)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true",
                        help="a twentieth of the tasks: to see that it works, not for figures")
    parser.add_argument("--peers", default=",".join(PEERS),
                        help="some of " + ",".join(PEERS) + " (default: all)")
    parser.add_argument("--repeat", type=int, default=3, help="rounds (default: 3)")
    parser.add_argument("--install", action="store_true",
                        help="install what is missing: apt-get, and npm into a temporary folder")
    parser.add_argument("--lycosa", metavar="PATH",
                        help="the binary (default: build/release/lycosa)")
    parser.add_argument("--data", metavar="FOLDER", default=tempfile.gettempdir(),
                        help="where data directories are made (default: the temporary folder)")
    parser.add_argument("--others", metavar="CORES", type=float, default=0.0,
                        help="repeat a run during which other processes took more than this many "
                             "cores, such as 0.1 (default: only tell)")
    parser.add_argument("--json", metavar="FILE", help="all figures, for programs")
    parser.add_argument("--markdown", metavar="FILE", help="the table, as it is also printed")
    parser.add_argument("--svg", metavar="FILE", help="the medians as bars")
    given = parser.parse_args()
    given.names = given.peers.split(",")
    unknown = [name for name in given.names if name not in PEERS]
    if unknown or given.repeat < 1:
        parser.error(f"no such peer: {','.join(unknown)}" if unknown else "--repeat: at least 1")
    return given


def main() -> None:
    given = options()
    if given.lycosa:
        lycosa_peer.BINARY = os.path.abspath(given.lycosa)
    with tempfile.TemporaryDirectory(prefix="lycosa-peers-", dir=given.data) as scratch:
        if given.install:
            install(given.names, scratch)
        versions = check(given.names)
        loads = [load for name in given.names for load in PEERS[name].workloads()]
        if given.small:
            for load in loads:
                load.tasks = max(100, load.tasks // 20)
        if given.others:
            machine.wait_until_idle(min(given.others, 0.1))
        state = machine.state(scratch, given.small)
        if state["filesystem"] == "tmpfs":
            print("warning: data is on tmpfs, where a sync costs nothing; see --data",
                  file=sys.stderr)
        if state["load_before"][0] > 0.5 * state["cores"]:
            print(f"warning: load average {state['load_before'][0]} before the run: others are at "
                  "work here", file=sys.stderr)
        results = rounds(loads, scratch, given)
    rows = report.build(results)
    command = "bench/peers/run.py" + (" --small" if given.small else "") + (
        f" --repeat {given.repeat}") + (f" --others {given.others:g}" if given.others else "")
    text = report.markdown(state, versions, rows, command)
    print(text)
    if given.markdown:
        write(given.markdown, text)
    if given.json:
        write(given.json, json.dumps({"machine": state, "versions": versions, "rows": rows},
                                     indent=1) + "\n")
    if given.svg:
        write(given.svg, chart.svg(rows))
    if any(one["void"] for one in rows):
        sys.exit("a task was lost or delivered twice: see above")


def write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
