"""kill -9 at random moments under load; then nothing acknowledged may be missing.

LYCOSA_CRASH_ROUNDS sets the rounds (20), LYCOSA_CRASH_SEED repeats a run's random choices.
"""

import collections
import os
import random
import subprocess
import threading
import unittest

from harness import (ACTIVE, BAD, FAILED, SUCCESS, LycosaError, Node, Unreachable, ids, lycosa,
                     status_pack, task, until)

ROUNDS = int(os.environ.get("LYCOSA_CRASH_ROUNDS", "20"))
SEED = int(os.environ.get("LYCOSA_CRASH_SEED", random.SystemRandom().randrange(1 << 32)))


class Load:
    """Clients that work against one project until the node goes away, and their notes.

    What was acknowledged is certain. What was under way when the node died may have happened or
    not; `unsure` says which states a task may then be in.
    """

    def __init__(self, node: Node, project: str, seed: int):
        self.client, self.project = node.client, project
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.accepted: set[str] = set()
        self.offered: set[str] = set()
        self.settled: dict[str, int] = {}
        self.unsure: dict[str, set[int]] = collections.defaultdict(set)
        self.leased: set[str] = set()
        self.faults: list[str] = []
        self.calls = 0
        self.stopped = False
        jobs = [self.submit, self.submit, self.crawl, self.crawl, self.crawl, self.cancel]
        self.threads = [
            threading.Thread(target=self._run, args=(job, n, random.Random(seed + n)))
            for n, job in enumerate(jobs)]

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def join(self) -> None:
        self.stopped = True
        for thread in self.threads:
            thread.join(60)
        if any(thread.is_alive() for thread in self.threads):
            self.faults.append("a client hangs although the node is dead")

    def _run(self, job, number: int, rng: random.Random) -> None:
        step = 0
        while not self.stopped:
            try:
                job(number, step, rng)
            except Unreachable:
                return
            except Exception as error:  # reported by the test, not lost in a thread
                self.faults.append(f"{job.__name__}: {error!r}")
                return
            step += 1
            with self.lock:
                self.calls += 1

    def submit(self, number: int, step: int, rng: random.Random) -> None:
        names = [f"{number}-{step}-{n}" for n in range(rng.choice((1, 10, 100)))]
        with self.lock:
            self.offered.update(names)
        # Without retries, a failed report settles a task, too.
        answer = self.client.submit([task(self.project, n, retries=0, priority=rng.randrange(3),
                                          fetch={"data": "x" * rng.randrange(400)})
                                     for n in names])
        with self.lock:
            if answer["new"] != len(names):
                self.faults.append(f"{len(names)} offered, answer {answer}")
            self.accepted.update(names)

    def crawl(self, _number: int, _step: int, rng: random.Random) -> None:
        leased = self.client.lease(rng.choice((1, 20, 100)), 0.2, [self.project])
        names = ids(leased)
        with self.lock:
            twice = self.leased.intersection(names)
            if twice:
                self.faults.append(f"leased twice in one life of the node: {sorted(twice)[:5]}")
            self.leased.update(names)
        kept = [t for t in leased if rng.random() > 0.05]  # some consumers never report
        outcome = {t["taskid"]: rng.random() < 0.8 for t in kept}
        if not kept:
            return
        with self.lock:
            for name, ok in outcome.items():
                self.unsure[name].add(SUCCESS if ok else FAILED)
        answer = self.client.report([status_pack(t, outcome[t["taskid"]]) for t in kept])
        rejected = {r["index"] for r in answer["rejected"]}
        with self.lock:
            for index, leased_task in enumerate(kept):
                name = leased_task["taskid"]
                if index not in rejected:
                    self.settled[name] = SUCCESS if outcome[name] else FAILED
                elif BAD not in self.unsure[name] and self.settled.get(name) != BAD:
                    self.faults.append(f"report of {name} rejected: {answer['rejected'][:1]}")

    def cancel(self, _number: int, _step: int, rng: random.Random) -> None:
        with self.lock:
            waiting = sorted(self.accepted - self.leased - set(self.settled))
        if not waiting:
            self.client.size()
            return
        name = rng.choice(waiting)
        with self.lock:
            self.unsure[name].add(BAD)
        answer = self.client.submit(task(self.project, name, cancel=True))
        with self.lock:
            if answer["cancelled"] and not name in self.leased:
                self.settled[name] = BAD


class Crash(unittest.TestCase):
    def setUp(self):
        print(f"\nLYCOSA_CRASH_SEED={SEED}", flush=True)
        self.random = random.Random(SEED)
        self.node = Node()
        self.addCleanup(self.node.close)
        self.node.start()

    def test_nothing_acknowledged_is_lost(self):
        final: dict[str, dict[str, int]] = {}
        total = 0
        for number in range(ROUNDS):
            project = f"round{number}"
            self.node.client.put_project(project, status="RUNNING", rate=1e6, burst=1e6)
            load = Load(self.node, project, self.random.randrange(1 << 32))
            load.start()
            target = self.random.randrange(3, 150)
            until(lambda: load.calls >= target or load.faults, f"{target} calls to be answered")
            # A part of a commit later or so, to hit any place between two of them.
            threading.Event().wait(self.random.random() * 0.03)
            self.node.kill()
            load.join()
            self.assertEqual(load.faults, [])

            self.assert_sound()
            if self.random.random() < 0.3:
                self.kill_while_starting()
            self.node.start()
            final[project] = self.judge(load)
            total += len(final[project])

        self.assertEqual(self.node.stop(), 0)
        self.assert_sound()
        self.node.start()
        for project, states in final.items():
            self.assertEqual(self.states(project), states)
        print(f"{ROUNDS} rounds, {total} tasks", flush=True)

    def judge(self, load: Load) -> dict[str, int]:
        """Compares the notes with what the node knows, crawls the rest, returns all states."""
        states = self.states(load.project)
        self.assertEqual(load.accepted - states.keys(), set(), "acknowledged, yet unknown")
        self.assertEqual(states.keys() - load.offered, set(), "never offered")
        for name, status in states.items():
            if name in load.settled:
                self.assertEqual(status, load.settled[name], f"{name} was settled")
            else:
                self.assertIn(status, {ACTIVE} | load.unsure[name], name)
        waiting = {name for name, status in states.items() if status == ACTIVE}
        until(lambda: self.node.client.size(load.project) == len(waiting),
              f"{len(waiting)} tasks in the queue of {load.project}")
        came: list[str] = []

        def crawl():
            leased = self.node.client.lease(1000, 1, [load.project])
            came.extend(ids(leased))
            if leased:
                answer = self.node.client.report([status_pack(t, True) for t in leased])
                self.assertEqual(answer["done"], len(leased))
            return len(came) >= len(waiting)
        until(crawl, "the rest to be crawled")
        self.assertEqual(sorted(came), sorted(waiting))
        self.assertEqual(self.node.client.size(load.project), 0)
        return {name: SUCCESS if name in waiting else status for name, status in states.items()}

    def states(self, project: str) -> dict[str, int]:
        return {t["taskid"]: t["status"] for t in self.node.client.tasks(project)}

    def assert_sound(self) -> None:
        checked = lycosa("check", "--data", str(self.node.data))
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def kill_while_starting(self) -> None:
        """Recovery itself may be cut short."""
        process = subprocess.Popen(self.node.command(), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            process.wait(self.random.random() * 0.2)
        except subprocess.TimeoutExpired:
            pass
        process.kill()
        process.wait()
