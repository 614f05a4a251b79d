"""What a node knows after it was stopped or killed."""

import json
import time
import unittest
import urllib.request

from harness import (ACTIVE, SUCCESS, Node, NodeTest, ids, status_pack, task, until)


class Restart(NodeTest):
    """Each test restarts the class's node by kill -9."""

    def test_queued_tasks_keep_their_order(self):
        p = self.project()
        self.client.submit([task(p, f"t{n:02}", priority=n % 3) for n in range(30)])
        expected = [f"t{n:02}" for prio in (2, 1, 0) for n in range(30) if n % 3 == prio]
        self.node.restart()
        self.assertEqual(ids(self.drain(p, 30)), expected)

    def test_settled_tasks_stay_settled(self):
        p = self.project()
        self.client.submit([task(p, "a"), task(p, "b", retries=0)])
        leased = {t["taskid"]: t for t in self.drain(p, 2)}
        self.finish(leased["a"])
        self.finish(leased["b"], ok=False)
        before = self.client.task(p, "a")
        self.node.restart()
        self.assertEqual(self.client.task(p, "a"), before)
        self.assertEqual([self.status(p, "a"), self.status(p, "b")], [2, 3])
        self.assertEqual(self.lease(p), [])
        self.assertEqual(self.client.size(p), 0)
        self.assertEqual(self.client.submit(task(p, "a"))["ignored"], 1)

    def test_a_task_in_work_is_ready_again(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        first = self.lease_one(p)
        self.node.restart()
        second = self.lease_one(p)
        self.assertIn("stale lease", self.finish(first)["rejected"][0]["error"])
        self.assertEqual(self.finish(second)["done"], 1)
        self.assertEqual(self.status(p, "a"), SUCCESS)

    def test_the_report_of_a_lease_from_before_counts_while_nobody_else_has_the_task(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        leased = self.lease_one(p)
        self.node.restart()
        self.assertEqual(self.finish(leased)["done"], 1)
        self.assertEqual(self.client.size(p), 0)
        self.assertEqual(self.lease(p), [])
        self.assertEqual(self.status(p, "a"), SUCCESS)

    def test_delayed_tasks_and_retries_keep_their_time(self):
        p = self.project(retry_delay={"": 3600})
        self.client.submit([task(p, "later", exetime=time.time() + 3600), task(p, "failing")])
        self.finish(self.lease_one(p), ok=False)
        self.node.restart()
        until(lambda: self.client.project(p)["delayed"] == 2, "both to be delayed")
        self.assertEqual(self.lease(p), [])
        self.assertEqual(self.client.task(p, "failing")["schedule"]["retried"], 1)

    def test_a_postponed_task_stays_postponed(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        self.client.submit(task(p, "a", exetime=time.time() + 3600, force_update=True))
        self.node.restart()
        until(lambda: self.client.size(p) == 1, "the queue")
        self.assertEqual(self.lease(p), [])

    def test_cancelled_tasks_do_not_come_back(self):
        p = self.project()
        self.client.submit([task(p, "a"), task(p, "b")])
        self.client.submit(task(p, "a", cancel=True))
        self.node.restart()
        self.assertEqual(ids(self.drain(p, 1)), ["b"])
        self.assertEqual(self.lease(p), [])

    def test_projects_keep_their_fields(self):
        p = self.project(rate=3, burst=4, group="g", comments="c", script="s", queue_limit=9,
                         retry_delay={"0": 1, "": 2})
        before = self.client.project(p)
        self.node.restart()
        after = self.client.project(p)
        for field in ("status", "rate", "burst", "group", "comments", "script", "queue_limit",
                      "retry_delay"):
            self.assertEqual(after[field], before[field], field)

    def test_results_are_kept(self):
        p = self.project()
        self.client.put_result(p, "a", {"title": "A"})
        before = self.client.result(p, "a")
        self.node.restart()
        self.assertEqual(self.client.result(p, "a"), before)

    def test_deleted_projects_stay_deleted(self):
        p = self.project()
        self.client.submit([task(p, f"t{n}") for n in range(100)])
        self.client.drop_project(p)
        self.node.restart()
        self.remake(p)
        self.assertEqual(list(self.client.tasks(p)), [])
        self.assertEqual(self.client.submit(task(p, "t0"))["new"], 1)

    def test_a_large_queue_is_there_again(self):
        p = self.project()
        for start in range(0, 50_000, 10_000):
            self.client.submit([task(p, f"t{n}") for n in range(start, start + 10_000)])
        self.node.restart()
        until(lambda: self.client.size(p) == 50_000, "the whole queue")
        self.assertEqual(ids(self.drain(p, 3)), ["t0", "t1", "t2"])


class Shutdown(unittest.TestCase):
    def test_an_orderly_stop_gives_leases_back(self):
        with Node() as node:
            node.client.put_project("p", status="RUNNING", rate=1000, burst=1000)
            node.client.submit([task("p", "a"), task("p", "b")])
            leased = node.client.lease(1, 10, ["p"])[0]
            node.client.report(status_pack(leased, True))
            self.assertEqual(len(node.client.lease(1, 10, ["p"])), 1)
            self.assertEqual(node.stop(), 0)
            node.start()
            self.assertEqual(node.client.task("p", "a")["status"], SUCCESS)
            self.assertEqual(node.client.task("p", "b")["status"], ACTIVE)
            self.assertEqual(ids(node.client.lease(1, 10, ["p"])), ["b"])


class Progress(unittest.TestCase):
    def test_readiness_tells_how_many_tasks_were_loaded(self):
        with Node() as node:
            node.client.put_project("p", status="RUNNING", rate=1e6, burst=1e6)
            node.client.submit([task("p", f"t{n}") for n in range(300)])
            node.client.report([status_pack(t, True) for t in node.client.lease(100, 0, ["p"])])
            node.restart()
            with urllib.request.urlopen(f"{node.url}/readyz", timeout=10) as answer:
                ready = json.load(answer)
            self.assertEqual((ready["tasks"], ready["tasks_loaded"]), (200, 200))
