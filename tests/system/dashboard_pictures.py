"""Draws the pictures of docs/dashboard.md: a node with some life in it, looked at.

    LYCOSA_BIN=build/release/lycosa python3 tests/system/dashboard_pictures.py docs
"""

import base64
import random
import sys
import threading
import time
from pathlib import Path

from browser import Browser
from harness import Node, status_pack, task, until

PROJECTS = {
    "news": dict(rate=40, burst=80, group="press"),
    "papers": dict(rate=12, burst=20, group="press"),
    "shop-prices": dict(rate=0.5, burst=2, group="trade"), "maps": dict(rate=20, burst=20),
    "weather": dict(rate=8, burst=8), "archive": dict(rate=5, burst=10, status="STOP"),
    "forum": dict(rate=6, burst=12, group="press", retry_delay={"0": 5, "": 3600}),
    "patents": dict(rate=3, burst=6, group="library", status="PAUSED"),
}
JOBS = [
    {"id": "nightly-backup", "name": "Backup of the node",
     "trigger": {"type": "crontab", "expr": "30 2 * * *"},
     "action": {"type": "command", "shell": "echo 'backed up 14 shards, 2.1 GB'"}},
    {"id": "seed-news", "name": "Front pages",
     "trigger": {"type": "crontab", "expr": "*/15 * * * *"},
     "action": {"type": "task", "task": {"project": "news", "url": "http://news.test/"}}},
    {"id": "month-end-report", "trigger": {"type": "oncalendar", "expr": "*-*-28..31 18:00:00"},
     "action": {"type": "command", "shell": "echo no data for the last day >&2; exit 3"}},
    {"id": "warm-cache", "trigger": {"type": "interval", "hours": 6}, "paused": True,
     "pause_reason": "new cache next week", "action": {"type": "command", "shell": "true"}},
]


def crawl(node: Node, stop: threading.Event) -> None:
    """A fetcher with its luck."""
    chance = random.Random(7)
    while not stop.is_set():
        packs = []
        for t in node.client.lease(30, 1, consumer="fetcher-1"):
            if "lease" not in t or chance.random() < 0.02:
                continue
            bad = {"forum": 0.3, "shop-prices": 0.2}.get(t["project"], 0.02)
            pack = status_pack(t, chance.random() > bad)
            pack["track"]["fetch"].update(time=chance.uniform(0.05, 0.4))
            pack["track"]["process"].update(time=chance.uniform(0.01, 0.05))
            packs.append(pack)
        if packs:
            node.client.report(packs)


def draw(folder: Path, seconds: float) -> None:
    with Node("scheduler.fail_pause_num=0") as node:
        for name, fields in PROJECTS.items():
            node.client.put_project(name, **{"status": "RUNNING", **fields})
            node.client.submit([task(name, f"{name}-{i:05}", url=f"http://{name}.test/page/{i}",
                                     retries=i % 3, exetime=time.time() + 600 * (i % 9 == 0))
                                for i in range(int(fields["rate"] * 90) + 40)])
        for job in JOBS:
            node.client.call("POST", "/v1/jobs", {"timezone": "Europe/Berlin", **job})
        for job in JOBS[:3]:
            node.client.call("POST", f"/v1/jobs/{job['id']}/run")
        stop = threading.Event()
        crawler = threading.Thread(target=crawl, args=(node, stop))
        crawler.start()
        browser = Browser(node.url)
        try:
            stop.wait(seconds)
            until(lambda: node.client.call("GET", "/v1/scheduler/jobs")["running"] == 0, "runs")
            shots = [
                ("dashboard-projects", "/", 1280, 860, False),
                ("dashboard-project", "/project/shop-prices", 1280, 1000, True),
                ("dashboard-job", "/jobs/new", 1280, 960, False),
                ("dashboard-phone", "/", 390, 844, True),
                ("extra-jobs", "/jobs", 1280, 700, False),
                ("extra-jobpage", "/job/month-end-report", 1280, 900, True),
                ("extra-events", "/events", 1280, 700, True),
                ("extra-task", "/project/forum/task/forum-00007", 1280, 900, False),
                ("extra-wide", "/", 2560, 900, False),
                ("extra-phoneproject", "/project/forum", 360, 1500, False),
            ]
            for name, place, width, height, dark in shots:
                if name.startswith("extra") and "--all" not in sys.argv:
                    continue
                browser.dark(dark)
                browser.resize(width, height)
                browser.open(place)
                if place == "/jobs/new":
                    browser.type("Id", "seed-papers")
                    browser.type("Expression", "*/20 8-18 * * mon-fri")
                    browser.type("Time zone", "Europe/Berlin")
                    browser.see("20 minutes", ".meaning")
                    browser.see("Europe/Berlin", ".meaning")
                elif "/job" not in place and "events" not in place and "task" not in place:
                    until(lambda: browser.js("return !!globalThis.Chart"), "the chart")
                    stop.wait(2.5)
                picture = browser.driver.execute_cdp_cmd("Page.captureScreenshot",
                                                         {"format": "png"})["data"]
                (folder / f"{name}.png").write_bytes(base64.b64decode(picture))
        finally:
            stop.set()
            crawler.join()
            browser.close()


if __name__ == "__main__":
    draw(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 75)
