"""beanstalkd, with its binlog synced always, each 50 ms, and without a binlog."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

from processes import Server, free_port, run_client
from rows import NONE, LAST, SYNC, Missing, Run, Workload

HERE = os.path.dirname(os.path.abspath(__file__))
APT = ["beanstalkd", "nodejs"]


def check() -> str:
    for program, package in (("beanstalkd", "beanstalkd"), ("node", "nodejs")):
        if shutil.which(program) is None:
            raise Missing(f"{program} is not there: apt-get install {package}, or --install")
    return subprocess.run(["beanstalkd", "-v"], capture_output=True, text=True,
                          check=True).stdout.strip()


def go(load: Workload, folder: str) -> Run:
    port = free_port()
    command = ["beanstalkd", "-l", "127.0.0.1", "-p", str(port)]
    if load.durability != NONE:
        command += ["-b", folder, "-f", "0" if load.durability == SYNC else "50"]
    with Server(command, port, folder) as server:
        before = server.cpu()
        got = run_client(["node", os.path.join(HERE, "beanstalkd_load.js"), json.dumps(
            {"port": port, "tasks": load.tasks, "batch": load.batch,
             "connections": load.connections, "threads": min(2, load.connections)})])
        return Run(load.tasks, got["seconds"], got["lost"], got["twice"],
                   got["client_cpu"], server.cpu() - before)


def workloads() -> list[Workload]:
    def row(durability: str, how: str, batch: int, connections: int, tasks: int) -> Workload:
        pipelined = ", pipelined" if batch > 1 else ""
        return Workload("beanstalkd", f"beanstalkd, {how}{pipelined}", durability, batch,
                        connections, tasks, go)
    return [
        row(SYNC, "binlog -f 0", 100, 64, 6_000),
        row(SYNC, "binlog -f 0", 1, 64, 6_000),
        row(LAST, "binlog -f 50", 1000, 4, 60_000),
        row(LAST, "binlog -f 50", 100, 64, 60_000),
        row(LAST, "binlog -f 50", 1, 64, 60_000),
        row(NONE, "no binlog", 1000, 4, 60_000),
        row(NONE, "no binlog", 100, 64, 60_000),
        row(NONE, "no binlog", 1, 64, 60_000),
    ]
