"""GET /metrics of a real node: what is done shows in it."""

import re
import unittest
import urllib.request

from harness import ROOT, NodeTest, task, until

SAMPLE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\]|\\.)*)"')


def scrape(node):
    """{(name, frozenset of labels): value}"""
    with urllib.request.urlopen(f"{node.url}/metrics", timeout=20) as answer:
        text = answer.read().decode()
    samples = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.match(line).groups()
        key = (name, frozenset(LABEL.findall(labels or "")))
        assert key not in samples, line
        samples[key] = float(value)
    return samples


def value(samples, name, **labels):
    return samples.get((name, frozenset(labels.items())))


def total(samples, name, **labels):
    wanted = frozenset(labels.items())
    return sum(v for (n, have), v in samples.items() if n == name and wanted <= have)


class Metrics(NodeTest):
    settings = ("metrics.projects=3",)

    def test_a_tasks_way_shows(self):
        p = self.project()
        before = scrape(self.node)
        self.client.submit([task(p, "a"), task(p, "b"), task(p, "c", retries=0)])
        queued = scrape(self.node)
        self.assertEqual(value(queued, "lycosa_tasks", project=p, state="ready"), 3)
        for leased in self.drain(p, 3):
            self.assertIsNotNone(value(scrape(self.node), "lycosa_oldest_lease_seconds",
                                       project=p))
            self.finish(leased, ok=leased["taskid"] == "a")
        after = scrape(self.node)

        def events(kind):
            return value(after, "lycosa_task_events_total", project=p, event=kind)

        self.assertEqual([events(k) for k in ("pending", "success", "retry", "failed")],
                         [3, 1, 1, 1])
        self.assertEqual(value(after, "lycosa_tasks", project=p, state="ready"), 0)
        self.assertEqual(value(after, "lycosa_tasks", project=p, state="delayed"), 1)
        self.assertEqual(value(after, "lycosa_task_lateness_seconds_count")
                         - value(before, "lycosa_task_lateness_seconds_count"), 3)
        self.assertGreater(total(after, "lycosa_commit_duration_seconds_count"),
                           total(before, "lycosa_commit_duration_seconds_count"))
        self.assertGreater(total(after, "lycosa_commit_sync_seconds_count"),
                           total(before, "lycosa_commit_sync_seconds_count"))
        for part in ("shards", "jobs"):
            self.assertGreater(value(after, "lycosa_answer_seconds", part=part), 0)
        # Three submitted and three reported are six changes at least.
        self.assertGreaterEqual(total(after, "lycosa_commit_operations_sum")
                                - total(before, "lycosa_commit_operations_sum"), 6)
        self.assertEqual(total(after, "lycosa_shard_tasks")
                         - total(before, "lycosa_shard_tasks"), 3)
        self.assertGreater(total(after, "lycosa_shard_last_lsn"),
                           total(before, "lycosa_shard_last_lsn"))
        self.assertEqual(total(after, "lycosa_http_requests_total", route="/v1/tasks",
                               method="POST", status="2xx")
                         - total(before, "lycosa_http_requests_total", route="/v1/tasks",
                                 method="POST", status="2xx"), 1)
        self.assertEqual(value(after, "lycosa_ready"), 1)
        self.assertGreater(value(after, "process_resident_memory_bytes"), 1 << 20)

    def test_refusals_and_pauses_show(self):
        p = self.project(queue_limit=2)
        self.client.submit([task(p, n) for n in "abcd"])
        self.assertEqual(value(scrape(self.node), "lycosa_tasks_refused_total", project=p), 2)
        self.assertEqual(value(scrape(self.node), "lycosa_project_paused", project=p), 0)
        self.client.put_project(p, status="PAUSED")
        self.assertEqual(value(scrape(self.node), "lycosa_project_paused", project=p), 1)

    def test_many_projects_are_counted_together(self):
        names = [self.project() for _ in range(8)]
        before = total(scrape(self.node), "lycosa_task_events_total", event="pending")
        self.client.submit([task(name, "t") for name in names])
        samples = scrape(self.node)
        told = {dict(labels)["project"] for (name, labels) in samples
                if name == "lycosa_task_events_total"}
        self.assertLessEqual(len(told), 4)
        self.assertIn("other", told)
        self.assertEqual(total(samples, "lycosa_task_events_total", event="pending") - before, 8)
        self.assertGreaterEqual(total(samples, "lycosa_projects"), 8)

    def test_jobs_show(self):
        for job, program in (("good", "/bin/true"), ("bad", "/bin/false")):
            self.client.call("POST", "/v1/jobs", {
                "id": job, "trigger": {"type": "crontab", "expr": "0 0 1 1 *"},
                "action": {"type": "command", "argv": [program]}})
        before = scrape(self.node)
        self.assertEqual(value(before, "lycosa_jobs"), 2)
        self.assertGreater(value(before, "lycosa_job_next_due_timestamp_seconds"), 1.5e9)
        for job in ("good", "bad"):
            self.client.call("POST", f"/v1/jobs/{job}/run")
        after = until(lambda: self.ended(2), "both runs to end")
        self.assertEqual(value(after, "lycosa_job_runs_total", outcome="success"), 1)
        self.assertEqual(value(after, "lycosa_job_runs_total", outcome="failed"), 1)
        self.assertEqual(value(after, "lycosa_job_lateness_seconds_count"), 2)
        self.assertEqual(value(after, "lycosa_job_run_duration_seconds_count"), 2)

    def ended(self, runs):
        samples = scrape(self.node)
        done = total(samples, "lycosa_job_runs_total")
        took = value(samples, "lycosa_job_run_duration_seconds_count")
        return samples if done >= runs and took >= runs else None


class Traces(NodeTest):
    settings = ('log.level="debug"',)

    def test_a_requests_trace_is_logged_and_nothing_else_is(self):
        trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        for said in (trace, "no trace, but a header"):
            urllib.request.urlopen(urllib.request.Request(
                f"{self.node.url}/v1/size", headers={"traceparent": said}), timeout=20).close()
        self.client.call("GET", "/v1/counters/5m")

        def logged():
            text = self.node.log.read_text()
            return text if "/v1/counters/5m" in text else None

        log = until(logged, "the last request in the log")
        self.assertEqual(log.count(f" trace {trace[3:35]}"), 1)
        self.assertNotIn("but a header", log)


class Files(unittest.TestCase):
    def test_the_alerts_load(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("no python3-yaml")
        rules = yaml.safe_load((ROOT / "conf" / "prometheus-alerts.yml").read_text())
        names = set()
        for group in rules["groups"]:
            self.assertEqual(set(group), {"name", "rules"})
            for rule in group["rules"]:
                self.assertLessEqual(set(rule), {"alert", "expr", "for", "labels", "annotations"})
                self.assertIsInstance(rule["expr"], str)
                self.assertRegex(rule.get("for", "1m"), r"^\d+[smh]$")
                self.assertIn("severity", rule["labels"])
                self.assertIn("summary", rule["annotations"])
                self.assertEqual(rule["expr"].count("("), rule["expr"].count(")"))
                self.assertNotIn(rule["alert"], names)
                names.add(rule["alert"])
        self.assertGreater(len(names), 10)


if __name__ == "__main__":
    unittest.main()
