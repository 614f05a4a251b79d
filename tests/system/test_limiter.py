"""How fast tasks go out, and how consumers are shared out between projects."""

import collections
import time

from harness import NodeTest, ids, status_pack, task, until


class Rates(NodeTest):
    def assert_never_too_fast(self, rate: float, burst: float, enough: int) -> None:
        """Leases until `enough` tasks came; at every moment so far burst + rate·t is the most."""
        p = self.project(rate=rate, burst=burst)
        self.client.submit([task(p, f"t{n}") for n in range(enough + 50)])
        # The bucket may have filled since the project was made, but never past the burst; so the
        # count starts at the first look and the bound holds for any machine, however slow.
        began, count = time.monotonic(), 0

        def crawl():
            nonlocal count
            leased = self.lease(p, 100, 1)
            count += len(leased)
            most = burst + rate * (time.monotonic() - began)
            self.assertLessEqual(count, most + 1e-6)
            if leased:
                self.client.report([status_pack(t, True) for t in leased])
            return count >= enough
        until(crawl, f"{enough} tasks at {rate}/s")

    def test_never_more_than_burst_and_rate_allow(self):
        self.assert_never_too_fast(rate=50, burst=10, enough=100)

    def test_a_rate_above_its_burst_is_still_reached_and_not_passed(self):
        self.assert_never_too_fast(rate=100, burst=3, enough=150)

    def test_fractional_rates(self):
        self.assert_never_too_fast(rate=2.5, burst=1, enough=5)

    def test_a_burst_goes_at_once(self):
        p = self.project(rate=0.001, burst=7)
        until(lambda: self.client.project(p), "the project")
        self.client.submit([task(p, f"t{n}") for n in range(20)])
        self.assertEqual(len(self.drain(p, 7)), 7)
        self.assertEqual(self.lease(p), [])

    def test_rate_zero_gives_nothing(self):
        p = self.project(rate=0, burst=0)
        self.client.submit([task(p, f"t{n}") for n in range(20)])
        self.assertEqual(self.lease(p), [])
        self.assertEqual(self.client.size(p), 20)

    def test_a_change_of_rate_takes_effect_at_once(self):
        p = self.project(rate=0, burst=0)
        self.client.submit([task(p, f"t{n}") for n in range(20)])
        self.assertEqual(self.lease(p), [])
        self.client.put_project(p, rate=1e6, burst=1e6)
        self.assertEqual(len(self.drain(p, 20)), 20)

    def test_a_waiting_consumer_profits_from_a_change_of_rate(self):
        # One token in a thousand seconds before; so only the change can end the wait early.
        p = self.project(rate=0.001, burst=1)
        self.client.submit([task(p, f"t{n}") for n in range(3)])
        self.drain(p, 1)
        self.client.put_project(p, rate=100, burst=10)
        self.assertEqual(len(self.drain(p, 2)), 2)

    def test_a_lower_rate_takes_effect_at_once(self):
        p = self.project(rate=1e6, burst=1e6)
        self.client.submit([task(p, f"t{n}") for n in range(200)])
        self.assertEqual(len(self.lease(p, 50)), 50)
        self.client.put_project(p, rate=0, burst=0)
        self.assertEqual(self.lease(p, 100), [])


class Fairness(NodeTest):
    def test_hungry_projects_share_a_consumer(self):
        projects = [self.project() for _ in range(5)]
        for p in projects:
            self.client.submit([task(p, f"t{n}") for n in range(1000)])
        count = collections.Counter()
        for _ in range(20):
            count.update(t["project"] for t in self.client.lease(50, 5, projects))
        self.assertEqual(sum(count.values()), 1000)
        for p in projects:
            self.assertGreaterEqual(count[p], 100, count)

    def test_each_of_five_hundred_hungry_projects_is_served_in_a_round(self):
        projects = [self.project() for _ in range(500)]
        self.client.submit([task(p, f"t{n}") for n in range(10) for p in projects])
        served = set()
        for _ in range(100):
            served.update(t["project"] for t in self.client.lease(10, 5, projects))
            if len(served) == len(projects):
                break
        self.assertEqual(len(served), len(projects))

    def test_a_large_backlog_does_not_keep_a_small_project_waiting(self):
        big, small = self.project(), self.project()
        self.client.submit([task(big, f"t{n}") for n in range(5000)])
        self.client.submit(task(small, "a"))
        leased = []
        for _ in range(5):
            leased += self.client.lease(20, 5, [big, small])
        self.assertIn(small, {t["project"] for t in leased})

    def test_a_consumer_gets_only_the_projects_it_asked_for(self):
        p, q = self.project(), self.project()
        self.client.submit([task(p, "a"), task(q, "b")])
        self.assertEqual(ids(self.client.lease(10, 5, [q])), ["b"])
        self.assertEqual(self.client.lease(10, 0, [q]), [])
        self.assertEqual(ids(self.client.lease(10, 5, [p])), ["a"])

    def test_a_slow_project_does_not_hold_up_a_fast_one(self):
        slow, fast = self.project(rate=0.01, burst=1), self.project()
        self.client.submit([task(slow, f"t{n}") for n in range(100)])
        self.client.submit([task(fast, f"t{n}") for n in range(100)])
        count = collections.Counter()

        def crawl():
            count.update(t["project"] for t in self.client.lease(50, 5, [slow, fast]))
            return count[fast] == 100
        until(crawl, "all tasks of the fast project")
        self.assertLessEqual(count[slow], 2)
