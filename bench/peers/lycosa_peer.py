"""Lycosa itself: `lycosa serve` on an empty directory, loaded by `lycosa bench lifecycle`."""

from __future__ import annotations

import os
import subprocess

from processes import Server, free_port, run_client
from rows import NONE, LAST, SYNC, Missing, Run, Workload

BINARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/release/lycosa")


def check() -> str:
    """The version; raises Missing."""
    if not os.access(BINARY, os.X_OK):
        raise Missing(f"{os.path.normpath(BINARY)} is not there: ./dev build, or --lycosa PATH")
    return subprocess.run([BINARY, "--version"], capture_output=True, text=True,
                          check=True).stdout.strip()


def go(load: Workload, folder: str) -> Run:
    port = free_port()
    # Without a data directory everything is in memory; named otherwise, a default file could
    # bring one back.
    data = "" if load.durability == NONE else os.path.join(folder, "data")
    durability = "sync" if load.durability == SYNC else "async"
    serve = [BINARY, "serve", "--data", data, "--listen", f"127.0.0.1:{port}",
             "--set", 'xmlrpc.listen="127.0.0.1:0"', "--set", f'storage.durability="{durability}"']
    with Server(serve, port, folder) as server:
        before = server.cpu()
        got = run_client([BINARY, "bench", "lifecycle", "--json",
                          "--server", f"http://127.0.0.1:{port}", "--tasks", str(load.tasks),
                          "--batch", str(load.batch), "--connections", str(load.connections)])
        return Run(load.tasks, got["seconds"], got["lost"], got["delivered_twice"],
                   got["client_cpu"], server.cpu() - before)


def workloads() -> list[Workload]:
    def row(durability: str, batch: int, connections: int, tasks: int) -> Workload:
        name = {SYNC: 'Lycosa, durability "sync"', LAST: 'Lycosa, durability "async"',
                NONE: "Lycosa, memory only"}[durability]
        return Workload("lycosa", name, durability, batch, connections, tasks, go)
    return [row(durability, batch, connections, tasks)
            for durability in (SYNC, LAST, NONE)
            for batch, connections, tasks in ((1000, 4, 200_000), (100, 64, 100_000),
                                              (1, 64, 20_000))]
