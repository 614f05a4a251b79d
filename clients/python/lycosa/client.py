"""The HTTP calls."""

from __future__ import annotations

import http.client
import json
import os
import select
import threading
from typing import Any, Iterable, Iterator, Mapping
from urllib.parse import quote, urlencode, urlsplit

from .errors import LycosaError, Unreachable

DEFAULT_SERVER = "http://127.0.0.1:8040"


class Client:
    """One node. Safe to share between threads: each thread has a connection of its own.

    `server` defaults to the environment's LYCOSA_SERVER. `timeout` bounds each call in seconds;
    a lease call may take its `wait` longer. Every call raises LycosaError when the node refuses
    and Unreachable when there is no answer.
    """

    def __init__(self, server: str | None = None, *, timeout: float = 30, token: str | None = None):
        self.server = (server or os.environ.get("LYCOSA_SERVER") or DEFAULT_SERVER).rstrip("/")
        parts = urlsplit(self.server)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"not an http(s) address: {self.server}")
        self._secure = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port or (443 if self._secure else 80)
        self._base = parts.path
        self._timeout = timeout
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._local = threading.local()

    # -- projects ----------------------------------------------------------------------------

    def put_project(self, name: str, **fields: Any) -> dict[str, Any]:
        """Makes or changes a project: status, group, rate, burst, retry_delay, …"""
        return self.call("PUT", f"/v1/projects/{quote(name, safe='')}", fields)

    def project(self, name: str) -> dict[str, Any]:
        return self.call("GET", f"/v1/projects/{quote(name, safe='')}")

    def projects(self) -> list[dict[str, Any]]:
        answer = self.call("GET", "/v1/projects")
        return answer["projects"] if isinstance(answer, dict) else answer

    def drop_project(self, name: str) -> None:
        """Deletes a project with its tasks, results and counters."""
        path = quote(name, safe="")
        self.call("DELETE", f"/v1/projects/{path}?{urlencode({'confirm': name})}")

    # -- tasks -------------------------------------------------------------------------------

    def submit(self, tasks: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Hands in one task or many. What is valid is taken, the rest listed in `rejected`."""
        body = tasks if isinstance(tasks, Mapping) else list(tasks)
        return self.call("POST", "/v1/tasks", body)

    def task(self, project: str, taskid: str) -> dict[str, Any]:
        return self.call(
            "GET", f"/v1/projects/{quote(project, safe='')}/tasks/{quote(taskid, safe='')}"
        )

    def tasks(
        self, project: str, status: str | None = None, page: int = 1000
    ) -> Iterator[dict[str, Any]]:
        """All tasks of a project, or those of a status, read page by page."""
        query = {"status": status} if status else {}
        return self._pages(f"/v1/projects/{quote(project, safe='')}/tasks", "tasks", page, query)

    # -- crawling ----------------------------------------------------------------------------

    def lease(
        self,
        max: int = 100,
        wait: float = 10,
        projects: Iterable[str] | None = None,
        consumer: str | None = None,
    ) -> list[dict[str, Any]]:
        """Takes up to `max` tasks; waits up to `wait` seconds for the first one."""
        body: dict[str, Any] = {"max": max, "wait": wait}
        if projects is not None:
            body["projects"] = list(projects)
        if consumer is not None:
            body["consumer"] = consumer
        return self.call("POST", "/v1/lease", body, timeout=self._timeout + wait)["tasks"]

    def report(self, packs: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Tells how leased tasks went; see `status_pack`."""
        body = [packs] if isinstance(packs, Mapping) else list(packs)
        return self.call("POST", "/v1/report", body)

    def extend(self, leases: Iterable[str], seconds: float) -> dict[str, Any]:
        """Keeps leases alive for `seconds` from now."""
        return self.call("POST", "/v1/extend", {"leases": list(leases), "for": seconds})

    def release(self, leases: Iterable[str], delay: float = 0) -> dict[str, Any]:
        """Gives tasks back; others get them after `delay` seconds."""
        return self.call("POST", "/v1/release", {"leases": list(leases), "delay": delay})

    # -- results and state -------------------------------------------------------------------

    def put_result(self, project: str, taskid: str, result: Any) -> Any:
        path = f"/v1/projects/{quote(project, safe='')}/results/{quote(taskid, safe='')}"
        return self.call("PUT", path, result)

    def result(self, project: str, taskid: str) -> Any:
        path = f"/v1/projects/{quote(project, safe='')}/results/{quote(taskid, safe='')}"
        return self.call("GET", path)

    def results(self, project: str, page: int = 1000) -> Iterator[dict[str, Any]]:
        """All results of a project, read page by page."""
        return self._pages(f"/v1/projects/{quote(project, safe='')}/results", "results", page, {})

    def size(self, project: str | None = None) -> int:
        """How many tasks are queued, delayed or leased: in all, or of one project."""
        answer = self.sizes()
        if project is None:
            return answer["size"]
        return sum(answer["projects"].get(project, {}).get(k, 0)
                   for k in ("ready", "delayed", "processing"))

    def sizes(self) -> dict[str, Any]:
        return self.call("GET", "/v1/size")

    def active(self, project: str = "", limit: int = 100) -> list[Any]:
        """The latest happenings, newest first: `[[time, task], …]`."""
        return self.call("GET", "/v1/active?" + urlencode({"project": project, "limit": limit}))

    def ready(self) -> bool:
        """Whether the node takes requests; False too when it cannot be reached."""
        try:
            self.call("GET", "/readyz")
        except (LycosaError, Unreachable):
            return False
        return True

    # -- plumbing ----------------------------------------------------------------------------

    def call(self, method: str, path: str, body: Any = None, timeout: float | None = None) -> Any:
        """One request with a JSON body; returns the decoded answer."""
        payload = None
        headers = dict(self._headers)
        if body is not None:
            payload = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
            headers["Content-Type"] = "application/json"
        status, answer_headers, text = self.raw(method, path, payload, headers, timeout)
        if status >= 400:
            after = answer_headers.get("Retry-After")
            raise LycosaError(status, _problem(text), float(after) if after else None)
        if not text:
            return None
        if "json" in (answer_headers.get("Content-Type") or "json"):
            return json.loads(text)
        return text.decode(errors="replace")

    def raw(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """One request as bytes; returns status, headers and body whatever the status is."""
        connection = self._connection(self._timeout if timeout is None else timeout)
        try:
            connection.request(method, self._base + path, body, dict(headers or {}))
            response = connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreachable(f"{self.server}: {error or type(error).__name__}") from error
        if response.will_close:
            self.close()
        return response.status, response.headers, data

    def close(self) -> None:
        """Closes the calling thread's connection; the next call opens one."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        connection = getattr(self._local, "connection", None)
        if connection is not None and connection.sock is not None:
            # A connection the node has closed meanwhile reads as "ready". Noticing it before the
            # request is sent spares a retry that might do the same thing twice.
            if not _readable(connection.sock):
                connection.sock.settimeout(timeout)
                return connection
            self.close()
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=timeout)
        self._local.connection = connection
        return connection

    def _pages(
        self, path: str, member: str, page: int, query: dict[str, Any]
    ) -> Iterator[dict[str, Any]]:
        cursor = None
        while True:
            asked = {**query, "limit": page}
            if cursor is not None:
                asked["after"] = cursor
            answer = self.call("GET", f"{path}?{urlencode(asked)}")
            yield from answer[member]
            cursor = answer.get("next")
            if cursor is None:
                return


def _readable(sock) -> bool:
    poller = select.poll()  # not select.select, which cannot take descriptors from 1,024 up
    poller.register(sock, select.POLLIN)
    return bool(poller.poll(0))


def _problem(text: bytes) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return {"detail": text.decode(errors="replace").strip()[:500]} if text else {}
    return document if isinstance(document, dict) else {"detail": str(document)}
