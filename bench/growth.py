#!/usr/bin/env python3
"""How rate, memory, latency and restart grow with what is stored, and rate with the projects.

    bench/growth.py measure --stored 1e4,1e5,1e6,5e6 --projects 1,10,100,1000 --json growth.json
    bench/growth.py measure --only window --windowed 1e6,1e7,1e8 --body 0
    bench/growth.py plot --json bench/growth.json --folder docs

`measure` serves a node on a temporary directory (--data names a folder to make it in), fills it step
by step with queued tasks, and at each step runs `lycosa bench lifecycle` and `latency` and kills and
restarts the node; `window` does the same with a project that keeps 100,000 of its waiting tasks in
memory. What is measured replaces its part of the JSON file only. `plot` draws what was measured, one
SVG a curve.
"""

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PORT = 18060
URL = f"http://127.0.0.1:{PORT}"


class Node:
    running: "list[Node]" = []

    def __init__(self, binary: str, data: str):
        self.command = [binary, "serve", "--data", data, "--listen", f"127.0.0.1:{PORT}",
                        "--set", "xmlrpc.enabled=false"]
        self.process = None

    def start(self) -> None:
        Node.running.append(self)
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if line.startswith("lycosa ready"):
                return
        raise SystemExit("the node did not start")

    def kill(self) -> None:
        Node.running.remove(self)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def anonymous_bytes(self) -> int:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                return int(line.split()[1]) * 1024
        return 0


def ask(path: str, body: bytes | None = None):
    with urllib.request.urlopen(urllib.request.Request(URL + path, data=body), timeout=30) as answer:
        return json.load(answer)


def put(path: str, body: dict) -> None:
    request = urllib.request.Request(URL + path, data=json.dumps(body).encode(), method="PUT")
    urllib.request.urlopen(request, timeout=30).close()


def bench(binary: str, *arguments: str, server: str | None = URL) -> dict:
    """Without a server, against a node that the command serves itself."""
    where = ["--server", server] if server else []
    ran = subprocess.run([binary, "bench", *arguments, *where, "--json"],
                         capture_output=True, text=True, check=True)
    return json.loads(ran.stdout.splitlines()[-1])


def restart(node: Node) -> tuple[float, float]:
    """kill -9, start; seconds until a task is leased, and until all queues are loaded."""
    node.kill()
    begin = time.monotonic()
    node.start()
    while not ask("/v1/lease", b'{"max":1,"wait":5,"projects":["stored"]}')["tasks"]:
        pass
    first = time.monotonic() - begin
    while True:
        try:
            ask("/readyz")
            return first, time.monotonic() - begin
        except OSError:
            time.sleep(0.01)


def measure_stored(binary: str, folder: str, steps: list[int], tasks: int, body: int,
                   window: int = 0) -> list[dict]:
    node = Node(binary, folder + ("/windowed" if window else "/stored"))
    node.start()
    put("/v1/projects/stored", {"status": "RUNNING", "rate": 1e6, "burst": 1e6,
                                "queue_window": window})
    base, there, rows = node.anonymous_bytes(), 0, []
    for step in steps:
        if step > there:
            bench(binary, "submit", "--project", "stored", "--tasks", str(step - there),
                  "--batch", "1000", "--connections", "8", "--body", str(body))
            there = step
        row = {"stored": step, "bytes": node.anonymous_bytes() - base}
        rates = [bench(binary, "lifecycle", "--tasks", str(tasks), "--batch", "1000",
                       "--connections", "8")["tasks_per_second"] for _ in range(3)]
        row["rate"] = sorted(rates)[1]
        waits = bench(binary, "latency", "--rate", "100", "--tasks", "2000")["latency_ms"]
        row["latency"] = {p: waits["due_to_lease"][p] for p in ("p50", "p99")}
        if step:
            row["first_lease"], row["ready"] = restart(node)
        print(row, file=sys.stderr)
        rows.append(row)
    node.kill()
    return rows


def measure_projects(binary: str, steps: list[int], tasks: int) -> list[dict]:
    rows = []
    for step in steps:
        workload = ["hosts", "--projects", str(step)] if step > 1 else ["lifecycle"]
        got = bench(binary, *workload, "--tasks", str(tasks), "--batch", "1000",
                    "--connections", "8", server=None)
        rows.append({"projects": step, "rate": got["tasks_per_second"]})
        print(rows[-1], file=sys.stderr)
    return rows


# -- plots -----------------------------------------------------------------------------------------

STYLE = """<style>
  text { font: 12px sans-serif; fill: #333 } .axis { stroke: #888 } .grid { stroke: #ddd }
  .line { fill: none; stroke: #1565c0; stroke-width: 2 } .dot { fill: #1565c0 }
  .dotted { stroke-dasharray: 2 4 }
  .goal { stroke: #c62828; stroke-dasharray: 4 4 }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd } .grid { stroke: #444 } .line { stroke: #64b5f6 } .dot { fill: #64b5f6 } }
</style>"""


def short(value: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def plot(title: str, x_name: str, y_name: str, points: list[tuple[float, float]],
         goal: float | None = None, above: list[tuple[float, float]] | None = None) -> str:
    """Points over a logarithmic x axis; y from 0. `above`: a second line, dotted."""
    left, top, width, height = 70, 40, 520, 240
    points = [(max(x, 1), y) for x, y in points]
    above = [(max(x, 1), y) for x, y in above or []]
    low = math.floor(math.log10(points[0][0]))
    high = math.ceil(math.log10(points[-1][0])) or 1
    most = max([y for _, y in points + above] + ([goal] if goal else []))
    unit = 10 ** math.floor(math.log10(most))
    most = math.ceil(most / unit) * unit

    def at(x: float, y: float) -> tuple[float, float]:
        return (left + (math.log10(x) - low) / (high - low) * width, top + height - y / most * height)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 30} '
           f'{top + height + 60}" role="img" aria-label="{title}">', STYLE,
           f'<text x="{left}" y="22" font-weight="bold">{title}</text>']
    for decade in range(low, high + 1):
        x, _ = at(10 ** decade, 0)
        out.append(f'<line class="grid" x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{top + height}"/>'
                   f'<text x="{x:.1f}" y="{top + height + 18}" text-anchor="middle">'
                   f"{short(10 ** decade)}</text>")
    for part in range(5):
        _, y = at(10 ** low, most * part / 4)
        out.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}"/>'
                   f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">'
                   f"{short(most * part / 4)}</text>")
    if goal:
        _, y = at(10 ** low, goal)
        out.append(f'<line class="goal" x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}"/>')
    for line, style in ((points, "line"), (above, "line dotted")):
        path = " ".join("{:.1f},{:.1f}".format(*at(x, y)) for x, y in line)
        out.append(f'<polyline class="{style}" points="{path}"/>')
        out += ['<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="3"/>'.format(*at(x, y))
                for x, y in line]
    out.append(f'<text x="{left + width / 2}" y="{top + height + 42}" text-anchor="middle">{x_name}'
               f'</text><text transform="translate(16 {top + height / 2}) rotate(-90)" '
               f'text-anchor="middle">{y_name}</text></svg>')
    return "\n".join(out) + "\n"


def draw(measured: dict, folder: Path) -> None:
    stored = measured["stored"]
    filled = [r for r in stored if r["stored"]]
    queued = [r for r in filled if r["stored"] >= 1e6]
    window = [r for r in measured["window"] if r["stored"]]
    waited = sorted((r for r in filled + window if "latency" in r), key=lambda r: r["stored"])
    curves = {
        "growth-rate": plot("Lifecycles a second over stored tasks", "tasks stored", "tasks/s",
                            [(r["stored"] or 1e5, r["rate"]) for r in stored if "rate" in r],
                            0.6 * stored[0]["rate"]),
        "growth-memory": plot("Memory a queued task", "tasks queued", "bytes",
                              [(r["stored"], r["bytes"] / r["stored"]) for r in queued], 64),
        "growth-restart": plot("kill -9 to the first lease; with a window dotted", "tasks queued",
                               "seconds",
                               [(r["stored"], r["first_lease"]) for r in filled
                                if "first_lease" in r], 2,
                               [(r["stored"], r["first_lease"]) for r in window]),
        "growth-latency": plot("Submit to a waiting consumer at 100/s: p50, and p99 dotted",
                               "tasks stored", "milliseconds",
                               [(r["stored"], r["latency"]["p50"]) for r in waited],
                               above=[(r["stored"], r["latency"]["p99"]) for r in waited]),
        "growth-window": plot("Memory of a queue with a window of 100,000", "tasks queued", "MiB",
                              [(r["stored"], r["bytes"] / 2**20) for r in window], 2048),
        "growth-projects": plot("Lifecycles a second over projects (Zipf)", "projects", "tasks/s",
                                [(r["projects"], r["rate"]) for r in measured["projects"]]),
    }
    for name, text in curves.items():
        (folder / f"{name}.svg").write_text(text)


def numbers(text: str) -> list[int]:
    return [int(float(n)) for n in text.split(",") if n]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["measure", "plot"],
                        help="run the measurements, or draw what was measured")
    parser.add_argument("--lycosa", default=str(ROOT / "build/release/lycosa"), metavar="PATH",
                        help="the binary (default: build/release/lycosa)")
    parser.add_argument("--stored", type=numbers, default="0,1e4,1e5,1e6", metavar="N,N,…",
                        help="tasks queued at each step (default: %(default)s)")
    parser.add_argument("--projects", type=numbers, default="1,10,100,1000", metavar="N,N,…",
                        help="projects that share the tasks, at each step (default: %(default)s)")
    parser.add_argument("--windowed", type=numbers, default="1e4,1e5,1e6", metavar="N,N,…",
                        help="tasks queued behind a window at each step (default: %(default)s)")
    parser.add_argument("--only", choices=["stored", "projects", "window"], nargs="*",
                        default=["stored", "projects", "window"],
                        help="the measurements to run (default: all)")
    parser.add_argument("--body", type=int, default=200,
                        help="bytes of JSON in a queued task (default: %(default)s)")
    parser.add_argument("--tasks", type=int, default=400_000,
                        help="tasks of a lifecycle run (default: %(default)s)")
    parser.add_argument("--data", help="folder to make the data directories in "
                        "(default: the temporary folder)")
    parser.add_argument("--json", default=str(ROOT / "bench/growth.json"), metavar="FILE",
                        help="where figures are kept (default: bench/growth.json)")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs",
                        help="where plots go (default: docs)")
    o = parser.parse_args()
    if o.what == "plot":
        return draw(json.loads(Path(o.json).read_text()), o.folder)
    folder = tempfile.mkdtemp(prefix="lycosa-growth-", dir=o.data)
    known = Path(o.json)
    measured = json.loads(known.read_text()) if known.exists() else {}
    try:
        if "stored" in o.only:
            measured["stored"] = measure_stored(o.lycosa, folder, o.stored, o.tasks, o.body)
        if "projects" in o.only:
            measured["projects"] = measure_projects(o.lycosa, o.projects, o.tasks // 4)
        if "window" in o.only:
            measured["window"] = measure_stored(o.lycosa, folder, o.windowed, o.tasks, o.body,
                                                100_000)
    finally:
        for node in list(Node.running):
            node.kill()
        shutil.rmtree(folder, ignore_errors=True)
    Path(o.json).write_text(json.dumps(measured, indent=1) + "\n")


if __name__ == "__main__":
    main()
