"""Queues that are longer than what their project keeps in memory."""

import time
import unittest

from harness import NodeTest, lycosa, status_pack, task, until


class QueueWindow(NodeTest):
    def drain(self, p, batch=100):
        names = []
        while True:
            leased = self.client.lease(batch, 0.2, [p])
            if not leased:
                return names
            names += [t["taskid"] for t in leased]
            self.client.report([status_pack(t, True) for t in leased])

    def test_what_is_past_the_window_is_on_disk_and_comes_in_order_also_after_a_kill(self):
        p = self.project(queue_window=100)
        for start in range(0, 3000, 500):
            self.client.submit([task(p, f"t{n:04}", priority=n % 3)
                                for n in range(start, start + 500)])
        shown = self.client.project(p)
        self.assertEqual(shown["size"], 3000)
        self.assertLessEqual(shown["ready"], 200)
        self.assertEqual(shown["on_disk"], 3000 - shown["ready"])
        leased = self.client.lease(10, 1, [p])
        self.assertEqual([t["taskid"] for t in leased],
                         [f"t{n:04}" for n in range(2, 32, 3)])
        self.node.kill()
        self.node.start()
        # What was held before the kill is reported: the lease is of an older epoch, and good.
        self.assertEqual(self.client.report([status_pack(t, True) for t in leased])["done"], 10)
        names = self.drain(p)
        expected = [f"t{n:04}" for rest in (2, 1, 0) for n in range(rest, 3000, 3)]
        self.assertEqual(names, expected[10:])
        self.assertEqual(self.client.project(p)["on_disk"], 0)
        self.node.stop()
        checked = lycosa("check", "--data", str(self.node.data))
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.node.start()

    def test_it_can_be_set_and_taken_away_while_tasks_wait(self):
        p = self.project(rate=0, burst=0)
        self.client.submit([task(p, f"t{n:04}") for n in range(1000)])
        self.client.put_project(p, queue_window=10)
        until(lambda: self.client.project(p)["on_disk"] >= 900, "the rest to leave memory")
        shown = self.client.task(p, "t0999")
        self.assertEqual(shown["state"], "on_disk")
        self.client.put_project(p, queue_window=0)
        until(lambda: self.client.project(p)["on_disk"] == 0, "the queue to be in memory")
        self.assertEqual(self.client.project(p)["ready"], 1000)

    def test_a_delayed_task_on_disk_is_handed_out_when_it_is_due(self):
        p = self.project(queue_window=5)
        due = time.time() + 1
        self.client.submit([task(p, "soon", exetime=due)]
                           + [task(p, f"later{n}", exetime=due + 3600) for n in range(100)])
        self.node.restart()
        leased = self.client.lease(10, 30, [p])
        self.assertEqual([t["taskid"] for t in leased], ["soon"])
        self.assertGreaterEqual(time.time(), due)


if __name__ == "__main__":
    unittest.main()
