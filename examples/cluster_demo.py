#!/usr/bin/env python3
"""Three nodes and an etcd on this machine, to look at what a cluster does.

Starts everything on loopback in a temporary directory, prints where it is and what to try, tells
when another node takes over, and runs until Ctrl-C, which takes everything away again. Enter starts
nodes that were killed meanwhile.

    ./dev cluster-demo
    ./examples/cluster_demo.py --lycosa build/release/lycosa --keep DIR

Ports: HTTP 8041, 8042, 8043; between nodes 8051, 8052, 8053; etcd 8061 and 8062.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
HTTP, LINK, ETCD = 8040, 8050, 8061
NODES = (1, 2, 3)


def fail(why: str) -> None:
    raise SystemExit(f"cluster-demo: {why}")


def check_ports() -> None:
    taken = []
    for port in [p + n for p in (HTTP, LINK) for n in NODES] + [ETCD, ETCD + 1]:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                taken.append(str(port))
    if taken:
        fail(f"these ports of 127.0.0.1 are in use: {', '.join(taken)} (another demo?)")


def answer(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=1) as r:
        return r.read()


class Demo:
    def __init__(self, binary: str, folder: Path):
        self.binary = binary
        self.folder = folder
        self.children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        # A group of its own each: Ctrl-C is for this script, which stops them in order.
        with open(self.folder / f"{name}.log", "ab") as log:
            child = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                     start_new_session=True)
        self.children[name] = child
        return child

    def start_etcd(self) -> None:
        client, peer = f"http://127.0.0.1:{ETCD}", f"http://127.0.0.1:{ETCD + 1}"
        child = self.start("etcd", [
            "etcd", "--data-dir", str(self.folder / "etcd"), "--listen-client-urls", client,
            "--advertise-client-urls", client, "--listen-peer-urls", peer,
            "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"])
        self.wait(child, "etcd", lambda: b"true" in answer(f"{client}/health"))

    def node_command(self, n: int) -> list[str]:
        line = [self.binary, "serve", "--data", str(self.folder / f"n{n}"),
                "--listen", f"127.0.0.1:{HTTP + n}"]
        for setting in (f"node.name=n{n}", "xmlrpc.enabled=false", "cluster.mode=etcd",
                        "cluster.name=demo", f"cluster.listen=127.0.0.1:{LINK + n}",
                        f'cluster.etcd=["http://127.0.0.1:{ETCD}"]'):
            line += ["--set", setting]
        return line

    def start_node(self, n: int) -> None:
        child = self.start(f"n{n}", self.node_command(n))
        self.wait(child, f"n{n}", lambda: bool(self.state(n).get("shards")))

    def wait(self, child: subprocess.Popen[bytes], name: str, ready) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if child.poll() is not None:
                break
            try:
                if ready():
                    return
            except (OSError, ValueError):
                pass
            time.sleep(0.1)
        log = (self.folder / f"{name}.log").read_text(errors="replace")[-2000:]
        fail(f"{name} does not start:\n{log}")

    def state(self, n: int) -> dict:
        return json.loads(answer(f"http://127.0.0.1:{HTTP + n}/v1/cluster"))

    def seen(self) -> tuple[str, int]:
        """Who leads, and how many copies of everything are in sync, as any living node says."""
        for n in NODES:
            try:
                state = self.state(n)
            except (OSError, ValueError):
                continue
            shards = state.get("shards", [])
            return state.get("active") or "nobody", min((len(s["in_sync"]) for s in shards),
                                                        default=0)
        return "no node answers", 0

    def stop(self) -> None:
        for child in reversed(self.children.values()):  # etcd was first and goes last
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
                try:
                    child.wait(5)
                except subprocess.TimeoutExpired:
                    child.kill()
                    child.wait(10)

    def run(self) -> None:
        self.start_etcd()
        for n in NODES:
            self.start_node(n)
        until = time.monotonic() + 60
        while self.seen()[1] < len(NODES):
            if time.monotonic() > until:
                fail(f"the copies are not in sync; see the logs (--keep): {self.seen()}")
            time.sleep(0.2)
        self.tell()
        last = None
        while True:
            now = self.seen()
            if now != last:
                print(f"{time.strftime('%H:%M:%S')}  leads: {now[0]}, copies in sync: {now[1]}",
                      flush=True)
                last = now
            if self.enter_pressed(0.3):
                for n in NODES:
                    if self.children[f"n{n}"].poll() is not None:
                        self.start_node(n)
                        print(f"{time.strftime('%H:%M:%S')}  n{n} is started again, process "
                              f"{self.children[f'n{n}'].pid}", flush=True)

    @staticmethod
    def enter_pressed(within: float) -> bool:
        if sys.stdin is None or not sys.stdin.isatty():
            time.sleep(within)
            return False
        return bool(select.select([sys.stdin], [], [], within)[0]) and bool(sys.stdin.readline())

    def tell(self) -> None:
        lycosa = shlex.quote(os.path.relpath(self.binary))
        logs = self.folder / "n*.log"
        print(f"""
Three nodes with the same data; one leads and schedules, the others hold copies and pass requests on.
""")
        for n in NODES:
            print(f"  n{n}  http://127.0.0.1:{HTTP + n}/   process {self.children[f'n{n}'].pid}")
        print(f"""  etcd http://127.0.0.1:{ETCD}   everything is in {self.folder}, logs: {logs}

Try in another terminal:
  watch -n1 {lycosa} cluster status --server http://127.0.0.1:{HTTP + 1}
  {lycosa} project put docs --status RUNNING --rate 10 --burst 20 --server http://127.0.0.1:{HTTP + 2}
  echo '{{"project":"docs","url":"https://example.org/"}}' |
    {lycosa} task submit - --server http://127.0.0.1:{HTTP + 3}     # through any node
  kill -9 PROCESS                         # of the node that leads: another takes over in seconds
  {lycosa} task ls docs --server http://127.0.0.1:PORT            # of a living one: all is there
  {lycosa} cluster move n2 --server http://127.0.0.1:PORT         # by wish instead

Enter starts killed nodes again; Ctrl-C ends and removes everything.
""", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Three nodes and an etcd on this machine.")
    parser.add_argument("--lycosa", default=str(HERE.parent / "build" / "release" / "lycosa"))
    parser.add_argument("--keep", metavar="DIR", help="put everything there, and leave it")
    args = parser.parse_args()
    if not os.access(args.lycosa, os.X_OK):
        fail(f"{args.lycosa} is not there: ./dev cluster-demo builds it")
    if shutil.which("etcd") is None:
        fail("etcd is not installed (Debian: etcd-server); ./dev cluster-demo installs it")
    check_ports()
    folder = Path(args.keep) if args.keep else Path(tempfile.mkdtemp(prefix="lycosa-cluster-"))
    folder.mkdir(parents=True, exist_ok=True)
    demo = Demo(args.lycosa, folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also when started in the background
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        demo.run()
    except KeyboardInterrupt:
        print("\ncluster-demo: stops", file=sys.stderr)
    finally:
        demo.stop()
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
