"""Several hosts on one machine, each a network namespace, with nodes of one cluster and an etcd.

Tests that use it run in namespaces of their own (`unshare -Urnm`), so they need no privileges and
leave nothing behind. The test itself sits at the switch that joins the hosts.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

from harness import BINARY, Node, environment, until

NETWORK = "10.77.0"


def run(*line: str) -> None:
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(line)}: {done.stderr}")


class Network:
    """The switch and its hosts, numbered from 1. Only one at a time."""

    def __init__(self, hosts: int):
        self.hosts = hosts
        run("mount", "-t", "tmpfs", "none", "/run")
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "switch", "type", "bridge")
        run("ip", "addr", "add", f"{NETWORK}.254/24", "dev", "switch")
        run("ip", "link", "set", "switch", "up")
        for i in range(1, hosts + 1):
            run("ip", "netns", "add", f"h{i}")
            run("ip", "link", "add", f"port{i}", "type", "veth", "peer", "name", "eth0", "netns",
                f"h{i}")
            run("ip", "link", "set", f"port{i}", "master", "switch", "up")
            run("ip", "-n", f"h{i}", "addr", "add", f"{NETWORK}.{i}/24", "dev", "eth0")
            run("ip", "-n", f"h{i}", "link", "set", "eth0", "up")
            run("ip", "-n", f"h{i}", "link", "set", "lo", "up")

    def close(self) -> None:
        for i in range(1, self.hosts + 1):
            subprocess.run(["ip", "netns", "del", f"h{i}"], capture_output=True)
        subprocess.run(["ip", "link", "del", "switch"], capture_output=True)
        subprocess.run(["umount", "/run"], capture_output=True)

    @staticmethod
    def address(host: int) -> str:
        return f"{NETWORK}.{host}"

    @staticmethod
    def inside(host: int) -> list[str]:
        return ["ip", "netns", "exec", f"h{host}"]

    # -- faults --

    def cut(self, a: int, b: int) -> None:
        """What `a` sends to `b` is lost; not the other way round."""
        run("ip", "-n", f"h{a}", "route", "replace", "blackhole", f"{self.address(b)}/32")

    def mend(self, a: int, b: int) -> None:
        subprocess.run(["ip", "-n", f"h{a}", "route", "del", "blackhole", f"{self.address(b)}/32"],
                       capture_output=True)

    def unplug(self, host: int) -> None:
        run("ip", "link", "set", f"port{host}", "down")

    def plug_in(self, host: int) -> None:
        run("ip", "link", "set", f"port{host}", "up")

    def heal(self) -> None:
        for a in range(1, self.hosts + 1):
            self.plug_in(a)
            for b in range(1, self.hosts + 1):
                if a != b:
                    self.mend(a, b)


class Etcd:
    """One etcd on a host of its own."""

    def __init__(self, host: int):
        self.host = host
        self.folder = Path(tempfile.mkdtemp(prefix="lycosa-etcd-"))
        self.url = f"http://{Network.address(host)}:2379"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Etcd":
        peer = f"http://{Network.address(self.host)}:2380"
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [*Network.inside(self.host), "etcd", "--data-dir", str(self.folder / "data"),
                 "--listen-client-urls", f"{self.url},http://127.0.0.1:2379",
                 "--advertise-client-urls", self.url, "--listen-peer-urls", peer,
                 "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"],
                stdout=log, stderr=log)
        until(self._answers, "etcd")
        return self

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=1) as r:
                return b"true" in r.read()
        except OSError:
            return False

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait(30)
            self.process = None

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class ClusterNode(Node):
    """A node of the cluster, on a host of its own."""

    def __init__(self, number: int, etcd: Etcd, *settings: str, data: Path | None = None):
        super().__init__(*settings, data=data)
        self.number = number
        self.name = f"n{number}"
        self.etcd = etcd
        self.prefix: list[str] = []

    def command(self, *extra: str) -> list[str]:
        here = Network.address(self.number)
        line = [*Network.inside(self.number), *self.prefix, BINARY, "serve", "--data",
                str(self.data), "--listen", f"{here}:8040"]
        for setting in [f'node.name="{self.name}"', 'xmlrpc.enabled=false', 'cluster.mode="etcd"',
                        'cluster.name="test"', f'cluster.listen="{here}:8050"',
                        f'cluster.etcd=["{self.etcd.url}"]', 'cluster.session="2s"',
                        'cluster.heartbeat="200ms"', 'storage.shards=2',
                        *self.settings, *extra]:
            line += ["--set", setting]
        return line

    def state(self) -> dict[str, Any]:
        """`GET /v1/cluster`, or nothing while it does not answer."""
        try:
            with urllib.request.urlopen(f"{self.url}/v1/cluster", timeout=2) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return {}


class Cluster:
    """Hosts 1 … n with nodes, and one more with etcd."""

    def __init__(self, nodes: int = 3, *settings: str):
        self.network = Network(nodes + 1)
        self.etcd = Etcd(nodes + 1)
        self.nodes = [ClusterNode(i, self.etcd, *settings) for i in range(1, nodes + 1)]

    def start(self) -> "Cluster":
        self.etcd.start()
        for n in self.nodes:
            n.start()
        self.await_in_sync(len(self.nodes))
        return self

    def close(self) -> None:
        for n in self.nodes:
            if n.process is not None:
                n.process.send_signal(signal.SIGCONT)
            n.close()
        self.etcd.close()
        self.network.close()

    def node(self, name: str) -> ClusterNode:
        return next(n for n in self.nodes if n.name == name)

    def active(self) -> ClusterNode:
        """The node that runs the scheduler, once there is one."""
        return self.node(until(self._active, "an active node"))

    def _active(self) -> str | None:
        for n in self.nodes:
            if n.alive() and n.address:
                state = n.state()
                name = state.get("active")
                if name and name == n.name and n.client.ready():
                    return name
        return None

    def others(self, than: ClusterNode) -> list[ClusterNode]:
        return [n for n in self.nodes if n is not than]

    def await_in_sync(self, count: int, within: float = 60) -> None:
        def all_in_sync() -> bool:
            state = next((s for n in self.nodes if n.alive() and (s := n.state())), {})
            shards = state.get("shards", [])
            return bool(shards) and all(len(s["in_sync"]) >= count for s in shards)
        until(all_in_sync, f"{count} copies in sync", within)

    def await_active_other_than(self, node: ClusterNode) -> ClusterNode:
        def other() -> str | None:
            for n in self.others(node):
                state = n.state() if n.alive() else {}
                if state.get("active") not in (None, node.name) and n.client.ready():
                    return state["active"]
            return None
        return self.node(until(other, f"another active node than {node.name}"))

    def differences(self) -> list[str]:
        """Of stopped nodes: copies that stand at the same position and hold something else."""
        digests, out = self.digests(), []
        for shard in digests[0]:
            seen: dict[tuple[int, int], str] = {}
            for d in digests:
                at = (d[shard]["epoch"], d[shard]["lsn"])
                if seen.setdefault(at, d[shard]["digest"]) != d[shard]["digest"]:
                    out.append(f"copies of {shard} differ at {at}")
        return out

    def digests(self) -> list[dict[str, str]]:
        """What the copies of stopped nodes hold, for comparison."""
        out = []
        for n in self.nodes:
            done = subprocess.run([BINARY, "cluster", "digest", "--data", str(n.data), "--json"],
                                  capture_output=True, text=True, env=environment(), timeout=120)
            if done.returncode != 0:
                raise AssertionError(done.stderr)
            out.append(json.loads(done.stdout))
        return out
