"""The node as a process: signals, refusals to start, exit codes."""

import json
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from harness import BINARY, Node, NodeTest, Unreachable, ids, lycosa, status_pack, task, until


class Signals(unittest.TestCase):
    def test_both_signals_end_it_orderly(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with Node() as node:
                node.signal(number)
                self.assertEqual(node.wait(5), 0)

    def test_nothing_acknowledged_is_lost_when_it_stops_under_load(self):
        with Node() as node:
            node.client.put_project("p", status="RUNNING", rate=1e6, burst=1e6)
            accepted, settled, lock = set(), set(), threading.Lock()

            def submit(number):
                step = 0
                while True:
                    names = [f"{number}-{step}-{n}" for n in range(50)]
                    try:
                        node_client.submit([task("p", n) for n in names])
                    except Exception:
                        return
                    with lock:
                        accepted.update(names)
                    step += 1

            def crawl():
                while True:
                    try:
                        leased = node_client.lease(50, 1, ["p"])
                        answer = node_client.report([status_pack(t, True) for t in leased])
                    except Exception:
                        return
                    with lock:
                        if answer["done"] == len(leased):
                            settled.update(ids(leased))

            node_client = node.client
            threads = [threading.Thread(target=submit, args=(n,)) for n in range(2)]
            threads += [threading.Thread(target=crawl) for _ in range(2)]
            for thread in threads:
                thread.start()
            until(lambda: len(settled) > 500, "some load")
            node.signal()
            self.assertEqual(node.wait(5), 0)
            for thread in threads:
                thread.join()
            node.start()
            states = {t["taskid"]: t["status"] for t in node.client.tasks("p")}
            self.assertEqual(accepted - states.keys(), set())
            self.assertEqual({n for n in settled if states[n] != 2}, set())

    def test_waiting_consumers_do_not_hold_it_up(self):
        with Node() as node:
            node.client.put_project("p", status="RUNNING")
            client = node.client
            begun = threading.Barrier(9)
            answers = []

            def wait():
                begun.wait()
                try:
                    answers.append(client.lease(1, 60, ["p"]))
                except Unreachable:
                    answers.append([])
            threads = [threading.Thread(target=wait) for _ in range(8)]
            for thread in threads:
                thread.start()
            begun.wait()
            client.size()
            node.signal()
            self.assertEqual(node.wait(5), 0)
            for thread in threads:
                thread.join(30)
            self.assertEqual(answers, [[]] * 8)

    def test_idle_connections_do_not_hold_it_up(self):
        with Node() as node:
            idle = [node.connect() for _ in range(10)]
            idle[0].sendall(b"POST /v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Le")
            node.client.size()
            node.signal()
            self.assertEqual(node.wait(5), 0)
            for sock in idle:
                sock.close()

    def test_a_second_signal_ends_it_at_once(self):
        with Node() as node:
            node.client.put_project("p", status="RUNNING", rate=1e6, burst=1e6)
            node.client.submit([task("p", f"t{n}") for n in range(1000)])
            node.signal()
            node.signal()
            node.wait(5)
            node.start()
            self.assertEqual(node.client.size("p"), 1000)


class Refusals(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lycosa-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def serve(self, *arguments: str) -> subprocess.CompletedProcess:
        return lycosa("serve", "--listen", "127.0.0.1:0", "--set", 'xmlrpc.listen="127.0.0.1:0"',
                      *arguments, within=30)

    def assert_one_line(self, ran: subprocess.CompletedProcess, *words: str) -> None:
        lines = [line for line in ran.stderr.splitlines() if line.startswith("lycosa: ")]
        self.assertEqual(len(lines), 1, ran.stderr)
        for word in words:
            self.assertIn(word, lines[0])
        self.assertNotIn("lycosa ready", ran.stdout)

    def test_a_second_process_on_the_same_data(self):
        with Node() as node:
            ran = self.serve("--data", str(node.data))
            self.assertEqual(ran.returncode, 1)
            self.assert_one_line(ran, str(node.data))
            node.client.size()

    def test_another_number_of_shards(self):
        node = Node("storage.shards=2")
        with node:
            self.assertEqual(node.stop(), 0)
            ran = self.serve("--data", str(node.data), "--set", "storage.shards=3")
            self.assertEqual(ran.returncode, 1)
            self.assert_one_line(ran, "2", "3")
            node.start()

    def test_a_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            ran = lycosa("serve", "--data", str(self.folder / "d"), "--listen",
                         f"127.0.0.1:{port}", "--set", 'xmlrpc.listen="127.0.0.1:0"', within=30)
        self.assertEqual(ran.returncode, 1)
        self.assert_one_line(ran, str(port))

    def test_a_data_directory_that_cannot_be_made(self):
        (self.folder / "file").write_text("in the way")
        ran = self.serve("--data", str(self.folder / "file" / "data"))
        self.assertEqual(ran.returncode, 1)
        self.assert_one_line(ran, str(self.folder / "file"))

    def test_a_truncated_file_is_refused_and_left_alone(self):
        with Node("storage.shards=1") as node:
            node.client.put_project("p", status="RUNNING")
            node.client.submit([task("p", f"t{n}") for n in range(1000)])
            self.assertEqual(node.stop(), 0)
            largest = max(node.data.rglob("data.mdb"), key=lambda f: f.stat().st_size)
            with open(largest, "r+b") as file:
                file.truncate(8192 + 100)
            before = largest.read_bytes()
            ran = self.serve("--data", str(node.data), "--set", "storage.shards=1")
            self.assertEqual(ran.returncode, 1)
            self.assert_one_line(ran)
            self.assertEqual(largest.read_bytes(), before)
            checked = lycosa("check", "--data", str(node.data))
            self.assertEqual(checked.returncode, 1)
            self.assertRegex(checked.stderr, r"\Alycosa: [^\n]+: is damaged: 1 problem was found\n\Z")
            problem = checked.stdout.splitlines()[0]
            self.assertIn("cut off", problem)
            self.assertNotIn(problem, checked.stderr)
            report = json.loads(lycosa("check", "--data", str(node.data), "--json").stdout)
            self.assertEqual((report["ok"], report["problems"]), (False, [problem]))

    def test_bad_settings_are_exit_2_and_named(self):
        for setting, word in (("http.lisen=1", "listen"), ("nosuch.key=1", "nosuch"),
                              ("storage.shards=2000", "shards"), ("storage.shards=many", "shards"),
                              ("scheduler.processing_timeout=soon", "processing_timeout")):
            ran = self.serve("--data", str(self.folder / "d"), "--set", setting)
            self.assertEqual(ran.returncode, 2, setting)
            self.assertIn(word, ran.stderr)
        self.assertFalse((self.folder / "d").exists())

    def test_bad_usage_is_exit_2(self):
        for arguments in (["serve", "--no-such-option"], ["nonsense"], ["serve", "--set"],
                          ["serve", "--listen", "nowhere"], ["serve", "--config", "/no/such/file"]):
            self.assertEqual(lycosa(*arguments, within=30).returncode, 2, arguments)

    def test_config_check_says_where_and_what(self):
        file = self.folder / "lycosa.toml"
        file.write_text("[storage]\nshards = 2\n[http]\nlisten = \"127.0.0.1:0\"\nthreds = 3\n")
        ran = lycosa("config", "check", str(file))
        self.assertEqual(ran.returncode, 2)
        self.assertRegex(ran.stderr, r"lycosa\.toml:5: http\.threds: .*threads")
        file.write_text("[storage]\nshards = 2\n")
        self.assertEqual(lycosa("config", "check", str(file)).returncode, 0)

    def test_config_check_looks_at_events(self):
        file = self.folder / "lycosa.toml"
        file.write_text('[events]\nlog = "job_errr"\n'
                        'webhooks = { a = "ftp://x/", b = "https://example.org/" }\n'
                        'webhook_types = { b = "no_such", c = "job_error" }\n'
                        'webhook_headers = { b = "nothing" }\n')
        ran = lycosa("config", "check", str(file))
        self.assertEqual(ran.returncode, 2)
        for line, key in ((2, "log"), (3, "webhooks.a"), (4, "webhook_types.b"),
                          (4, "webhook_types.c"), (5, "webhook_headers.b")):
            self.assertRegex(ran.stderr, rf"(?m)lycosa\.toml:{line}: events\.{key}: \S.*$")
        self.assertEqual(len(ran.stderr.splitlines()), 5, ran.stderr)
        file.write_text('[events]\nlog = "all"\nwebhooks = { b = "https://example.org/" }\n'
                        'webhook_types = { b = "job_error,job_lost" }\n')
        self.assertEqual(lycosa("config", "check", str(file)).returncode, 0)

    def test_config_print_can_be_read_back(self):
        printed = lycosa("config", "print", "--set", "storage.shards=5")
        self.assertEqual(printed.returncode, 0)
        file = self.folder / "printed.toml"
        file.write_text(printed.stdout)
        self.assertEqual(lycosa("config", "check", str(file)).returncode, 0)
        self.assertEqual(lycosa("config", "print", "--config", str(file)).stdout, printed.stdout)


class Precedence(unittest.TestCase):
    def test_set_beats_the_environment_which_beats_the_file(self):
        folder = Path(tempfile.mkdtemp(prefix="lycosa-test-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        file = folder / "c.toml"
        file.write_text("[storage]\nshards = 2\ncommit_batch = 20\n[dispatch]\nbuffer = 200\n")

        def value(text: str, key: str) -> str:
            for line in text.splitlines():
                if line.split("=")[0].strip() == key:
                    return line.split("=", 1)[1].split("#")[0].strip()
            self.fail(f"no {key} in\n{text}")
        ran = subprocess.run(
            [BINARY, "config", "print", "--config", str(file), "--set", "storage.commit_batch=40"],
            capture_output=True, text=True, timeout=30,
            env={"LYCOSA_STORAGE__SHARDS": "3", "LYCOSA_STORAGE__COMMIT_BATCH": "30"})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual([value(ran.stdout, k) for k in ("shards", "commit_batch", "buffer")],
                         ["3", "40", "200"])


class Health(NodeTest):
    def test_health_and_readiness(self):
        for path in ("/healthz", "/readyz"):
            self.assertEqual(self.client.raw("GET", path)[0], 200)

    def test_unknown_paths_and_methods(self):
        status, headers, text = self.client.raw("GET", "/v1/nonsense")
        self.assertEqual(status, 404)
        self.assertIn("application/problem+json", headers["Content-Type"])
        self.assertEqual(json.loads(text)["status"], 404)
        status, headers, _ = self.client.raw("DELETE", "/v1/lease")
        self.assertEqual(status, 405)
