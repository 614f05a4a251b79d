"""Clients work on a cluster while a nemesis breaks it; afterwards their history is checked.

    unshare -Urnm --propagation private python3 nemesis.py --seconds 600 --seed 7

What must hold, whatever happens: no acknowledged task is lost, none that is settled or cancelled is
handed out again to a request that began later, none goes out as it was before an acknowledged change, no
project gets more than its burst and rate allow, every nominal time of a job fires once or its history tells what
became of it, copies at the same position are the same. The choices of clients and nemesis
follow from the seed; what they meet does not.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from datetime import datetime
from pathlib import Path

from cluster_harness import Cluster, ClusterNode
from harness import Client, LycosaError, MESSAGES, Unreachable, status_pack, task, until

UNSURE = (LycosaError, Unreachable, OSError, ValueError)
FAST, SLOW, OFF = "fast", "slow", "off"
RATE, BURST = 20, 5


class History:
    """What clients were told. Times are of one clock: all clients are threads of this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.acknowledged: set[str] = set()
        self.settled: dict[str, float] = {}
        self.deliveries: list[tuple[float, float, str]] = []  # asked, got, project
        self.cancelled: dict[str, float] = {}
        self.versions: dict[str, tuple[int, float]] = {}  # the newest acknowledged, when
        self.violations: list[str] = []
        self.unsure = 0
        self.delivered = 0

    def violated(self, what: str) -> None:
        with self.lock:
            self.violations.append(what)

    def submitted(self, names: list[str]) -> None:
        with self.lock:
            self.acknowledged.update(names)

    def handed_out(self, asked: float, got: float, project: str, tasks: list[dict]) -> None:
        with self.lock:
            self.delivered += len(tasks)
            for t in tasks:
                name = t["taskid"]
                version, since = self.versions.get(name, (0, got))
                if since < asked and t.get("fetch", {}).get("version", 0) < version:
                    self.violations.append(f"{name} was handed out as it was before version "
                                           f"{version}")
                if self.cancelled.get(name, got) < asked:
                    self.violations.append(f"{name} was cancelled and was handed out")
                if "-changing-" in name:
                    continue
                if name in self.settled and self.settled[name] < asked:
                    self.violations.append(f"{name} was settled and was handed out again")
                if project == SLOW:
                    self.deliveries.append((asked, got, project))

    def reported(self, names: list[str]) -> None:
        now = time.monotonic()
        with self.lock:
            for name in names:
                self.settled.setdefault(name, now)

    def cancel(self, names: list[str]) -> None:
        now = time.monotonic()
        with self.lock:
            for name in names:
                self.cancelled.setdefault(name, now)

    def renewed(self, name: str, version: int) -> None:
        with self.lock:
            self.versions[name] = (version, time.monotonic())

    def check_rate(self) -> None:
        """In no span more than the burst and what the rate gives: with f(k) = k - rate * t(k), the
        difference between a later one's and an earlier one's is at most the burst."""
        ordered = sorted(self.deliveries)
        least = None
        for k, (asked, got, _) in enumerate(ordered):
            before = k - RATE * asked  # its span begins no earlier than it was asked for
            least = before if least is None else min(least, before)
            if k + 1 - RATE * got - least > BURST + 1:
                self.violations.append(f"{k + 1 - RATE * got - least:.1f} tasks of a burst of "
                                       f"{BURST} went out")
                return


class Work:
    """Threads of clients, each with randomness of its own."""

    def __init__(self, cluster: Cluster, history: History, seed: int):
        self.cluster = cluster
        self.history = history
        self.over = threading.Event()
        self.submitting = threading.Event()
        self.submitting.set()
        kinds = [self.submit] * 2 + [self.cancel, self.renew] + [lambda r: self.consume(r, FAST)] * 2 + \
                [lambda r: self.consume(r, SLOW), lambda r: self.consume(r, OFF)]
        self.threads = [threading.Thread(target=self.repeat, daemon=True,
                                         args=(kind, random.Random(f"{seed}/{i}"), i))
                        for i, kind in enumerate(kinds)]
        self.counts = Counter()
        self.names = Counter()

    def start(self) -> None:
        for t in self.threads:
            t.start()

    def stop(self) -> None:
        self.over.set()
        for t in self.threads:
            t.join(30)

    def repeat(self, what, rng: random.Random, number: int) -> None:
        clients = {n.name: Client(f"http://{n.address}", timeout=5) for n in self.cluster.nodes}
        while not self.over.is_set():
            try:
                what((rng, clients[rng.choice(list(clients))], number))
            except UNSURE:
                with self.history.lock:
                    self.history.unsure += 1
                self.over.wait(0.05)

    def submit(self, context) -> None:
        rng, client, number = context
        if not self.submitting.is_set():
            self.over.wait(0.2)
            return
        project = SLOW if rng.random() < 0.1 else FAST
        first = self.counts[number]
        size = rng.randint(1, 4 if project == SLOW else 40)
        self.counts[number] += size
        names = [f"{project}-{number}-{first + i}" for i in range(size)]
        answer = client.submit([task(project, n) for n in names])
        if answer["new"] + answer["ignored"] == size and not answer.get("failure"):
            self.history.submitted(names)
        self.over.wait(rng.random() * 0.1)

    def cancel(self, context) -> None:
        """Tasks that are due in an hour, and are called off before that; some right before."""
        rng, client, number = context
        if not self.submitting.is_set():
            self.over.wait(0.2)
            return
        first = self.counts[number]
        size = rng.randint(1, 5)
        self.counts[number] += size
        names = [f"{OFF}-{first + i}" for i in range(size)]
        later = {"exetime": time.time() + 3600} if rng.random() < 0.5 else {}
        client.submit([task(OFF, n, **later) for n in names])
        answer = client.submit([task(OFF, n, cancel=True) for n in names])
        if answer["cancelled"] == size and not answer.get("failure"):
            self.history.cancel(names)
        self.over.wait(rng.random() * 0.3)

    def renew(self, context) -> None:
        """A task that changes again and again: only this thread does that to it."""
        rng, client, number = context
        if not self.submitting.is_set():
            self.over.wait(0.2)
            return
        kind = rng.randint(0, 4)
        name = f"{FAST}-changing-{kind}-{self.names[kind]}"
        self.counts[number] += 1
        version = self.counts[number]
        try:
            answer = client.submit([task(FAST, name, force_update=True,
                                         fetch={"version": version})])
        except UNSURE:
            self.names[kind] += 1  # that change may still come, at any time
            raise
        if answer["new"] + answer["restarted"] == 1 and not answer.get("failure"):
            self.history.renewed(name, version)
        self.over.wait(rng.random() * 0.3)

    def consume(self, context, project: str) -> None:
        rng, client, _ = context
        asked = time.monotonic()
        tasks = client.lease(rng.randint(1, 50), 1, [project])
        got = time.monotonic()
        tasks = [t for t in tasks if t["taskid"] not in MESSAGES]
        if not tasks:
            return
        self.history.handed_out(asked, got, project, tasks)
        if rng.random() < 0.02:
            return  # this consumer is lost with what it has; its leases run out
        answer = client.report([status_pack(t, True) for t in tasks])
        refused = {r.get("taskid") for r in answer["rejected"]}
        self.history.reported([t["taskid"] for t in tasks if t["taskid"] not in refused])


class Nemesis:
    def __init__(self, cluster: Cluster, seed: int):
        self.cluster = cluster
        self.rng = random.Random(f"{seed}/nemesis")
        self.done: Counter[str] = Counter()

    def strike(self, over: threading.Event) -> None:
        kinds = [self.kill, self.kill, self.stop, self.unplug, self.cut, self.etcd, self.move]
        kind = self.rng.choice(kinds)
        self.done[kind.__name__] += 1
        node = self.rng.choice(self.cluster.nodes)
        if self.rng.random() < 0.6:  # the one that matters
            name = next((s.get("active") for n in self.cluster.nodes if (s := n.state())), None)
            node = next((n for n in self.cluster.nodes if n.name == name), node)
        kind(node, over)
        over.wait(self.rng.uniform(0.5, 4))

    def kill(self, node: ClusterNode, over: threading.Event) -> None:
        node.kill()
        over.wait(self.rng.uniform(0, 5))
        self.begin(node)

    @staticmethod
    def begin(node: ClusterNode) -> None:
        node.await_ready = False
        node.start()

    def stop(self, node: ClusterNode, over: threading.Event) -> None:
        node.signal(signal.SIGSTOP)
        over.wait(self.rng.uniform(0.2, 6))
        node.signal(signal.SIGCONT)

    def unplug(self, node: ClusterNode, over: threading.Event) -> None:
        self.cluster.network.unplug(node.number)
        over.wait(self.rng.uniform(0.2, 6))
        self.cluster.network.plug_in(node.number)

    def cut(self, node: ClusterNode, over: threading.Event) -> None:
        other = self.rng.choice([h for h in range(1, self.cluster.network.hosts + 1)
                                 if h != node.number])
        a, b = (node.number, other) if self.rng.random() < 0.5 else (other, node.number)
        self.cluster.network.cut(a, b)
        over.wait(self.rng.uniform(0.2, 6))
        self.cluster.network.mend(a, b)

    def etcd(self, _: ClusterNode, over: threading.Event) -> None:
        self.cluster.etcd.kill()
        over.wait(self.rng.uniform(0, 4))
        self.cluster.etcd.start()

    def move(self, node: ClusterNode, _: threading.Event) -> None:
        target = self.rng.choice(self.cluster.nodes)
        try:
            node.client.call("POST", "/v1/cluster/move", {"node": target.name})
        except UNSURE:
            pass


def unaccounted(client: Client, nominal: Counter) -> list[str]:
    """Times of the job that neither ran nor have a record of why they did not."""
    known: set[int] = {int(datetime.fromisoformat(n).timestamp()) for n in nominal}
    before: dict[str, int] = {}
    while True:
        query = "".join(f"&before={b}" for b in before.values())
        page = client.call("GET", f"/v1/jobs/tick/runs?limit=1000{query}")
        for r in page["runs"]:
            known.update(range(int(r["nominal"]), int(r.get("last", r["nominal"])) + 1))
        if not page["next"]:
            break
        before = {"before": page["next"]}
    return [f"the job's time {t} neither ran nor is accounted for"
            for t in range(min(known), max(known) + 1) if t not in known]


def check(seconds: float, seed: int, groups: int = 1, say=print) -> list[str]:
    """Runs it all; returns what was violated."""
    fires = Path(tempfile.mkdtemp(prefix="lycosa-nemesis-")) / "fires"
    fires.touch()
    history = History()
    cluster = Cluster(3, 'scheduler.processing_timeout="8s"', *([f"cluster.groups={groups}"] if groups > 1 else []),
                      "jobs.history_count=100000")
    try:
        cluster.start()
        first = cluster.active()
        first.client.put_project(FAST, status="RUNNING", rate=1e6, burst=1e6)
        first.client.put_project(SLOW, status="RUNNING", rate=RATE, burst=BURST)
        first.client.put_project(OFF, status="RUNNING", rate=1e6, burst=1e6)
        first.client.call("POST", "/v1/jobs", {
            "id": "tick", "trigger": {"type": "interval", "seconds": 1},
            "action": {"type": "command",
                       "shell": f'echo "$LYCOSA_NOMINAL_TIME" >> {fires}'}})
        work, nemesis = Work(cluster, history, seed), Nemesis(cluster, seed)
        work.start()
        end = time.monotonic() + seconds
        never = threading.Event()
        while time.monotonic() < end:
            nemesis.strike(never)
        cluster.network.heal()
        for n in cluster.nodes:
            if not n.alive():
                Nemesis.begin(n)
            n.signal(signal.SIGCONT)
        cluster.await_in_sync(3, within=120)
        work.submitting.clear()

        def all_settled() -> bool:
            with history.lock:
                if history.acknowledged <= history.settled.keys():
                    return True
            try:  # the answers to some reports were lost
                sizes = cluster.nodes[0].client.sizes()["projects"]
            except UNSURE:
                return False
            return all(sum(sizes[p].values()) == 0 for p in (FAST, SLOW))
        try:
            until(all_settled, "every acknowledged task to be settled",
                  within=60 + 3 * len(history.deliveries) / RATE)
        except AssertionError:
            pass  # perhaps the answer to a report was lost: the cluster knows
        work.stop()
        node = cluster.active()
        for name in sorted(history.acknowledged - history.settled.keys()):
            try:
                status = node.client.task(name.split("-")[0], name)["status"]
            except LycosaError as e:
                status = str(e)
            if status != 2:
                history.violated(f"{name} was acknowledged, is not settled: {status}")
        history.check_rate()
        nominal = Counter(fires.read_text().split())
        for when, times in nominal.items():
            if times > 1:
                history.violated(f"the job fired {times} times for {when}")
        for missing in unaccounted(node.client, nominal):
            history.violated(missing)
        for name in sorted(history.cancelled):
            if (status := node.client.task(OFF, name)["status"]) == 1:
                history.violated(f"{name} was cancelled and is {status}")
        for n in cluster.others(node):
            n.stop()
        node.stop()
        for difference in cluster.differences():
            history.violated(difference)
        say(f"seed {seed}: {len(history.acknowledged)} tasks acknowledged, {history.delivered} "
            f"handed out, {len(history.cancelled)} cancelled, {len(history.settled)} settled, {history.unsure} requests without a clear "
            f"answer, {len(nominal)} fires of the job; faults: {dict(nemesis.done)}")
        if history.violations:
            for n in cluster.nodes:
                for log in sorted(n.log.parent.glob("stderr.*")):
                    say(f"--- {n.name} {log.name}\n{log.read_text(errors='replace')[-6000:]}")
    finally:
        cluster.close()
    return history.violations


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--groups", type=int, default=1)
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    violations = check(options.seconds, options.seed, options.groups)
    for v in violations[:20]:
        print("VIOLATED:", v)
    print(f"{len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
