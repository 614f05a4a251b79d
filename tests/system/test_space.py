"""No room left: new work is refused with 507, all else goes on, and room heals it."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import SUCCESS, LycosaError, Node, ids, lycosa, status_pack, task, until

MIB = 1 << 20


class Full(unittest.TestCase):
    """The steps that both kinds of fullness share."""

    node: Node

    def fill(self, project: str) -> list[str]:
        """Submits until the node says that it is full; returns the ids it took."""
        taken: list[str] = []
        for step in range(10_000):
            names = [f"{step}-{n}" for n in range(20)]
            try:
                answer = self.node.client.submit(
                    [task(project, n, fetch={"data": "x" * 10_000}) for n in names])
            except LycosaError as error:
                self.assertEqual(error.status, 507)
                self.assertIn("storage", str(error).lower() + str(error.problem).lower())
                # With several shards, those with room may have taken their part of this list.
                there = ids(self.node.client.tasks(project))
                self.assertLessEqual(set(taken), set(there))
                self.assertLessEqual(set(there), {*taken, *names})
                return there
            refused = {r["index"] for r in answer["rejected"]}
            taken += [n for i, n in enumerate(names) if i not in refused]
            if refused:
                return taken
        self.fail("it never got full")

    def assert_still_useful(self, project: str, taken: list[str]) -> list[str]:
        """Reads, leases and reports go on; returns what was settled."""
        client = self.node.client
        self.assertTrue(client.ready() or client.raw("GET", "/healthz")[0] == 200)
        self.assertEqual(client.task(project, taken[0])["taskid"], taken[0])
        self.assertEqual(len(list(client.tasks(project))), len(taken))
        leased = client.lease(20, 10, [project])
        self.assertEqual(len(leased), 20)
        self.assertEqual(client.report([status_pack(t, True) for t in leased])["done"], 20)
        for name in ids(leased):
            self.assertEqual(client.task(project, name)["status"], SUCCESS)
        return ids(leased)

    def assert_takes_again(self, project: str, name: str) -> None:
        def taken():
            try:
                return self.node.client.submit(task(project, name))["new"] == 1
            except LycosaError as error:
                self.assertEqual(error.status, 507)
                return False
        until(taken, "new work to be taken again")

    def assert_nothing_lost(self, project: str, expected: set[str], settled: list[str]) -> None:
        states = {t["taskid"]: t["status"] for t in self.node.client.tasks(project)}
        self.assertEqual(set(states), expected)
        self.assertLessEqual({states[n] for n in settled}, {SUCCESS})
        self.assertEqual(self.node.client.size(project), len(expected) - len(settled))


@unittest.skipUnless(os.geteuid() == 0, "needs root to mount a small file system")
class DiskFull(Full):
    def setUp(self):
        self.disk = Path(tempfile.mkdtemp(prefix="lycosa-disk-"))
        self.addCleanup(shutil.rmtree, self.disk, ignore_errors=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", self.disk],
                                 capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk])
        self.filler = self.disk / "filler"
        self.filler.write_bytes(b"\0" * (48 * MIB))
        self.node = Node("storage.shards=2", data=self.disk / "data")
        self.addCleanup(self.node.close)
        self.node.start()
        self.node.client.put_project("p", status="RUNNING", rate=1e6, burst=1e6)

    def test_writes_are_refused_and_the_rest_goes_on(self):
        taken = self.fill("p")
        settled = self.assert_still_useful("p", taken)
        self.filler.unlink()
        self.assert_takes_again("p", "after")
        self.assert_nothing_lost("p", {*taken, "after"}, settled)
        self.node.restart()
        until(lambda: self.node.client.size("p") == len(taken) + 1 - 20, "the queue")
        self.assert_nothing_lost("p", {*taken, "after"}, settled)
        self.assertEqual(self.node.stop(), 0)
        self.assertEqual(lycosa("check", "--data", str(self.node.data)).returncode, 0)

    def test_what_it_filled_itself_is_room_again_once_work_is_done(self):
        client = self.node.client
        client.put_project("p", retain_count=1)
        for number in range(3):
            name = f"q{number}"
            client.put_project(name, status="RUNNING", rate=1e6, burst=1e6, retain_count=1)
            taken = self.fill(name)
            self.assertGreater(len(taken), 500)
            if number == 1:
                client.drop_project(name)
            else:
                left = set(taken)
                while left:
                    leased = client.lease(200, 10, [name])
                    client.report([status_pack(t, True) for t in leased])
                    left -= set(ids(leased))
            self.assert_takes_again("p", f"after{number}")
        self.assertEqual(self.node.stop(), 0)
        self.assertEqual(lycosa("check", "--data", str(self.node.data)).returncode, 0)

    def test_not_a_byte_left(self):
        client = self.node.client
        client.submit([task("p", f"t{n}") for n in range(100)])
        leased = client.lease(10, 10, ["p"])
        with open(self.filler, "ab", buffering=0) as file:
            try:
                while file.write(b"\0" * 4096):
                    pass
            except OSError:
                pass
        for number in range(5):
            with self.assertRaises(LycosaError) as caught:
                client.submit([task("p", f"more{number}-{n}", fetch={"data": "x" * 10_000})
                               for n in range(100)])
            self.assertEqual(caught.exception.status, 507)
        self.assertEqual(client.task("p", "t0")["taskid"], "t0")
        done = 0
        try:
            done = client.report([status_pack(t, True) for t in leased])["done"]
        except LycosaError as error:
            self.assertEqual(error.status, 507)
        self.filler.unlink()
        self.assert_takes_again("p", "after")
        if not done:
            done = client.report([status_pack(t, True) for t in leased])["done"]
        self.assertEqual(done, 10)
        self.assert_nothing_lost("p", {f"t{n}" for n in range(100)} | {"after"}, ids(leased))

    def test_a_node_killed_on_a_full_disk_starts_again(self):
        taken = self.fill("p")
        settled = self.assert_still_useful("p", taken)
        self.node.restart()
        until(lambda: self.node.client.size("p") == len(taken) - 20, "the queue")
        self.assert_nothing_lost("p", set(taken), settled)


class MapFull(Full):
    def setUp(self):
        self.node = Node("storage.shards=1", 'storage.map_size="24MiB"')
        self.addCleanup(self.node.close)
        self.node.start()
        for name in ("p", "other"):
            self.node.client.put_project(name, status="RUNNING", rate=1e6, burst=1e6)

    def test_writes_are_refused_the_rest_goes_on_and_room_can_be_made(self):
        self.node.client.submit([task("other", f"t{n}", fetch={"data": "x" * 10_000})
                                 for n in range(400)])
        taken = self.fill("p")
        settled = self.assert_still_useful("p", taken)
        self.node.client.drop_project("other")
        self.assert_takes_again("p", "after")
        self.assert_nothing_lost("p", {*taken, "after"}, settled)

    def test_a_larger_map_takes_more(self):
        taken = self.fill("p")
        self.assertEqual(self.node.stop(), 0)
        self.node.start('storage.map_size="64MiB"')
        self.assert_takes_again("p", "after")
        self.assert_nothing_lost("p", {*taken, "after"}, [])
