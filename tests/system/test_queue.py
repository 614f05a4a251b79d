"""What goes out, and in which order."""

import threading
import time

from harness import NodeTest, ids, status_pack, task, until


class Order(NodeTest):
    def test_higher_priority_goes_first_and_equals_go_first_in_first_out(self):
        p = self.project()
        self.client.submit([task(p, f"t{n:03}", priority=n % 10) for n in range(100)])
        self.assertEqual(self.client.project(p)["ready"], 100)
        order = ids(self.drain(p, 100))
        self.assertEqual(order, [f"t{n:03}" for prio in range(9, -1, -1)
                                 for n in range(100) if n % 10 == prio])
        state = self.client.project(p)
        self.assertEqual([state[k] for k in ("size", "ready", "processing")], [100, 0, 100])

    def test_a_submitted_batch_keeps_its_order(self):
        p = self.project()
        names = [f"n{n}" for n in range(500)]
        self.client.submit([task(p, n) for n in names])
        self.assertEqual(ids(self.drain(p, 500)), names)

    def test_priorities_may_be_negative(self):
        p = self.project()
        self.client.submit([task(p, "low", priority=-5), task(p, "middle"),
                            task(p, "high", priority=5)])
        self.assertEqual(ids(self.drain(p, 3)), ["high", "middle", "low"])

    def test_delayed_tasks_come_by_time_and_not_before_it(self):
        p = self.project()
        now = time.time()
        due = {"a": now + 0.6, "b": now + 0.2, "c": now + 0.4}
        self.client.submit([task(p, k, exetime=v) for k, v in due.items()])
        order = []
        for _ in due:
            leased = self.lease_one(p)
            self.assertGreaterEqual(time.time(), due[leased["taskid"]])
            order.append(leased["taskid"])
        self.assertEqual(order, ["b", "c", "a"])

    def test_a_far_task_counts_but_does_not_go_out(self):
        p = self.project()
        self.client.submit([task(p, "far", exetime=time.time() + 3600), task(p, "now")])
        self.assertEqual(ids(self.lease(p)), ["now"])
        state = self.client.project(p)
        self.assertEqual([state[k] for k in ("size", "ready", "delayed", "processing")],
                         [2, 0, 1, 1])

    def test_putting_again_moves_a_queued_task_and_keeps_the_size(self):
        p = self.project()
        later = time.time() + 3600
        self.client.submit([task(p, "a3", exetime=later), task(p, "a4", priority=3, exetime=later),
                            task(p, "a2"), task(p, "a1", priority=1)])
        self.assertEqual(self.client.size(p), 4)
        again = self.client.submit([task(p, "a2", priority=4, force_update=True),
                                    task(p, "a3", priority=2, exetime=0, force_update=True)])
        self.assertEqual(again["restarted"], 2)
        self.assertEqual(self.client.size(p), 4)
        self.assertEqual(ids(self.drain(p, 3)), ["a2", "a3", "a1"])
        self.assertEqual(self.client.size(p), 4)
        self.assertEqual(self.lease(p), [])

    def test_putting_again_can_postpone(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        self.client.submit(task(p, "a", exetime=time.time() + 3600, force_update=True))
        self.assertEqual(self.lease(p), [])
        self.assertEqual(self.client.project(p)["delayed"], 1)

    def test_reports_take_tasks_out_one_by_one(self):
        p = self.project()
        self.client.submit([task(p, f"t{n}") for n in range(4)])
        leased = self.drain(p, 4)
        self.assertEqual(self.client.report([status_pack(t, True) for t in leased[:2]])["done"], 2)
        self.assertEqual(self.client.size(p), 2)
        self.assertEqual(self.client.report([status_pack(t, True) for t in leased[2:]])["done"], 2)
        self.assertEqual(self.client.size(p), 0)

    def test_a_waiting_lease_is_woken_by_a_submit(self):
        p = self.project()
        got = []
        waiter = threading.Thread(target=lambda: got.extend(self.client.lease(10, 20, [p])))
        waiter.start()
        self.client.submit(task(p, "late"))
        waiter.join(30)
        self.assertEqual(ids(got), ["late"])


class TimeOut(NodeTest):
    settings = ("scheduler.processing_timeout=1",)

    def test_tasks_nobody_reports_come_again(self):
        p = self.project()
        names = ["a", "b", "c", "d"]
        self.client.submit([task(p, n) for n in names])
        self.assertEqual(sorted(ids(self.drain(p, 4))), names)
        self.assertEqual(self.client.size(p), 4)
        self.assertEqual(sorted(ids(self.drain(p, 4))), names)
        self.assertEqual(self.client.size(p), 4)

    def test_a_late_report_counts_while_nobody_else_has_the_task(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        leased = self.lease_one(p)
        until(lambda: self.client.project(p)["ready"] == 1, "the lease to run out")
        self.assertEqual(self.finish(leased)["done"], 1)
        self.assertEqual(self.client.size(p), 0)
        self.assertEqual(self.lease(p), [])

    def test_a_late_report_is_stale_once_another_has_the_task(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        first = self.lease_one(p)
        second = self.lease_one(p)
        answer = self.finish(first)
        self.assertEqual(answer["done"], 0)
        self.assertIn("stale lease", answer["rejected"][0]["error"])
        self.client.extend([second["lease"]], 60)
        self.assertEqual(self.finish(second)["done"], 1)

    def test_a_consumer_that_never_reports_only_delays_the_others(self):
        p = self.project()
        names = {f"t{n}" for n in range(20)}
        self.client.submit([task(p, n) for n in names])
        self.client.lease(10, 0, [p], consumer="silent")
        done = set()

        def crawl():
            for leased in self.lease(p, 20, 1):
                self.finish(leased)
                done.add(leased["taskid"])
            return done == names
        until(crawl, "all tasks to be crawled by the others")
        self.assertEqual(self.client.size(p), 0)
