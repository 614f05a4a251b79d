"""Commands against a running node and on data directories."""

import json
import shutil
import socket
import tempfile
import time
import unittest
from pathlib import Path

from harness import Node, NodeTest, ids, lycosa, status_pack, task, until


class AgainstANode(NodeTest):
    def run_ok(self, *arguments: str, stdin: str | None = None) -> str:
        ran = lycosa(*arguments, stdin=stdin, server=self.node.url)
        self.assertEqual(ran.returncode, 0, f"{arguments}: {ran.stdout}{ran.stderr}")
        return ran.stdout

    def run_json(self, *arguments: str):
        return json.loads(self.run_ok(*arguments, "--json"))

    def lines(self, text: str) -> list:
        """JSON output of a list, be it one array or one object a line."""
        try:
            whole = json.loads(text)
        except ValueError:
            return [json.loads(line) for line in text.splitlines()]
        return next((v for v in whole.values() if isinstance(v, list)), [whole]) \
            if isinstance(whole, dict) else whole

    def test_projects(self):
        p = self.project()
        self.run_ok("project", "pause", p)
        self.assertEqual(self.client.project(p)["status"], "PAUSED")
        self.run_ok("project", "resume", p)
        self.assertEqual(self.client.project(p)["status"], "RUNNING")
        self.assertEqual(self.run_json("project", "show", p)["name"], p)
        self.assertIn(p, [q["name"] for q in self.lines(self.run_ok("project", "ls", "--json"))])
        self.assertIn(p, self.run_ok("project", "ls"))
        self.assertIn(p, self.run_ok("project", "show", p))

    def test_a_project_is_made_and_removed(self):
        self.run_ok("project", "put", "made", "--status", "RUNNING", "--rate", "3", "--burst", "4")
        made = self.client.project("made")
        self.assertEqual([made[k] for k in ("status", "rate", "burst")], ["RUNNING", 3, 4])
        self.run_ok("project", "rm", "made", "--yes")
        until(lambda: "made" not in [q["name"] for q in self.client.projects()], "its end")

    def test_tasks_come_from_a_file_or_a_pipe(self):
        p = self.project()
        text = "".join(json.dumps(task(p, f"t{n}")) + "\n" for n in range(3000))
        self.run_ok("task", "submit", "-", stdin=text)
        self.assertEqual(self.client.size(p), 3000)
        with tempfile.NamedTemporaryFile("w", suffix=".ndjson") as file:
            file.write(text + json.dumps(task(p, "extra")) + "\n")
            file.flush()
            self.run_ok("task", "submit", file.name)
        self.assertEqual(self.client.size(p), 3001)

    def test_refused_tasks_are_named_and_exit_1(self):
        p = self.project()
        text = json.dumps(task(p, "good")) + "\n" + json.dumps({"project": p}) + "\n"
        ran = lycosa("task", "submit", "-", stdin=text, server=self.node.url)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("url", ran.stderr)
        self.assertEqual(self.client.size(p), 1)

    def test_tasks_are_shown_listed_cancelled_and_requeued(self):
        p = self.project()
        self.client.submit([task(p, "a", retries=0), task(p, "b", exetime=time.time() + 3600)])
        self.finish(self.lease_one(p), ok=False)
        shown = self.run_json("task", "show", p, "a")
        self.assertEqual((shown["taskid"], shown["status"]), ("a", 3))
        listed = self.lines(self.run_ok("task", "ls", p, "--status", "failed", "--json"))
        self.assertEqual(ids(listed), ["a"])
        self.assertIn("b", self.run_ok("task", "ls", p))
        self.run_ok("task", "cancel", p, "b")
        self.assertEqual(self.status(p, "b"), 4)
        self.run_ok("task", "requeue", p, "--status", "failed")
        self.assertEqual(self.lease_one(p)["taskid"], "a")

    def test_unknown_things_are_exit_1_with_one_line(self):
        for arguments in (["project", "show", "nobody"], ["task", "show", "nobody", "x"],
                          ["project", "pause", "nobody"], ["task", "cancel", "nobody", "x"]):
            ran = lycosa(*arguments, server=self.node.url)
            self.assertEqual(ran.returncode, 1, arguments)
            self.assertRegex(ran.stderr, r"\Alycosa: [^\n]+\n\Z")

    def test_the_server_may_be_named_by_option(self):
        self.project()
        ran = lycosa("project", "ls", "--json", "--server", self.node.url)
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_help_is_there_for_every_command(self):
        for arguments in ([], ["serve"], ["config"], ["project"], ["task"], ["check"], ["backup"],
                          ["restore"], ["stats"]):
            ran = lycosa(*arguments, "--help")
            self.assertEqual(ran.returncode, 0, arguments)
            self.assertIn("sage", ran.stdout)

    def test_a_hot_backup_restores_to_the_same_tasks(self):
        folder = Path(tempfile.mkdtemp(prefix="lycosa-test-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        p = self.project(rate=1e6, comments="keep me")
        self.client.submit([task(p, f"t{n}", fetch={"n": n}) for n in range(2000)])
        self.client.report([status_pack(t, True) for t in self.drain(p, 500)])
        before = {t["taskid"]: t for t in self.client.tasks(p)}
        self.run_ok("backup", "--data", str(self.node.data), str(folder / "copy"))
        self.client.submit(task(p, "after the backup"))

        ran = lycosa("restore", str(folder / "copy"), "--data", str(folder / "data"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(lycosa("check", "--data", str(folder / "data")).returncode, 0)
        with Node(data=folder / "data") as copy:
            self.assertEqual({t["taskid"]: t for t in copy.client.tasks(p)}, before)
            self.assertEqual(copy.client.project(p)["comments"], "keep me")
            until(lambda: copy.client.size(p) == 1500, "the queue of the copy")
        again = lycosa("restore", str(folder / "copy"), "--data", str(folder / "data"))
        self.assertEqual(again.returncode, 1, "restores over existing data")


class WithoutANode(unittest.TestCase):
    def test_no_server_is_exit_3(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{free.getsockname()[1]}"
            for arguments in (["project", "ls"], ["task", "show", "p", "a"]):
                ran = lycosa(*arguments, server=url)
                self.assertEqual(ran.returncode, 3, arguments)
                self.assertRegex(ran.stderr, r"\Alycosa: [^\n]+\n\Z")

    def test_check_and_stats_of_a_stopped_node(self):
        with Node() as node:
            node.client.put_project("p", status="RUNNING", rate=100, burst=100)
            node.client.submit([task("p", f"t{n}") for n in range(100)])
            node.client.report([status_pack(t, True) for t in node.client.lease(10, 10, ["p"])])
            self.assertEqual(node.stop(), 0)
            checked = lycosa("check", "--data", str(node.data))
            self.assertEqual(checked.returncode, 0, checked.stderr)
            stats = lycosa("stats", "--data", str(node.data), "--json")
            self.assertEqual(stats.returncode, 0, stats.stderr)
            self.assertIn("100", json.dumps(json.loads(stats.stdout)))

    def test_check_and_stats_need_a_data_directory(self):
        for command in ("check", "stats"):
            ran = lycosa(command, "--data", "/no/such/directory")
            self.assertEqual(ran.returncode, 1)
            self.assertRegex(ran.stderr, r"\Alycosa: [^\n]+\n\Z")

    def test_version(self):
        ran = lycosa("--version")
        self.assertEqual(ran.returncode, 0)
        self.assertRegex(ran.stdout, r"\d+\.\d+\.\d+")
