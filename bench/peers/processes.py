"""Servers and load clients as processes, and how much processor time each of them took."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time

DEADLINE = 30.0  # seconds for a server to listen or to stop
CLIENT_DEADLINE = 600.0  # seconds for one run


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A process that listens on `port`; used as a context, so that it never outlives its run."""

    def __init__(self, command: list[str], port: int, folder: str):
        self.port = port
        self.log = os.path.join(folder, "server.log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        give_up = time.monotonic() + DEADLINE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > give_up:
                    self.stop()
                    raise RuntimeError(f"{command[0]} does not listen: {self.said()}") from None
                time.sleep(0.02)

    def said(self) -> str:
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()[-2000:]

    def cpu(self) -> float:
        """Processor seconds so far, all threads."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def run_client(command: list[str], env: dict[str, str] | None = None) -> dict:
    """Runs a load client; the last line it prints is JSON. Adds `client_cpu` when it did not."""
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True, timeout=CLIENT_DEADLINE,
                          env={**os.environ, **(env or {})}, check=False)
    after = os.times()
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}: "
                           f"{(done.stderr + done.stdout)[-2000:]}")
    figures = json.loads(done.stdout.strip().splitlines()[-1])
    # Only the client was waited for in between: the servers are stopped later.
    spent = (after.children_user + after.children_system
             - before.children_user - before.children_system)
    figures.setdefault("client_cpu", spent)
    return figures
