#!/usr/bin/env python3
"""A whole crawl on this machine: a web site, a node, a crawler, a crash, and a proof.

Serves the pages of a Debian documentation package (some 3,800 HTML pages of libstdc++-12-doc) on
loopback, starts a node on free ports with a fresh data directory, lets crawl_site.py crawl the
site, kills the node with -9 in the middle and starts it again. At the end it walks the same files
by itself, without Lycosa, and compares: every page that can be reached by links was fetched
exactly once, says the access log of the web server.

Only the kill can make a second fetch: a page that was leased when the node died is ready again
after the start, and if another worker gets it before the report is repeated, it is fetched twice.
That is the promise "at least once until a report settles it" at work; such pages are counted
apart, and each must have been in flight when the node died.

    ./examples/demo.py                  the real thing
    ./examples/demo.py --pages 200      a generated site, for a quick look
    ./examples/demo.py --one            `lycosa one`: its own fetcher, a script, no kill
    ./examples/demo.py --redis          a redis-server and pyspider's kind of fetcher and processor
                                        (pyspider_parts.py), with the kill
"""

from __future__ import annotations

import argparse
import collections
import http.server
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "clients" / "python"), str(HERE)]

from lycosa import Client, LycosaError, Unreachable  # noqa: E402
from pages import links_of  # noqa: E402

PACKAGE = "libstdc++-12-doc"
TREE = Path("/usr/share/doc/libstdc++-12-doc/libstdc++")
PROJECT = "demo"


class Site(http.server.ThreadingHTTPServer):
    """The documentation tree, and a count of how often each page was asked for."""

    daemon_threads = True

    def __init__(self, tree: Path):
        super().__init__(("127.0.0.1", 0), Handler)
        self.tree = str(tree)
        self.lock = threading.Lock()
        self.hits: dict[str, list[float]] = collections.defaultdict(list)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def count(self) -> int:
        with self.lock:
            return len(self.hits)


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 65536  # head and body of small pages in one packet
    server: Site

    def __init__(self, request, address, server):
        super().__init__(request, address, server, directory=server.tree)

    def do_GET(self):
        with self.server.lock:
            self.server.hits[self.path].append(time.monotonic())
        super().do_GET()

    def log_message(self, *_):
        pass


class Node:
    """A `lycosa serve` that can be killed and started again on the same port and data."""

    def __init__(self, binary: str, folder: Path, *settings: str):
        self.log = folder / "node.log"
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.command = [binary, "serve", "--data", str(folder / "data"), "--listen",
                        f"127.0.0.1:{port}", "--set", f'xmlrpc.listen="127.0.0.1:{free_port()}"']
        for setting in settings:
            self.command += ["--set", setting]
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> float:
        """Returns the seconds until the node was ready."""
        began = time.monotonic()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=log,
                                            text=True)
        for line in self.process.stdout:
            if line.startswith("lycosa ready "):
                return time.monotonic() - began
        raise SystemExit(f"demo: the node does not start:\n{self.log.read_text()[-2000:]}")

    def stop(self, number: int) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(20)
            self.process.stdout.close()
            self.process = None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


SCRIPT = """
from urllib.parse import urlsplit
from lycosa.handler import BaseHandler

SITE = {site!r}


class Handler(BaseHandler):
    def on_start(self):
        self.crawl(SITE, callback=self.page)

    def page(self, response):
        for link in response.links():
            if link.startswith(SITE) and (link.endswith(("/", ".html"))):
                self.crawl(link, callback=self.page, retries=0)
"""


def one(options: argparse.Namespace, folder: Path, site: Site, tree: Path) -> int:
    """Everything in one process: `lycosa one` with its own fetcher and a script."""
    (folder / "scripts").mkdir()
    (folder / "scripts" / f"{PROJECT}.py").write_text(SCRIPT.format(site=site.url))
    began = time.monotonic()
    with open(folder / "node.log", "wb") as log:
        crawler = subprocess.Popen(
            [options.binary, "one", str(folder / "scripts"), "--data", str(folder / "data"),
             "--listen", f"127.0.0.1:{free_port()}", "--exit-when-done", "--set",
             f"fetcher.concurrency={options.workers * options.batch}"],
            stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        address = crawler.stdout.readline().split("http=")[1].split()[0]
        Client(f"http://{address}").put_project(PROJECT, rate=options.rate,
                                                burst=options.rate / 5)
        code = crawler.wait(options.limit)
    finally:
        crawler.kill()
        crawler.wait()
        crawler.stdout.close()
    print(f"crawled in {time.monotonic() - began:.1f} s")
    return 0 if code == 0 and prove(site, tree, None, 0) else 1


def over_redis(options: argparse.Namespace, folder: Path, site: Site, tree: Path) -> int:
    """A redis-server between the node and a fetcher and processor of pyspider's kind."""
    port = free_port()
    script = folder / f"{PROJECT}.py"
    script.write_text(SCRIPT.format(site=site.url))
    url = f"redis://127.0.0.1:{port}/0"
    broker = subprocess.Popen(["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save",
                               "", "--dir", str(folder)], stdout=subprocess.DEVNULL)
    node = Node(options.binary, folder, f'redis.url="{url}"')
    parts = None
    try:
        node.start()
        began = time.monotonic()
        client = Client(node.url)
        client.put_project(PROJECT, status="RUNNING", rate=options.rate, burst=options.rate / 5,
                           script=script.read_text())
        client.call("POST", f"/v1/projects/{PROJECT}/start")
        parts = subprocess.Popen(["/usr/bin/python3", str(HERE / "pyspider_parts.py"), url,
                                  str(script)])
        outage = None
        if not options.no_kill:
            total = sum(1 for _ in tree.rglob("*.html"))
            outage = crash(node, site, parts, max(total // 3, 1), began + options.limit)
        code = parts.wait(max(1.0, began + options.limit - time.monotonic()))
        print(f"crawled in {time.monotonic() - began:.1f} s")
        # What lay in the out-queue when the node died is handed out once more.
        return 0 if code == 0 and prove(site, tree, outage, 200) else 1
    finally:
        if parts is not None:
            parts.kill()
            parts.wait()
        node.stop(signal.SIGTERM)
        broker.kill()
        broker.wait()


def documentation() -> Path:
    """The tree to crawl; installs its package when it is missing."""
    if not (TREE / "index.html").exists():
        print(f"installing {PACKAGE} …", flush=True)
        sudo = [] if os.geteuid() == 0 else ["sudo"]
        command = sudo + ["apt-get", "install", "-y", "--no-install-recommends", PACKAGE]
        if subprocess.run(command, stdout=subprocess.DEVNULL).returncode != 0:
            raise SystemExit(f"demo: cannot install {PACKAGE}; try: apt-get update, or --pages 500")
    if not (TREE / "index.html").exists():
        raise SystemExit(f"demo: {PACKAGE} is installed, but {TREE} is not there (its files are "
                         "left out by dpkg's path-exclude?); try --pages 500")
    return TREE.resolve()


def generate(folder: Path, pages: int) -> Path:
    """A site in which each page can be reached in several ways, and a few links lead nowhere."""
    rng = random.Random(pages)
    site = folder / "site"
    (site / "part").mkdir(parents=True)
    names = ["index.html"] + [f"part/page{n}.html" for n in range(1, pages)]
    for number, name in enumerate(names):
        children = [c for c in range(3 * number + 1, 3 * number + 4) if c < pages]
        others = [rng.randrange(pages) for _ in range(5)]
        links = "".join(f'<a href="/{names[n]}#part{n}">{n}</a> ' for n in children + others)
        (site / name).write_text(
            f"<!DOCTYPE html><title>{number}</title>{links}"
            '<a href="../picture.png">no page</a> <a href="http://example.org/">elsewhere</a>'
            f'<a href="gone{number % 3}.html">dead</a>')
    (site / "part" / "unreachable.html").write_text("nobody links here")
    return site


def walk(tree: Path, start: str) -> tuple[set[str], int]:
    """Follows the links through the files alone: the pages there are, and how many are missing."""
    prefix, seen, missing = start, {start}, 0
    waiting = collections.deque([start])
    while waiting:
        url = waiting.popleft()
        file = tree / unquote(urlsplit(url).path).lstrip("/")
        if file.is_dir():
            file = file / "index.html"
        if not file.is_file():
            missing += 1
            continue
        for link in links_of(file.read_text("utf-8", "replace"), url, prefix):
            if link not in seen:
                seen.add(link)
                waiting.append(link)
    return seen, missing


def crash(node: Node, site: Site, crawler: subprocess.Popen, at: int,
          give_up: float) -> tuple[float, float] | None:
    """Kills the node when `at` pages were fetched: when that was, and when it was back."""
    while crawler.poll() is None and site.count() < at:
        if time.monotonic() > give_up:
            return None
        time.sleep(0.005)
    if crawler.poll() is not None:
        return None
    killed = time.monotonic()
    node.stop(signal.SIGKILL)
    print("\n  kill -9 of the node", end="", flush=True)
    took = node.start()
    print(f"; started again on the same data in {took:.2f} s")
    return killed, time.monotonic()


def prove(site: Site, tree: Path, outage: tuple[float, float] | None, in_flight: int) -> bool:
    print("walking the files …", flush=True)
    reachable, missing = walk(tree, site.url)
    wanted = {url[len(site.url) - 1:] for url in reachable}
    hits = dict(site.hits)
    twice = {path: times for path, times in hits.items() if len(times) > 1}
    # Leased before the kill, so fetched before the node was back (or just then, by a worker that
    # had a batch in hand), and once more after it: the first report was not acknowledged.
    explained = {path for path, times in twice.items()
                 if outage and len(times) == 2 and times[0] < outage[1] + 1 and times[1] > outage[0]}
    rows = [("pages reachable by links", len(wanted)),
            ("  of these, dead links (404)", missing),
            ("pages fetched", len(hits)),
            ("reachable but never fetched", len(wanted - hits.keys())),
            ("fetched but not reachable", len(hits.keys() - wanted)),
            ("fetched again after the kill (in flight when it came)", len(explained)),
            ("fetched more than once without such a reason", len(twice.keys() - explained))]
    for name, value in rows:
        print(f"  {name:55} {value:6}")
    good = hits.keys() == wanted and not twice.keys() - explained
    # Only what was leased can have been in flight: this bounds how much the kill may explain.
    good = good and len(explained) <= in_flight
    print("PROVED: every reachable page was fetched exactly once"
          + (", but for those in flight at the kill" if explained else "") if good
          else "FAILED: see the counts above")
    return good


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=os.environ.get("LYCOSA_BIN") or
                        str(HERE.parent / "build" / "release" / "lycosa"), metavar="PATH",
                        help="the binary (default: $LYCOSA_BIN or build/release/lycosa)")
    parser.add_argument("--pages", type=int, help="crawl a generated site of so many pages "
                        "(default: the documentation that is installed here)")
    parser.add_argument("--no-kill", action="store_true", help="leave the node alone")
    parser.add_argument("--one", action="store_true", help="crawl with `lycosa one`")
    parser.add_argument("--redis", action="store_true", help="crawl through Redis, as pyspider")
    parser.add_argument("--workers", type=int, default=4, help="fetching threads (default: 4)")
    parser.add_argument("--batch", type=int, default=10, help="pages a lease (default: 10)")
    parser.add_argument("--rate", type=float, default=500, help="pages a second (default: 500)")
    parser.add_argument("--limit", type=float, default=300,
                        help="give up after so many seconds (default: 300)")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    folder = Path(tempfile.mkdtemp(prefix="lycosa-demo-"))
    node = crawler = None
    try:
        tree = generate(folder, options.pages) if options.pages else documentation()
        total = sum(1 for _ in tree.rglob("*.html"))
        site = Site(tree)
        if options.one or options.redis:
            print(f"site {site.url} with {total} HTML files of {tree}")
            return (one if options.one else over_redis)(options, folder, site, tree)
        node = Node(options.binary, folder)
        node.start()
        print(f"site {site.url} with {total} HTML files of {tree}")
        print(f"node {node.url}, rate {options.rate:g} pages/s")
        began = time.monotonic()
        crawler = subprocess.Popen(
            [sys.executable, str(HERE / "crawl_site.py"), "--server", node.url, "--start",
             site.url, "--project", PROJECT, "--workers", str(options.workers), "--batch",
             str(options.batch), "--rate", str(options.rate), "--burst", str(options.rate / 5)])
        outage = None
        if not options.no_kill:
            outage = crash(node, site, crawler, max(total // 3, 1), began + options.limit)
            if outage is None:
                print("demo: the crawl ended before the node could be killed", file=sys.stderr)
                return 1
        try:
            code = crawler.wait(max(1.0, began + options.limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            print(f"demo: not done after {options.limit:g} s", file=sys.stderr)
            return 1
        took = time.monotonic() - began
        if code != 0:
            return code
        print(f"crawled in {took:.1f} s, {site.count() / took:.0f} pages/s")
        done = Client(node.url).project(PROJECT)
        print(f"node: {done['size']} tasks left in the queue")
        return 0 if prove(site, tree, outage, options.workers * options.batch) else 1
    except (LycosaError, Unreachable) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    finally:
        if crawler is not None and crawler.poll() is None:
            crawler.kill()
            crawler.wait()
        if node is not None:
            node.stop(signal.SIGTERM)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
