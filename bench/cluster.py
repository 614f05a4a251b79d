"""What a cluster costs and how fast it fails over: one machine, three nodes as network namespaces.

    unshare -Urnm --propagation private python3 bench/cluster.py [--tasks N]

Prints the rate of lifecycles of a single node and of three that keep copies of everything
(min_in_sync = 2), in turn, the bytes that go to each copy for a task, and the time from kill -9 of the
leading node to the first task that another hands out, with a queue of a given length.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "system"))

from cluster_harness import Cluster, Network  # noqa: E402
from harness import BINARY, LycosaError, Node, Unreachable, environment, task  # noqa: E402


def lifecycles(address: str, tasks: int) -> float:
    done = subprocess.run(
        [BINARY, "bench", "lifecycle", "--tasks", str(tasks), "--batch", "1000", "--connections",
         "8", "--server", f"http://{address}"], capture_output=True, text=True, env=environment())
    found = re.search(r"([\d,]+) tasks/s", done.stdout + done.stderr)
    if not found:
        raise SystemExit(done.stdout + done.stderr)
    return float(found.group(1).replace(",", ""))


def received(host: int) -> int:
    text = subprocess.run(["ip", "netns", "exec", f"h{host}", "cat", "/sys/class/net/eth0/statistics"
                           "/rx_bytes"], capture_output=True, text=True).stdout
    return int(text or 0)


def failover(cluster: Cluster) -> float:
    """Seconds from kill -9 of the leading node to a task from another."""
    active = cluster.active()
    others = cluster.others(active)
    begun = time.monotonic()
    active.kill()
    while True:
        for n in others:
            try:
                if n.client.lease(1, 0, ["queue"]):
                    return time.monotonic() - begun
            except (LycosaError, Unreachable, OSError):
                pass
        time.sleep(0.005)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=200_000)
    parser.add_argument("--queued", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    cluster = Cluster(3, 'cluster.session="3s"')
    try:
        cluster.start()
        active = cluster.active()
        follower = cluster.others(active)[0]
        single = Node('storage.shards=2')
        with single.start():
            for _ in range(options.rounds):
                print(f"single node: {lifecycles(single.address, options.tasks):,.0f} /s",
                      flush=True)
                before = received(follower.number)
                rate = lifecycles(active.address, options.tasks)
                sent = (received(follower.number) - before) / options.tasks
                print(f"three nodes: {rate:,.0f} /s, {sent:,.0f} B a task to a copy", flush=True)
        active.client.put_project("queue", status="RUNNING", rate=1e6, burst=1e6)
        for first in range(0, options.queued, 10_000):
            active.client.submit([task("queue", f"q{i}") for i in range(first, first + 10_000)])
        for _ in range(options.rounds):
            cluster.await_in_sync(3)
            gone = cluster.active()
            print(f"failover with {options.queued:,} queued: {failover(cluster):.2f} s", flush=True)
            gone.await_ready = False
            gone.start()
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
