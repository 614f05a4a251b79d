"""The machine's state before a run: without it, figures of two days cannot be compared."""

from __future__ import annotations

import os
import platform
import time


def filesystem(folder: str) -> str:
    """The type of the file system that holds the folder."""
    best, kind = "", "unknown"
    real = os.path.realpath(folder)
    with open("/proc/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            _, at, this, *_ = line.split()
            inside = real == at or real.startswith(at.rstrip("/") + "/")
            if inside and len(at) >= len(best):
                best, kind = at, this
    return kind


def syncs_per_second(folder: str, seconds: float = 1.0) -> float:
    """Appends of 4 KiB, each followed by fdatasync, by one writer."""
    path = os.path.join(folder, "syncs")
    file = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        block, n, begun = os.urandom(4096), 0, time.monotonic()
        while time.monotonic() - begun < seconds:
            os.write(file, block)
            os.fdatasync(file)
            n += 1
        return n / (time.monotonic() - begun)
    finally:
        os.close(file)
        os.unlink(path)


def write_bandwidth(folder: str, size: int = 256 << 20) -> float:
    """Bytes a second of one sequential writer, with the sync at its end."""
    path = os.path.join(folder, "bandwidth")
    file = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        block, begun = os.urandom(1 << 20), time.monotonic()
        for _ in range(size >> 20):
            os.write(file, block)
        os.fdatasync(file)
        return size / (time.monotonic() - begun)
    finally:
        os.close(file)
        os.unlink(path)


def busy() -> float:
    """Processor seconds the machine has spent at work so far, what a hypervisor took included."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _, _, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def wait_until_idle(cores: float, at_most: float = 60.0) -> bool:
    """Waits for a second in which no more cores than that were busy; false when none came."""
    give_up = time.monotonic() + at_most
    while time.monotonic() < give_up:
        begun, before = time.monotonic(), busy()
        time.sleep(1)
        if (busy() - before) / (time.monotonic() - begun) <= cores:
            return True
    return False


def processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as text:
        for line in text:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def state(folder: str, small: bool) -> dict:
    load = os.getloadavg()
    return {
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        "cores": len(os.sched_getaffinity(0)),
        "processor": processor(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "kernel": platform.release(),
        "load_before": [round(x, 2) for x in load],
        "filesystem": filesystem(folder),
        "syncs_per_second": round(syncs_per_second(folder, 0.2 if small else 1.0)),
        "write_mb_per_second": round(write_bandwidth(folder, (32 if small else 256) << 20) / 1e6),
    }
