"""Settled tasks that a project does not keep."""

import time
import unittest

from harness import NodeTest, status_pack, task, until


class Retention(NodeTest):
    def settled(self, p):
        counters = self.client.project(p)["counters"]
        return counters["success"] + counters["failed"] + counters["bad"]

    def finish_all(self, p, names):
        self.client.submit([task(p, n) for n in names])
        left = len(names)
        while left:
            leased = self.client.lease(100, 1, [p])
            self.client.report([status_pack(t, True) for t in leased])
            left -= len(leased)

    def test_about_so_many_are_kept_and_those_are_the_newest(self):
        p = self.project(retain_count=100)
        self.finish_all(p, [f"t{n:04}" for n in range(1000)])
        until(lambda: self.settled(p) <= 120, "old tasks to go")
        self.assertGreaterEqual(self.settled(p), 100)
        listed = [t["taskid"] for t in self.client.tasks(p, status="success")]
        self.assertTrue(all(name >= "t0500" for name in listed), listed[:3])
        # What is forgotten is new when it comes again.
        self.assertEqual(self.client.submit(task(p, "t0000"))["new"], 1)
        self.assertEqual(self.client.submit(task(p, "t0999"))["ignored"], 1)

    def test_the_aged_go_and_what_waits_stays(self):
        p = self.project()
        self.finish_all(p, [f"t{n}" for n in range(20)])
        self.client.submit(task(p, "later", exetime=time.time() + 3600))
        self.client.put_project(p, retain_age=0.001)
        until(lambda: self.settled(p) == 0, "aged tasks to go")
        self.assertEqual(self.client.project(p)["counters"]["active"], 1)
        self.node.restart()
        self.assertEqual(self.client.project(p)["retain_age"], 0.001)
        self.assertEqual(self.settled(p), 0)


if __name__ == "__main__":
    unittest.main()
