#!/usr/bin/env python3
"""Crawls one site through Lycosa: leases pages, fetches them, feeds their links back.

The node decides what runs when, how fast, and what has been seen before; this program only
fetches. Run as many copies as you like, stop any of them at any time, start them again: nothing
is lost and no page is crawled twice, because

  1. links found on a page are submitted *before* the page is reported. Were it the other way
     round, a crash in between would lose them: the page counts as done and is not fetched again.
     This way a crash costs at most one more fetch, and known links are ignored by the node;
  2. a report that could not be delivered is kept and sent again until the node answers.

    ./examples/crawl_site.py --start http://127.0.0.1:8000/ --workers 4
"""

from __future__ import annotations

import argparse
import http.client
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urljoin, urlsplit

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "clients" / "python")]

from lycosa import Client, LycosaError, Unreachable, status_pack  # noqa: E402
from pages import links_of, normalise  # noqa: E402

AGENT = "lycosa-crawl-site/1"


class Fetcher:
    """Fetches pages over one kept connection a host. One a thread."""

    def __init__(self, timeout: float):
        self._timeout = timeout
        self._connections: dict[tuple[str, str], http.client.HTTPConnection] = {}

    def get(self, url: str) -> tuple[int, str, str | None]:
        """Status, body of an HTML page (else empty), and where a redirect points."""
        parts = urlsplit(url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        key = (parts.scheme, parts.netloc)
        for last_try in (False, True):
            connection = self._connections.get(key)
            fresh = connection is None
            if fresh:
                kind = http.client.HTTPSConnection if parts.scheme == "https" \
                    else http.client.HTTPConnection
                connection = kind(parts.netloc, timeout=self._timeout)
                self._connections[key] = connection
            try:
                connection.request("GET", target, headers={"User-Agent": AGENT})
                response = connection.getresponse()
                body = response.read()
                break
            except (OSError, http.client.HTTPException):
                connection.close()
                del self._connections[key]
                if fresh or last_try:  # a kept connection may just have gone stale
                    raise
        location = response.headers.get("Location")
        if 300 <= response.status < 400 and location:
            return response.status, "", urljoin(url, location)
        if response.headers.get_content_type() not in ("text/html", "application/xhtml+xml"):
            return response.status, "", None
        charset = response.headers.get_content_charset() or "utf-8"
        try:
            return response.status, body.decode(charset, "replace"), None
        except LookupError:
            return response.status, body.decode("utf-8", "replace"), None


class Crawl:
    """What the workers share."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.client = Client(options.server)
        self.prefix = options.prefix
        self.finished = threading.Event()
        self.lock = threading.Lock()
        self.fetched = self.gone = self.failed = self.new = self.stale = 0
        self.down_since: float | None = None
        self.fault: str | None = None

    def add(self, **counts: int) -> None:
        with self.lock:
            for name, value in counts.items():
                setattr(self, name, getattr(self, name) + value)

    def persist(self, what, *args, **kwargs):
        """Calls the node until it answers; None when the crawl ended meanwhile."""
        pause = 0.05
        while not self.finished.is_set():
            try:
                answer = what(*args, **kwargs)
                self.down_since = None
                return answer
            except Unreachable as error:
                now = time.monotonic()
                self.down_since = self.down_since or now
                if now - self.down_since > self.options.patience:
                    self.stop(str(error))
                wait = pause
            except LycosaError as error:
                if error.status not in (429, 503, 507):  # "later", in its various forms
                    self.stop(str(error))
                    return None
                wait = error.retry_after or pause
            self.finished.wait(wait)
            pause = min(pause * 2, 1)
        return None

    def stop(self, fault: str | None = None) -> None:
        self.fault = self.fault or fault
        self.finished.set()

    def crawl_page(self, fetcher: Fetcher, task: dict) -> tuple[dict, list[str]]:
        """Fetches one page: its status pack and the links found on it."""
        url = task["url"]
        started = time.monotonic()
        try:
            status, html, redirect = fetcher.get(url)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.add(failed=1)
            took = time.monotonic() - started
            return status_pack(task, False, fetch={"time": took, "error": str(error)}), []
        took = time.monotonic() - started
        links: list[str] = []
        if redirect:
            page = normalise(redirect)
            links = [page] if page and page.startswith(self.prefix) else []
        elif status == 200:
            links = links_of(html, url, self.prefix)
        # "There is no such page" is an answer and settles the task; a server in trouble is not.
        ok = status < 400 or status in (404, 410)
        self.add(fetched=ok, gone=status in (404, 410), failed=not ok)
        fetch = {"time": took, "status_code": status, "ok": status < 400}
        return status_pack(task, ok, fetch=fetch, process={"follows": len(links)}), links

    def work(self) -> None:
        options = self.options
        fetcher = Fetcher(options.timeout)
        while not self.finished.is_set():
            tasks = self.persist(self.client.lease, options.batch, 1, [options.project])
            if not tasks:
                continue
            packs, links = [], {}
            for task in tasks:
                if not task["url"].startswith(("http://", "https://")):
                    packs.append(status_pack(task, True))  # a message of the scheduler itself
                    continue
                pack, found = self.crawl_page(fetcher, task)
                packs.append(pack)
                links.update(dict.fromkeys(found))
            if links:
                batch = [{"project": options.project, "url": link} for link in links]
                answer = self.persist(self.client.submit, batch)
                if answer is None:
                    return
                self.add(new=answer["new"])
                for refused in answer["rejected"]:
                    self.stop(f"link refused: {refused}")
            packs = [pack for pack in packs if "lease" in pack]
            answer = self.persist(self.client.report, packs) if packs else None
            if answer is not None:
                self.add(stale=len(answer["rejected"]))

    def progress(self) -> None:
        """Shows the state once a second; ends the crawl when the queue is empty."""
        terminal = sys.stdout.isatty()
        last, last_at = 0, time.monotonic()
        while not self.finished.wait(1 if terminal else 2):
            now = time.monotonic()
            rate, last, last_at = (self.fetched - last) / (now - last_at), self.fetched, now
            try:
                queued = self.client.size(self.options.project)
                state = f"queue {queued:6d}"
            except (Unreachable, LycosaError):
                queued, state = -1, "node not answering"
            line = f"  {self.fetched:6d} pages  {rate:7.0f}/s  {state}"
            print(("\r\x1b[K" if terminal else "") + line, end="" if terminal else "\n", flush=True)
            if queued == 0:
                self.stop()
        if terminal:
            print()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--start", required=True, metavar="URL", help="first page of the crawl")
    parser.add_argument("--server", help="the node (default: $LYCOSA_SERVER or 127.0.0.1:8040)")
    parser.add_argument("--project", default="site", help="name of the project (default: site)")
    parser.add_argument("--prefix", help="stay under this address (default: the start's folder)")
    parser.add_argument("--workers", type=int, default=4, help="fetching threads (default: 4)")
    parser.add_argument("--batch", type=int, default=10, help="pages a lease (default: 10)")
    parser.add_argument("--rate", type=float, default=50, help="pages a second (default: 50)")
    parser.add_argument("--burst", type=float, help="pages at once (default: the rate)")
    parser.add_argument("--timeout", type=float, default=20, help="seconds a page may take")
    parser.add_argument("--patience", type=float, default=60,
                        help="give up when the node stays away so many seconds (default: 60)")
    options = parser.parse_args()
    start = normalise(options.start)
    if start is None:
        parser.error(f"not the address of an HTML page: {options.start}")
    options.start = start
    options.prefix = options.prefix or start[: start.rindex("/") + 1]
    options.burst = options.burst or max(options.rate, 1)
    return options


def main() -> int:
    options = arguments()
    crawl = Crawl(options)
    try:
        crawl.client.put_project(options.project, status="RUNNING", rate=options.rate,
                                 burst=options.burst, retry_delay={"": 5})
        # Nothing happens when the page is known and fresh: the crawl goes on where it stood.
        crawl.client.submit({"project": options.project, "url": options.start})
    except (Unreachable, LycosaError) as error:
        print(f"crawl_site: {error}", file=sys.stderr)
        return 3 if isinstance(error, Unreachable) else 1
    workers = [threading.Thread(target=crawl.work, daemon=True) for _ in range(options.workers)]
    for worker in workers:
        worker.start()
    try:
        crawl.progress()
    except KeyboardInterrupt:
        crawl.stop("interrupted; run again to go on")
    for worker in workers:
        worker.join(options.timeout + 5)
    print(f"crawled {crawl.fetched} pages ({crawl.gone} of them missing), "
          f"{crawl.failed} failed tries, {crawl.new} links new, {crawl.stale} reports too late")
    if crawl.fault:
        print(f"crawl_site: {crawl.fault}", file=sys.stderr)
    return 1 if crawl.fault else 0


if __name__ == "__main__":
    sys.exit(main())
