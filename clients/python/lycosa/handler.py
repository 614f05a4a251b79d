"""Scripts for `lycosa one`: a project is a class whose methods are called with what was fetched.

    from lycosa.handler import BaseHandler, config, every

    class Handler(BaseHandler):
        crawl_config = {"headers": {"User-Agent": "me"}}

        @every(minutes=24 * 60)
        def on_start(self):
            self.crawl("http://example.org/", callback=self.index_page)

        @config(age=10 * 24 * 60 * 60)
        def index_page(self, response):
            for link in response.links():
                self.crawl(link, callback=self.detail_page)

        def detail_page(self, response):
            return {"url": response.url, "title": response.title}

Run by the node as `python3 -m lycosa.handler FILE`; what is said on the pipes is in
docs/handlers.md. Standard library only.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import html.parser
import importlib.util
import io
import json
import re
import signal
import sys
import time
import traceback
import urllib.parse
from typing import Any, Callable, Iterable

__all__ = ["BaseHandler", "Response", "catch_status_code_error", "config", "every", "run"]

_FETCH = ("method", "headers", "user_agent", "data", "connect_timeout", "timeout",
          "allow_redirects", "cookies", "proxy", "etag", "last_modified", "validate_cert",
          "max_redirects", "robots_txt", "fetch_type", "use_gzip", "save")
_SCHEDULE = ("priority", "retries", "exetime", "age", "itag", "auto_recrawl", "force_update",
             "cancel")
_PROCESS = ("process_time_limit",)


# -- what methods can be marked with ---------------------------------------------------------------

def config(**options: Any) -> Callable:
    """Options for every task with this callback: age, priority, itag, retries, …"""
    def mark(method: Callable) -> Callable:
        method._config = {**getattr(method, "_config", {}), **options}  # type: ignore[attr-defined]
        return method
    return mark


def every(minutes: float = 0, seconds: float = 0) -> Callable:
    """Called on a timer, at every moment its period divides (24 hours = midnight UTC)."""
    def mark(method: Callable) -> Callable:
        method._every = int(minutes * 60 + seconds) or 24 * 60 * 60  # type: ignore[attr-defined]
        return method
    return mark


def catch_status_code_error(method: Callable) -> Callable:
    """The method is called even when the answer's status says that something went wrong."""
    method._catches = True  # type: ignore[attr-defined]
    return method


# -- what was fetched --------------------------------------------------------------------------------

class Response:
    """An answer: `status_code`, `url`, `headers` (any case), `content` (bytes), `text`, `json`."""

    def __init__(self, fields: dict[str, Any]):
        self.status_code: int = fields.get("status_code", 599)
        self.url: str = fields.get("url", "")
        self.orig_url: str = fields.get("orig_url", self.url)
        self.headers = _Headers(fields.get("headers") or {})
        self.cookies: dict[str, str] = fields.get("cookies") or {}
        self.time: float = fields.get("time", 0)
        self.save: Any = fields.get("save")
        self.error: str | None = fields.get("error")
        if "content_base64" in fields:
            self.content = base64.b64decode(fields["content_base64"])
        else:
            self.content = (fields.get("content") or "").encode("utf-8", "surrogatepass")

    @property
    def ok(self) -> bool:
        return not self.error and 200 <= self.status_code < 400

    def raise_for_status(self) -> None:
        if not self.ok:
            raise OSError(f"HTTP {self.status_code}: {self.error or 'no success'}: {self.url}")

    @property
    def encoding(self) -> str:
        """As the headers say, else as the page says, else UTF-8."""
        said = re.search(r"charset=[\"']?([\w-]+)", self.headers.get("content-type", ""))
        if not said:
            said = re.search(r"<meta[^>]+charset=[\"']?([\w-]+)", self.content[:2048].decode("latin-1"))
        name = said.group(1) if said else "utf-8"
        try:
            "".encode(name)
        except LookupError:
            return "utf-8"
        return name

    @property
    def text(self) -> str:
        return self.content.decode(self.encoding, "replace")

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def doc(self) -> Any:
        """pyquery's document, where pyquery is installed."""
        import pyquery  # noqa: PLC0415, not a dependency
        found = pyquery.PyQuery(self.text)
        found.make_links_absolute(self.url)
        return found

    def find(self, tag: str, **attributes: str) -> list["Element"]:
        """Elements of one tag, in order, with these attributes (`class_` for class)."""
        page = _Page()
        page.feed(self.text)
        page.close()
        wanted = {k.rstrip("_"): v for k, v in attributes.items()}
        return [e for e in page.elements if e.tag == tag
                and all(e.attributes.get(k) == v for k, v in wanted.items())]

    def links(self) -> list[str]:
        """Where the page's links lead: absolute, without fragments, each once."""
        base = next((e.attributes.get("href", "") for e in self.find("base")), "")
        root = urllib.parse.urljoin(self.url, base)
        found = (urllib.parse.urldefrag(urllib.parse.urljoin(root, e.attributes["href"])).url
                 for e in self.find("a") if e.attributes.get("href"))
        return list(dict.fromkeys(u for u in found if u.startswith(("http://", "https://"))))

    @property
    def title(self) -> str:
        return next((e.text.strip() for e in self.find("title")), "")


class Element:
    def __init__(self, tag: str, attributes: dict[str, str]):
        self.tag, self.attributes, self.text = tag, attributes, ""


class _Page(html.parser.HTMLParser):
    """All elements with their text; good enough for links, titles and tables."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {k: v or "" for k, v in attrs})
        self.elements.append(element)
        if tag not in ("br", "hr", "img", "input", "link", "meta", "base", "wbr"):
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at].tag == tag:
                del self._open[at:]
                return

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data


class _Headers(dict):
    def __init__(self, headers: dict[str, str]):
        super().__init__({k.lower(): v for k, v in headers.items()})

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())

    def get(self, name: str, otherwise: Any = None) -> Any:
        return super().get(name.lower(), otherwise)


# -- scripts -------------------------------------------------------------------------------------------

class BaseHandler:
    """A project's script. Override `on_start` and add callbacks."""

    crawl_config: dict[str, Any] = {}  #: joined to every task when it is fetched
    retry_delay: dict[Any, float] = {}  #: seconds by the number of failures; "" for all others

    project = ""
    task: dict[str, Any]

    def crawl(self, url: str | Iterable[str], **options: Any) -> list[str]:
        """Queues one URL or several; returns their task ids. Options: callback (method or name),
        params, data, method, headers, user_agent, cookies, timeout, connect_timeout,
        allow_redirects, max_redirects, proxy, etag, last_modified, validate_cert, robots_txt, save,
        taskid, age, priority, exetime, retries, itag, auto_recrawl, force_update, cancel,
        process_time_limit. What is unknown is refused, so that a slip does not pass for an option.
        """
        urls = [url] if isinstance(url, str) else list(url)
        return [self._add(u, dict(options)) for u in urls]

    def _add(self, url: str, options: dict[str, Any]) -> str:
        callback = options.pop("callback", None)
        method = getattr(self, callback) if isinstance(callback, str) else callback
        for name, value in getattr(method, "_config", {}).items():
            options.setdefault(name, value)
        params = options.pop("params", None)
        if params:
            url += ("&" if urllib.parse.urlsplit(url).query else "?") + urllib.parse.urlencode(params)
        data = options.get("data")
        if data is not None:
            if not isinstance(data, (str, bytes)):
                data = urllib.parse.urlencode(data)
            options["data"] = data if isinstance(data, str) else data.decode("utf-8")
            options.setdefault("method", "POST")
        taskid = options.pop("taskid", None) or hashlib.md5(
            (url + (options.get("data") or "")).encode()).hexdigest()
        task: dict[str, Any] = {"taskid": taskid, "project": self.project, "url": url}
        for part, names in (("fetch", _FETCH), ("schedule", _SCHEDULE), ("process", _PROCESS)):
            found = {n: options.pop(n) for n in names if options.get(n) is not None}
            for name in names:
                options.pop(name, None)
            if found:
                task[part] = found
        if callback is not None:
            task.setdefault("process", {})["callback"] = (
                callback if isinstance(callback, str) else callback.__name__)
        if options:
            raise TypeError(f"crawl() does not know {', '.join(sorted(options))}")
        self._follows.append(task)
        return taskid

    def send_message(self, project: str, message: Any, url: str = "data:,on_message") -> None:
        """Another project's `on_message(project, message)` is called with it."""
        self._messages.append([project, message, url])

    def on_start(self, *_: Any) -> Any:
        """Called when the project is started."""

    def on_finished(self, *_: Any) -> Any:
        """Called once when nothing is left to crawl."""

    def on_message(self, project: str, message: Any) -> Any:
        """Called with what another project has sent."""

    def on_result(self, result: Any) -> Any:
        """Called with every result that is not None; what it returns is stored."""
        return result

    # -- called by the node --------------------------------------------------------------------

    def answer(self, task: dict[str, Any], response: Response) -> dict[str, Any]:
        """Runs what a task asks for. Never raises."""
        self._follows: list[dict[str, Any]] = []
        self._messages: list[list[Any]] = []
        self.task = task
        self.project = task["project"]
        logs = io.StringIO()
        started = time.monotonic()
        out: dict[str, Any] = {"ok": True, "result": None, "save": None, "exception": None}
        with contextlib.redirect_stdout(logs):
            try:
                with _time_limit(task.get("process", {}).get("process_time_limit", 0)):
                    self._run(task, response, out)
            except BaseException as failure:  # noqa: BLE001, a script may raise anything
                if isinstance(failure, KeyboardInterrupt):
                    raise
                out["ok"] = False
                out["exception"] = "".join(traceback.format_exception(
                    type(failure), failure, failure.__traceback__))[-8000:]
                self._follows.clear()  # as pyspider: a failed task is tried again as a whole
                self._messages.clear()
        out.update(follows=self._follows, messages=self._messages, logs=logs.getvalue()[-8000:],
                   time=time.monotonic() - started)
        return out

    def _run(self, task: dict[str, Any], response: Response, out: dict[str, Any]) -> None:
        name = task.get("process", {}).get("callback") or "__call__"
        if name == "_on_get_info":
            out["save"] = self._info()
            return
        if name == "_on_cronjob":
            self._tick(int(response.save["tick"]))
            return
        if name == "_on_message":
            sender, message = response.save
            out["result"] = self.on_message(sender, message)
            return
        method = getattr(self, name, None)
        if method is None:
            raise AttributeError(f"the script has no method {name}")
        if not getattr(method, "_catches", False):
            response.raise_for_status()
        result = _call(method, response, task)
        if result is not None:
            out["result"] = self.on_result(result)

    def _timers(self) -> list[tuple[int, Callable]]:
        found = ((getattr(getattr(self, n), "_every", 0), getattr(self, n)) for n in dir(type(self)))
        return [(period, method) for period, method in found if period]

    def _info(self) -> dict[str, Any]:
        periods = [period for period, _ in self._timers()]
        tick = 0
        for period in periods:
            tick = period if tick == 0 else _common(tick, period)
        return {"min_tick": tick, "retry_delay": {str(k): v for k, v in self.retry_delay.items()},
                "crawl_config": self.crawl_config}

    def _tick(self, tick: int) -> None:
        for period, method in self._timers():
            if tick % period == 0:
                _call(method, Response({"status_code": 200, "url": "data:,_on_cronjob"}), self.task)


def _common(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


def _call(method: Callable, response: Response, task: dict[str, Any]) -> Any:
    """With as many arguments as it takes: (), (response) or (response, task)."""
    code = getattr(method, "__code__", None) or method.__func__.__code__  # type: ignore[attr-defined]
    takes = code.co_argcount - 1
    if code.co_flags & 0x04:  # *args
        takes = max(takes, 1)
    return method(*(response, task)[:takes])


@contextlib.contextmanager
def _time_limit(seconds: float) -> Any:
    if not seconds or not hasattr(signal, "setitimer"):
        yield
        return

    def over(*_: Any) -> None:
        raise TimeoutError(f"took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# -- the pipes -----------------------------------------------------------------------------------------

def run(handler: type[BaseHandler], lines: Iterable[str] | None = None,
        out: Any = None) -> None:
    """Answers requests, one a line, until the input ends."""
    script = handler()
    out = out or sys.stdout
    for line in lines if lines is not None else sys.stdin:
        request = json.loads(line)
        answer = {"id": request["id"]}
        answer.update(script.answer(request["task"], Response(request.get("response") or {})))
        try:
            text = json.dumps(answer)
        except (TypeError, ValueError) as failure:
            text = json.dumps({"id": request["id"], "ok": False, "follows": [],
                               "exception": f"what it returned is not JSON: {failure}"})
        out.write(text + "\n")
        out.flush()


def load(path: str) -> type[BaseHandler]:
    """The handler in a file: the class called Handler, else the last one derived from BaseHandler.
    """
    spec = importlib.util.spec_from_file_location("script", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["script"] = module
    spec.loader.exec_module(module)
    if hasattr(module, "Handler"):
        return module.Handler
    found = [v for v in vars(module).values() if isinstance(v, type)
             and issubclass(v, BaseHandler) and v.__module__ == "script"]
    if not found:
        raise ImportError(f"{path} has no class derived from BaseHandler")
    return found[-1]


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python3 -m lycosa.handler FILE", file=sys.stderr)
        return 2
    run(load(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
