"""Counters of a project, over a kill -9 as well; the automatic pause as a client sees it."""

from harness import NodeTest, lycosa, task, until


class Counters(NodeTest):
    settings = ('scheduler.pause_time="1h"',)

    def counters(self, project):
        return self.client.project(project)["counters"]

    def catalog_written(self):
        """When the catalog was written last: projects that change, and counters."""
        return (self.node.data / "catalog" / "data.mdb").stat().st_mtime_ns

    def counted(self, project, name):
        """Counts one more task and waits until a copy of the counters has been written since."""
        before = self.catalog_written()
        self.client.submit(task(project, name))
        until(lambda: self.catalog_written() != before, "the counters to be saved")

    def test_counters_outlive_a_kill(self):
        p = self.project()
        self.client.submit([task(p, "a"), task(p, "b"), task(p, "c", retries=0)])
        for leased in self.drain(p, 3):
            if leased["taskid"] != "b":
                self.finish(leased, ok=leased["taskid"] == "a")
        self.assertEqual(self.counters(p)["5m"],
                         {"pending": 3, "success": 1, "retry": 0, "failed": 1})
        # A copy made before the last report may have been on its way: the next one has it.
        self.counted(p, "d")
        self.counted(p, "e")
        self.node.restart()
        after = self.counters(p)
        for window in ("5m", "1h", "1d"):
            self.assertGreaterEqual(after[window]["pending"], 3, window)
            self.assertLessEqual(after[window]["pending"], 5, window)
            self.assertEqual(after[window]["success"], 1, window)
            self.assertEqual(after[window]["failed"], 1, window)
        self.assertEqual([after["all"][k] for k in ("pending", "success", "failed")], [3, 1, 1])

    def test_counters_are_exact_after_a_stop(self):
        p = self.project()
        self.client.submit([task(p, "a"), task(p, "b")])
        self.finish(self.lease_one(p))
        before = self.counters(p)
        self.assertEqual(self.node.stop(), 0)
        self.node.start()
        after = self.counters(p)
        for window in ("5m", "1h", "1d", "all"):
            self.assertEqual(after[window], before[window], window)

    def test_totals_are_exact_whenever_it_is_killed(self):
        p = self.project()
        self.client.submit([task(p, f"t{n}") for n in range(10)])
        for leased in self.drain(p, 4):
            self.finish(leased)
        self.client.submit(task(p, "t9", cancel=True))
        before = self.counters(p)["all"]
        self.node.restart()
        self.assertEqual(self.counters(p)["all"], before)
        self.assertEqual([before[k] for k in ("pending", "success", "failed")], [5, 4, 1])

    def test_ignored_tasks_come_with_reasons(self):
        p = self.project()
        first = self.client.submit(task(p, "a"))
        self.assertNotIn("ignored_reasons", first)
        again = self.client.submit([task(p, "a"), task(p, "x", cancel=True)])
        self.assertEqual(again["ignored_reasons"], {"already queued": 1, "unknown task": 1})

    def test_refused_tasks_are_counted(self):
        p = self.project(queue_limit=2)
        answer = self.client.submit([task(p, f"t{n}") for n in range(5)])
        self.assertEqual(len(answer["rejected"]), 3)
        self.assertIn("queue_limit", answer["rejected"][0]["error"])
        self.assertEqual(self.client.project(p)["refused"], 3)

    def test_ten_failures_pause_and_the_operator_ends_it(self):
        p = self.project()
        self.client.submit([task(p, f"t{n:02}") for n in range(11)])
        for leased in self.drain(p, 10):
            self.finish(leased, ok=False)
        shown = self.client.project(p)
        self.assertTrue(shown["paused"])
        self.assertEqual(shown["status"], "RUNNING")
        self.assertIn("10 crawls failed in a row", shown["gate"])
        self.assertEqual(self.lease(p), [])
        printed = lycosa("project", "show", p, server=f"http://{self.node.address}").stdout
        self.assertRegex(printed, r"paused +yes")
        self.assertRegex(printed, r"counters 5m +pending 11, success 0, retry 10, failed 0")
        self.assertRegex(printed, r"next_at +\d{4}-\d\d-\d\d ")
        resumed = lycosa("project", "resume", p, server=f"http://{self.node.address}")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertFalse(self.client.project(p)["paused"])
        self.assertEqual([t["taskid"] for t in self.lease(p)], ["t10"])
