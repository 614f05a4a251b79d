"""The demonstration in its small form, with its kill in the middle."""

import os
import subprocess
import sys
import unittest

from harness import BINARY, ROOT, environment


class Demo(unittest.TestCase):
    def run_demo(self, *arguments: str) -> str:
        ran = subprocess.run(
            [sys.executable, str(ROOT / "examples" / "demo.py"), "--pages", "300", *arguments],
            capture_output=True, text=True, timeout=150,
            env={**environment(), "LYCOSA_BIN": BINARY, "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=os.sep)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout

    def test_every_page_is_fetched_exactly_once_although_the_node_is_killed(self):
        self.assertIn("PROVED", self.run_demo())

    def test_in_one_process(self):
        self.assertIn("PROVED", self.run_demo("--one"))

    def test_through_redis_with_pyspiders_kind_of_fetcher_and_processor(self):
        self.assertIn("PROVED", self.run_demo("--redis"))

    def test_without_the_kill_there_is_nothing_to_explain(self):
        self.assertIn("PROVED", self.run_demo("--no-kill"))
