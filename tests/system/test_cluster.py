"""Several nodes as one scheduler: joining, any node takes any request, failures of all kinds."""

from __future__ import annotations

import signal
import threading
import unittest

from cluster_harness import Cluster
from harness import LycosaError, Unreachable, ids, lycosa, status_pack, task, until


def submit(node, project: str, names: list[str]) -> None:
    """Until it is acknowledged: what is sent again is ignored."""
    def sent() -> bool:
        try:
            answer = node.client.submit([task(project, n) for n in names])
        except (LycosaError, Unreachable, OSError):
            return False
        return answer["new"] + answer.get("ignored", 0) == len(names)
    until(sent, f"{len(names)} tasks to be taken")


def lease_all(node, project: str, count: int) -> list[dict]:
    got: list[dict] = []

    def more() -> bool:
        try:
            tasks = node.client.lease(1000, 0.2, [project])
        except (LycosaError, Unreachable, OSError):
            return False
        got.extend(t for t in tasks if t["taskid"] not in ("on_start", "_on_get_info"))
        return len(got) >= count
    until(more, f"{count} tasks to be handed out")
    return got


def report(node, tasks: list[dict]) -> None:
    def taken() -> bool:
        try:
            node.client.report([status_pack(t, True) for t in tasks])
        except (LycosaError, Unreachable, OSError):
            return False
        return True
    until(taken, "reports to be taken")


class ClusterTest(unittest.TestCase):
    cluster: Cluster

    @classmethod
    def setUpClass(cls) -> None:
        cls.cluster = Cluster(3)
        try:
            cls.cluster.start()
        except BaseException:
            for n in cls.cluster.nodes:
                print(n.name, n.errors() if n.log.exists() else "")
            cls.cluster.close()
            raise

    @classmethod
    def tearDownClass(cls) -> None:
        cls.cluster.close()

    def setUp(self) -> None:
        self.cluster.active()
        self.cluster.await_in_sync(3)

    def project(self, name: str, **fields) -> str:
        fields = {"status": "RUNNING", "rate": 1e6, "burst": 1e6, **fields}

        def made() -> bool:
            try:
                self.cluster.nodes[0].client.put_project(name, **fields)
            except (LycosaError, Unreachable, OSError):
                return False
            return True
        until(made, "a project")
        return name

    def until_listed(self, node, project: str, names: set[str]) -> None:
        def listed() -> bool:
            try:
                return {t["taskid"] for t in node.client.tasks(project)} == names
            except (LycosaError, Unreachable, OSError):
                return False
        until(listed, f"{node.name} to list {names}")

    def settled(self, node, project: str) -> int:
        try:
            return node.client.project(project)["counters"]["success"]
        except (LycosaError, Unreachable, OSError, KeyError):
            return -1

    def test_any_node_takes_any_request(self) -> None:
        p = self.project("any")
        names = [f"t{i}" for i in range(30)]
        for node, part in zip(self.cluster.nodes, (names[:10], names[10:20], names[20:])):
            submit(node, p, part)
        tasks = []
        for node in self.cluster.nodes:
            tasks += node.client.lease(10, 5, [p])
        self.assertEqual(sorted(ids(tasks)), sorted(names))
        report(self.cluster.nodes[2], tasks)
        for node in self.cluster.nodes:
            until(lambda: self.settled(node, p) == 30, "the same counts everywhere")

    def test_a_lease_waits_at_any_node_for_what_another_takes(self) -> None:
        p = self.project("waits")
        active = self.cluster.active()
        first, second = self.cluster.others(active)
        got: list[dict] = []
        waiter = threading.Thread(target=lambda: got.extend(first.client.lease(1, 20, [p])))
        waiter.start()
        submit(second, p, ["late"])
        waiter.join(30)
        self.assertEqual(ids(got), ["late"])
        report(first, got)

    def test_nothing_acknowledged_is_lost_when_the_active_node_is_killed(self) -> None:
        p = self.project("killed")
        active = self.cluster.active()
        names = [f"k{i}" for i in range(200)]
        submit(active, p, names[:100])
        done = lease_all(active, p, 100)[:50]
        report(active, done)
        submit(self.cluster.others(active)[0], p, names[100:])
        active.kill()
        second = self.cluster.await_active_other_than(active)
        until(lambda: self.settled(second, p) == 50, "the reports")
        rest = {}

        def drained() -> bool:
            try:
                tasks = second.client.lease(1000, 0.2, [p])
                for t in tasks:
                    self.assertNotIn(t["taskid"], ids(done), "settled, and handed out again")
                    rest[t["taskid"]] = t
                if tasks:
                    second.client.report([status_pack(t, True) for t in tasks])
            except (LycosaError, Unreachable, OSError):
                pass
            return len(rest) == 150
        until(drained, "what was not settled to be handed out again")
        until(lambda: self.settled(second, p) == 200, "all to be settled")
        active.start()
        self.cluster.await_in_sync(3)

    def test_a_stopped_process_that_goes_on_acknowledges_nothing(self) -> None:
        p = self.project("stopped")
        active = self.cluster.active()
        submit(active, p, ["before"])
        active.signal(signal.SIGSTOP)
        second = self.cluster.await_active_other_than(active)
        submit(second, p, ["meanwhile"])
        active.signal(signal.SIGCONT)
        # Whatever it says, it is not from what it remembers: it passes on, or says 503.
        self.until_listed(active, p, {"before", "meanwhile"})
        self.cluster.await_in_sync(3)

    def test_a_partitioned_leader_is_replaced_and_comes_back_as_a_follower(self) -> None:
        p = self.project("cut")
        active = self.cluster.active()
        submit(active, p, ["a"])
        self.cluster.network.unplug(active.number)
        second = self.cluster.await_active_other_than(active)
        submit(second, p, ["b"])
        self.cluster.network.plug_in(active.number)
        self.cluster.await_in_sync(3)
        self.until_listed(second, p, {"a", "b"})

    def test_etcd_may_be_away_for_less_than_a_session_and_come_back(self) -> None:
        p = self.project("etcd")
        active = self.cluster.active()
        self.cluster.etcd.kill()
        submit(active, p, ["while it is away"])
        self.cluster.etcd.start()
        until(lambda: self.cluster.active(), "a leader again")
        submit(self.cluster.nodes[1], p, ["afterwards"])

    def test_a_follower_that_is_gone_holds_nobody_up(self) -> None:
        p = self.project("follower")
        active = self.cluster.active()
        follower = self.cluster.others(active)[0]
        follower.kill()
        submit(active, p, [f"f{i}" for i in range(100)])
        follower.start()
        self.cluster.await_in_sync(3)

    def test_the_leader_moves_where_it_is_wished(self) -> None:
        p = self.project("moved")
        active = self.cluster.active()
        submit(active, p, ["m"])
        target = self.cluster.others(active)[1]
        out = lycosa("cluster", "move", target.name, server=active.url)
        self.assertEqual(out.returncode, 0, out.stderr)
        until(lambda: target.state().get("active") == target.name and target.client.ready(),
              "the leadership to move")
        self.until_listed(target, p, {"m"})
        out = lycosa("cluster", "status", server=active.url)
        self.assertIn(target.name, out.stdout)

    def test_copies_are_the_same_and_a_node_stops_also_while_too_few_are_there(self) -> None:
        p = self.project("same")
        active = self.cluster.active()
        submit(active, p, [f"s{i}" for i in range(50)])
        until(lambda: all(s["min_in_sync"] == 2 for s in active.state()["shards"]), "two needed")
        others = self.cluster.others(active)
        for n in others:
            self.assertEqual(n.stop(), 0)
        with self.assertRaises((LycosaError, Unreachable, OSError)):
            active.client.submit([task(p, "too few")])
        self.assertEqual(active.stop(), 0)
        for n in (active, *others):
            n.await_ready = False  # one alone is too few
            n.start()
            n.await_ready = True
        self.cluster.await_in_sync(3)
        submit(self.cluster.active(), p, ["last"])
        self.cluster.await_in_sync(3)
        for n in self.cluster.others(self.cluster.active()):
            self.assertEqual(n.stop(), 0)
        self.assertEqual(self.cluster.differences(), [])
        for n in self.cluster.nodes:
            if not n.alive():
                n.start()

    def test_a_drained_node_gives_its_place_up(self) -> None:
        active = self.cluster.active()
        out = lycosa("cluster", "drain", active.name, server=active.url)
        self.assertEqual(out.returncode, 0, out.stderr)
        second = self.cluster.await_active_other_than(active)
        self.assertEqual(lycosa("cluster", "drain", active.name, "--off",
                                server=second.url).returncode, 0)
        self.cluster.await_in_sync(3)


if __name__ == "__main__":
    unittest.main()
