"""`lycosa bench` with nodes that it serves itself, as children."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BINARY, Node, environment


def bench(*words: str, **variables: str) -> subprocess.CompletedProcess:
    return subprocess.run([BINARY, "bench", *words], capture_output=True, text=True, timeout=100,
                          env={**environment(), **variables})


class Bench(unittest.TestCase):
    def exact(self, *words: str, **variables: str) -> dict:
        ran = bench(*words, "--json", **variables)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        figures = json.loads(ran.stdout)
        self.assertTrue(figures["exact"])
        self.assertEqual((figures["delivered_twice"], figures["lost"]), (0, 0))
        return figures

    def test_a_node_of_its_own_goes_with_its_directory(self):
        with tempfile.TemporaryDirectory() as folder:
            figures = self.exact("lifecycle", "--tasks", "500", "--batch", "100", TMPDIR=folder)
            self.assertEqual(figures["settled"], 500)
            self.assertEqual(os.listdir(folder), [])

    def test_a_named_directory_stays_and_is_used_again(self):
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                self.exact("submit", "--tasks", "200", "--data", folder)
            self.assertNotEqual(os.listdir(folder), [])

    def test_restart_delivers_each_task_once_after_a_kill(self):
        figures = self.exact("restart", "--tasks", "2000", "--batch", "500")
        self.assertEqual(figures["settled"], 2000)
        for name in ("serving", "first_lease", "ready"):
            self.assertGreater(figures[f"{name}_after_seconds"], 0)

    def test_memory_tells_bytes_a_queued_task(self):
        figures = self.exact("memory", "--tasks", "20000")
        self.assertEqual(figures["submitted"], 20000)
        self.assertGreater(figures["queued_bytes"], figures["empty_bytes"])
        self.assertGreater(figures["bytes_per_queued_task"], 0)

    def test_a_server_that_is_named_is_loaded_and_others_tasks_stay(self):
        node = Node().start()
        self.addCleanup(node.close)
        node.client.put_project("mine", status="RUNNING", rate=1e6, burst=1e6)
        node.client.submit({"project": "mine", "taskid": "a", "url": "data:,a"})
        for words in (["lifecycle"], ["hosts", "--projects", "5"],
                      ["jobs", "--jobs", "10", "--seconds", "1", "--trigger", "interval"]):
            extra = [] if words[0] == "jobs" else ["--tasks", "300"]
            self.exact(*words, *extra, "--batch", "50", "--server", node.url)
        self.exact("lifecycle", "--tasks", "100", LYCOSA_SERVER=node.url)
        self.assertEqual([t["taskid"] for t in node.client.lease(10, 0, ["mine"])], ["a"])
        self.assertEqual(node.client.call("GET", "/v1/jobs")["jobs"], [])

    def test_all_small_runs_every_workload(self):
        ran = bench("all", "--small", "--json")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        names = [json.loads(line)["workload"] for line in ran.stdout.splitlines()]
        help_text = bench("--help").stdout
        self.assertEqual(len(names), 13)
        for name in names:
            self.assertIn(name, help_text)

    def test_a_node_that_does_not_start_is_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = bench("lifecycle", "--data", str(Path(folder) / "x"), "--set", "storage.shards=2000")
        self.assertEqual(ran.returncode, 3)
        self.assertIn("did not start", ran.stderr)


if __name__ == "__main__":
    unittest.main()
