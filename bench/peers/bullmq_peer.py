"""BullMQ on Redis, its append-only file synced always and each second."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

from processes import Server, free_port, run_client
from rows import LAST, SYNC, Missing, Run, Workload

HERE = os.path.dirname(os.path.abspath(__file__))
APT = ["redis-server", "nodejs", "npm"]
NPM = ["bullmq", "ioredis"]
# Where npm put them; run.py sets it to a folder that goes with the run, unless one is given.
home = os.environ.get("BULLMQ_HOME", "")


def install(folder: str) -> None:
    """By npm, without the install scripts of packages: BullMQ does without its optional one."""
    subprocess.run(["npm", "install", "--prefix", folder, "--no-audit", "--no-fund",
                    "--ignore-scripts", "--loglevel=error", *NPM], check=True,
                   stdout=subprocess.DEVNULL)


def check() -> str:
    for program, package in (("redis-server", "redis-server"), ("node", "nodejs")):
        if shutil.which(program) is None:
            raise Missing(f"{program} is not there: apt-get install {package}, or --install")
    versions = []
    for package in NPM:
        file = os.path.join(home, "node_modules", package, "package.json")
        if not home or not os.path.exists(file):
            raise Missing(f"npm's {package} is not there: --install (into a folder that is removed "
                          "after the run), or BULLMQ_HOME=FOLDER where npm install put it")
        with open(file, encoding="utf-8") as text:
            versions.append(f"{package} {json.load(text)['version']}")
    redis = subprocess.run(["redis-server", "--version"], capture_output=True, text=True,
                           check=True)
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
    return ", ".join([*versions, "redis " + redis.stdout.split("v=")[1].split()[0],
                      "node " + node.stdout.strip()])


def go(load: Workload, folder: str) -> Run:
    port = free_port()
    command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", folder,
               "--save", "", "--appendonly", "yes", "--maxmemory-policy", "noeviction",
               "--appendfsync", "always" if load.durability == SYNC else "everysec"]
    with Server(command, port, folder) as server:
        before = server.cpu()
        got = run_client(["node", os.path.join(HERE, "bullmq_load.js"), json.dumps(
            {"port": port, "tasks": load.tasks, "batch": load.batch,
             "connections": load.connections, "threads": 2})], {"BULLMQ_HOME": home})
        return Run(load.tasks, got["seconds"], got["lost"], got["twice"],
                   got["client_cpu"], server.cpu() - before)


def workloads() -> list[Workload]:
    def row(durability: str, how: str, batch: int, connections: int, tasks: int) -> Workload:
        bulk = ", addBulk" if batch > 1 else ""
        return Workload("bullmq", f"BullMQ, appendfsync {how}{bulk}", durability, batch,
                        connections, tasks, go, unit="producers")
    return [row(durability, how, batch, connections, 20_000 if batch > 1 else 8_000)
            for durability, how in ((SYNC, "always"), (LAST, "everysec"))
            for batch, connections in ((1000, 4), (100, 64), (1, 64))]
