"""pyspider: told whether it can be imported here, and a stand-in of its storage work otherwise.

It is no Debian package, and its last release does not import on Python 3.7 and later (it has
arguments named `async`). The stand-in is ours, see sqlite_load.py.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys

from processes import run_client
from rows import SYNC, Run, Workload

HERE = os.path.dirname(os.path.abspath(__file__))
APT: list[str] = []


def importable() -> str:
    """The interpreter that can import pyspider's scheduler, or an empty text."""
    for python in ("/usr/bin/python3", shutil.which("python3"), shutil.which("python2")):
        if python and subprocess.run([python, "-c", "import pyspider.scheduler"],
                                     capture_output=True, check=False).returncode == 0:
            return python
    return ""


def check() -> str:
    python = importable()
    found = (f"importable by {python}, but not driven by this benchmark" if python
             else "not importable here")
    return f"pyspider: {found}; stand-in on SQLite {sqlite3.sqlite_version}"


def go(load: Workload, folder: str) -> Run:
    got = run_client([sys.executable, os.path.join(HERE, "sqlite_load.py"), str(load.tasks),
                      folder])
    return Run(load.tasks, got["seconds"], got["lost"], got["twice"], got["client_cpu"])


def workloads() -> list[Workload]:
    return [Workload("pyspider", "our stand-in for pyspider's storage work (SQLite; not pyspider)",
                     SYNC, 1, 0, 1_000, go)]
