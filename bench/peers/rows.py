"""What a benchmark of peers is made of: a workload (one row of the table) and one run of it."""

from __future__ import annotations

import dataclasses
from typing import Callable

# Durability classes: what an acknowledged write survives. Ratios are taken within one class alone.
SYNC = "sync"      # a power cut
LAST = "last writes"  # a crash of the process; a power cut may take the last of them
NONE = "none"      # nothing: memory alone
CLASSES = (SYNC, LAST, NONE)


@dataclasses.dataclass
class Run:
    """One run of a workload, from the first submission to the last settled task."""

    tasks: int
    seconds: float
    lost: int = 0
    twice: int = 0
    client_cpu: float = 0.0  # processor seconds of the load client
    server_cpu: float | None = None  # of the server; None: one process is both
    others: float = 0.0  # cores that were busy with neither, on average

    @property
    def rate(self) -> float:
        return self.tasks / self.seconds

    def exactly_once(self) -> bool:
        return self.lost == 0 and self.twice == 0


@dataclasses.dataclass
class Workload:
    """One row: a server started on an empty directory, the whole load, the server stopped."""

    peer: str        # as --peers names it
    name: str        # as the table names it
    durability: str  # one of CLASSES
    batch: int       # tasks in a request, or commands sent at once; 1: one at a time
    connections: int  # 0: no connections, one process
    tasks: int
    go: Callable[["Workload", str], Run] = dataclasses.field(repr=False, compare=False)
    unit: str = ""   # what is counted in `connections`, when it is not connections

    @property
    def shape(self) -> str:
        if self.connections == 0:
            return f"in one process, {self.batch} at a time"
        return f"{self.connections} {self.unit} x {self.batch}".replace("  ", " ")


class Missing(Exception):
    """Something a peer needs is not installed; the text says what and how to get it."""
