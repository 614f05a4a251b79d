"""Runs a node as its users do, as a process, and helps tests wait on conditions.

Tests never sleep: `until` is the one place that waits between looks at a condition.
"""

from __future__ import annotations

import itertools
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any, Callable, Iterable, TypeVar

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "clients" / "python")]

from lycosa import Client, LycosaError, Unreachable, status_pack  # noqa: E402, F401

BINARY = os.environ.get("LYCOSA_BIN", str(ROOT / "build" / "release" / "lycosa"))
DEADLINE = 30.0  # seconds; only ever reached by a failing test

T = TypeVar("T")


def until(condition: Callable[[], T], what: str, within: float = DEADLINE) -> T:
    """Returns the first truthy value of `condition`; fails with `what` when none comes."""
    give_up = time.monotonic() + within
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > give_up:
            raise AssertionError(f"waited {within:g} s in vain for: {what}")
        time.sleep(0.01)


def free_port() -> int:
    """A port nobody listens on right now, for servers that cannot be told "any"."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Node:
    """One `lycosa serve`, on free ports, with a data directory of its own."""

    def __init__(self, *settings: str, data: Path | None = None):
        self._own_folder = Path(tempfile.mkdtemp(prefix="lycosa-test-"))
        self.data = data or self._own_folder / "data"
        self.settings = list(settings)
        self.process: subprocess.Popen[str] | None = None
        self.address = ""
        self.xmlrpc = ""
        self.client: Client = None  # type: ignore[assignment]
        self._runs = 0
        self.await_ready = True

    # -- life --------------------------------------------------------------------------------

    def command(self, *extra: str) -> list[str]:
        line = [BINARY, "serve", "--data", str(self.data), "--listen", "127.0.0.1:0"]
        for setting in ['xmlrpc.listen="127.0.0.1:0"', *self.settings, *extra]:
            line += ["--set", setting]
        return line

    def start(self, *extra: str) -> "Node":
        """Starts the node and returns when it takes requests."""
        self._runs += 1
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                self.command(*extra), stdout=subprocess.PIPE, stderr=log, text=True,
                cwd=self._own_folder, env=environment())
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_drain, args=(self.process.stdout, lines), daemon=True).start()
        give_up = time.monotonic() + DEADLINE
        while True:
            try:
                line = lines.get(timeout=max(0.01, give_up - time.monotonic()))
            except queue.Empty:
                line = None
            if line is None:
                self.kill()
                raise AssertionError(f"the node did not become ready:\n{self.errors()}")
            if line.startswith("lycosa ready "):
                break
        fields = dict(item.split("=", 1) for item in line.split()[2:])
        self.address, self.xmlrpc = fields["http"], fields.get("xmlrpc", "")
        self.client = Client(f"http://{self.address}")
        if self.await_ready:
            until(self.client.ready, "readiness")
        return self

    def kill(self) -> None:
        """As a power cut for the process: nothing of it gets to run any more."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(DEADLINE)
            self.process.stdout.close()
            self.process = None

    def signal(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def wait(self, within: float = DEADLINE) -> int:
        """The exit code, once the process has ended."""
        code = self.process.wait(within)
        self.process.stdout.close()
        self.process = None
        return code

    def stop(self) -> int:
        self.signal()
        return self.wait()

    def restart(self, *extra: str) -> "Node":
        """kill -9, then a start on the same data."""
        self.kill()
        return self.start(*extra)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self._own_folder, ignore_errors=True)

    def __enter__(self) -> "Node":
        return self.start() if self.process is None else self

    def __exit__(self, *_) -> None:
        self.close()

    # -- looks -------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    @property
    def endpoint(self) -> tuple[str, int]:
        host, port = self.address.rsplit(":", 1)
        return host, int(port)

    @property
    def log(self) -> Path:
        return self._own_folder / f"stderr.{self._runs}"

    def errors(self) -> str:
        return self.log.read_text(errors="replace")[-4000:]

    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def resident_bytes(self) -> int:
        return self._status("VmRSS")

    def peak_bytes(self) -> int:
        return self._status("VmHWM")

    def _status(self, field: str) -> int:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"no {field}")

    def connect(self, timeout: float = DEADLINE) -> socket.socket:
        return socket.create_connection(self.endpoint, timeout)


def _drain(stream, lines: "queue.Queue[str | None]") -> None:
    """Reads on after the ready line too, so that the node can never block on a full pipe."""
    try:
        for line in stream:
            lines.put(line)
    except ValueError:  # closed by kill()
        pass
    lines.put(None)


def environment() -> dict[str, str]:
    """The environment without settings of whoever runs the tests."""
    return {k: v for k, v in os.environ.items() if not k.startswith("LYCOSA_")}


def lycosa(*arguments: str, stdin: str | None = None, within: float = 60,
           server: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs one command of the binary to its end."""
    env = environment()
    if server:
        env["LYCOSA_SERVER"] = server
    return subprocess.run([BINARY, *arguments], input=stdin, capture_output=True, text=True,
                          timeout=within, env=env)


# -- tasks ---------------------------------------------------------------------------------------

MESSAGES = ("on_start", "on_finished", "_on_get_info", "_on_cronjob", "_on_message")


def task(project: str, taskid: str, **parts: Any) -> dict[str, Any]:
    """A task; `schedule` members may be given by name: task("p", "a", priority=3)."""
    whole = {"project": project, "taskid": taskid, "url": f"http://site.test/{taskid}"}
    schedule = {k: v for k, v in parts.items() if k not in ("url", "fetch", "process", "track")}
    whole.update({k: v for k, v in parts.items() if k not in schedule})
    if schedule:
        whole["schedule"] = schedule
    return whole


def ids(tasks: Iterable[dict[str, Any]]) -> list[str]:
    return [t["taskid"] for t in tasks]


_names = itertools.count(1)


class NodeTest(unittest.TestCase):
    """One node a class; a project of its own a test."""

    settings: tuple[str, ...] = ()
    node: Node

    @classmethod
    def setUpClass(cls) -> None:
        cls.node = Node(*cls.settings)
        try:
            cls.node.start()
        except BaseException:
            cls.node.close()
            raise

    @classmethod
    def tearDownClass(cls) -> None:
        cls.node.close()

    @property
    def client(self) -> Client:
        return self.node.client

    def project(self, **fields: Any) -> str:
        """A running project without a noticeable rate limit; removed after the test."""
        name = f"p{next(_names)}"
        fields = {"status": "RUNNING", "rate": 1e6, "burst": 1e6, **fields}
        self.client.put_project(name, **fields)
        self.addCleanup(self._drop, name)
        return name

    def _drop(self, name: str) -> None:
        try:
            self.client.drop_project(name)
        except (LycosaError, Unreachable):
            pass

    def remake(self, name: str) -> None:
        """Makes a project of a name whose old bearer may still be on its way out (409)."""
        def made() -> bool:
            try:
                self.client.put_project(name, status="RUNNING", rate=1e6, burst=1e6)
            except LycosaError as error:
                if error.status != 409:
                    raise
                return False
            return True
        until(made, f"the name {name} to be free")

    def lease(self, project: str, max: int = 100, wait: float = 0) -> list[dict[str, Any]]:
        """Leases ordinary tasks of a project; settles messages of the scheduler on the way."""
        tasks = self.client.lease(max, wait, [project])
        messages = [t for t in tasks if t["taskid"] in MESSAGES]
        if messages:
            self.client.report([status_pack(t, True) for t in messages if "lease" in t])
        return [t for t in tasks if t["taskid"] not in MESSAGES]

    def lease_one(self, project: str, wait: float = DEADLINE) -> dict[str, Any]:
        """The next task of a project, as soon as there is one."""
        give_up = time.monotonic() + wait
        while True:
            tasks = self.lease(project, 1, max(0.0, give_up - time.monotonic()))
            if tasks:
                return tasks[0]
            if time.monotonic() >= give_up:
                self.fail(f"no task of {project} came within {wait:g} s")

    def drain(self, project: str, count: int) -> list[dict[str, Any]]:
        """Leases until `count` tasks have come."""
        taken: list[dict[str, Any]] = []
        until(lambda: taken.extend(self.lease(project, count - len(taken), 1)) or
              len(taken) >= count, f"{count} tasks of {project}")
        return taken

    def finish(self, leased: dict[str, Any], ok: bool = True, **more: Any) -> dict[str, Any]:
        """Reports one task and returns the answer."""
        return self.client.report({**status_pack(leased, ok), **more})

    def status(self, project: str, taskid: str) -> int:
        return self.client.task(project, taskid)["status"]

    def assert_refused(self, status: int, call: Callable[[], Any]) -> LycosaError:
        with self.assertRaises(LycosaError) as caught:
            call()
        self.assertEqual(caught.exception.status, status, str(caught.exception))
        return caught.exception


ACTIVE, SUCCESS, FAILED, BAD = 1, 2, 3, 4
