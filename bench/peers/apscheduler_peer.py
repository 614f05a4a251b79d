"""APScheduler 3: date jobs due at once, with its memory store and with SQLAlchemy on SQLite."""

from __future__ import annotations

import os
import subprocess

from processes import run_client
from rows import NONE, SYNC, Missing, Run, Workload

HERE = os.path.dirname(os.path.abspath(__file__))
APT = ["python3-apscheduler", "python3-sqlalchemy"]
PYTHON = "/usr/bin/python3"  # Debian's, whose packages these are


def check() -> str:
    versions = []
    for module, package in (("apscheduler", "python3-apscheduler"),
                            ("sqlalchemy", "python3-sqlalchemy")):
        asked = subprocess.run(
            [PYTHON, "-c", f"import {module} as m; "
             "print(getattr(m, '__version__', None) or m.version)"],
            capture_output=True, text=True, check=False)
        if asked.returncode != 0:
            raise Missing(f"{PYTHON} has no {module}: apt-get install {package}, or --install")
        versions.append(f"{module} {asked.stdout.strip()}")
    return ", ".join(versions)


def go(load: Workload, folder: str) -> Run:
    kind = "memory" if load.durability == NONE else "sqlite"
    got = run_client([PYTHON, os.path.join(HERE, "apscheduler_load.py"), kind, str(load.tasks),
                      folder])
    return Run(load.tasks, got["seconds"], got["lost"], got["twice"], got["client_cpu"])


def workloads() -> list[Workload]:
    return [Workload("apscheduler", "APScheduler, date jobs, SQLite", SYNC, 1, 0, 1_000, go),
            Workload("apscheduler", "APScheduler, date jobs, memory", NONE, 1, 0, 5_000, go)]
