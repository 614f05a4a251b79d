"""pyspider's three databases, as its web interface and processor use them, over a Lycosa node.

    from lycosa.pyspider import connect_database

    taskdb = connect_database("lycosa+taskdb://127.0.0.1:8040")
    projectdb = connect_database("lycosa+projectdb://127.0.0.1:8040")
    resultdb = connect_database("lycosa+resultdb://127.0.0.1:8040")

Every call is bounded in time (`?timeout=SECONDS`, by default 10). What is not there is None, as in
pyspider; a node that refuses or cannot be reached raises LycosaError or Unreachable.
"""

from __future__ import annotations

import re
import time
from itertools import islice
from typing import Any, Iterable, Iterator, Mapping
from urllib.parse import parse_qs, urlsplit

from .client import Client
from .errors import LycosaError

__all__ = ["ProjectDB", "ResultDB", "TaskDB", "connect_database"]

_PAGE = 1000


def connect_database(url: str) -> "ProjectDB | TaskDB | ResultDB":
    """The database a URL like pyspider's names: lycosa+taskdb://host:port, …"""
    parts = urlsplit(url)
    kinds = {"lycosa+taskdb": TaskDB, "lycosa+projectdb": ProjectDB, "lycosa+resultdb": ResultDB}
    if parts.scheme not in kinds or not parts.hostname:
        raise ValueError(f"not lycosa+taskdb://, lycosa+projectdb:// or lycosa+resultdb://: {url}")
    timeout = float(parse_qs(parts.query).get("timeout", ["10"])[0])
    return kinds[parts.scheme](f"http://{parts.netloc.rpartition('@')[2]}", timeout=timeout)


def _only(row: Mapping[str, Any], fields: Iterable[str] | None) -> dict[str, Any]:
    return dict(row) if fields is None else {f: row.get(f) for f in fields}


class _Database:
    def __init__(self, server: str | None = None, *, timeout: float = 10):
        self._server, self._timeout = server, timeout
        self._client = Client(server, timeout=timeout)

    def copy(self):
        """Another connection to the same node, for another thread or process."""
        return type(self)(self._server, timeout=self._timeout)

    def _or_none(self, call, *arguments):
        try:
            return call(*arguments)
        except LycosaError as refusal:
            if refusal.status == 404:
                return None
            raise


class ProjectDB(_Database):
    """Projects: name, group, status, script, comments, rate, burst, updatetime."""

    status_str = ["TODO", "STOP", "CHECKING", "DEBUG", "RUNNING"]
    FIELDS = ("name", "group", "status", "script", "comments", "rate", "burst", "updatetime")

    def insert(self, name: str, obj: Mapping[str, Any] | None = None, **more: Any) -> None:
        self._write(name, {**(obj or {}), **more})

    def update(self, name: str, obj: Mapping[str, Any] | None = None, **more: Any) -> bool:
        """False when there is no such project."""
        if self.get(name, ["name"]) is None:
            return False
        self._write(name, {**(obj or {}), **more})
        return True

    def _write(self, name: str, fields: dict[str, Any]) -> None:
        known = {k: v for k, v in fields.items() if k in self.FIELDS and v is not None}
        known.pop("name", None)
        known.pop("updatetime", None)  # the node's clock sets it
        self._client.put_project(name, **known)

    def get_all(self, fields: Iterable[str] | None = None) -> Iterator[dict[str, Any]]:
        fields = list(fields or self.FIELDS)
        for project in self._client.projects():
            yield _only(project, fields)

    def get(self, name: str, fields: Iterable[str] | None = None) -> dict[str, Any] | None:
        found = self._or_none(self._client.project, name)
        return None if found is None else _only(found, list(fields or self.FIELDS))

    def check_update(self, timestamp: float, fields: Iterable[str] | None = None):
        """Projects that have changed at this moment or later."""
        fields = list(fields or self.FIELDS)
        for project in self._client.projects():
            if project["updatetime"] >= timestamp:
                yield _only(project, fields)

    def drop(self, name: str) -> None:
        """Deletes the project with its tasks, results and counters."""
        self._or_none(self._client.drop_project, name)

    @staticmethod
    def split_group(group: str | None) -> list[str]:
        return re.split(r"\W+", (group or "").lower())

    @staticmethod
    def verify_project_name(name: str) -> bool:
        return len(name) <= 64 and bool(re.fullmatch(r"\w+", name, re.ASCII))


class TaskDB(_Database):
    """Tasks: taskid, project, url, status, schedule, fetch, process, track, lastcrawltime,
    updatetime. What is written here is written whole, past the scheduler's rules: to have something
    crawled, submit it."""

    ACTIVE, SUCCESS, FAILED, BAD = 1, 2, 3, 4
    _NAMES = {1: "ACTIVE", 2: "SUCCESS", 3: "FAILED", 4: "BAD"}

    @classmethod
    def status_to_string(cls, status: int) -> str:
        return cls._NAMES.get(status, "UNKNOWN")

    @classmethod
    def status_to_int(cls, status: str) -> int:
        return {name: number for number, name in cls._NAMES.items()}.get(status.upper(), 4)

    @property
    def projects(self) -> set[str]:
        return {p["name"] for p in self._client.projects()}

    def load_tasks(self, status: int, project: str | None = None,
                   fields: Iterable[str] | None = None) -> Iterator[dict[str, Any]]:
        fields = None if fields is None else list(fields)
        names = [project] if project else sorted(self.projects)
        for name in names:
            try:
                for task in self._client.tasks(name, self._NAMES[status].lower(), _PAGE):
                    yield _only(self._row(task), fields)
            except LycosaError as refusal:
                if refusal.status != 404:
                    raise

    def get_task(self, project: str, taskid: str,
                 fields: Iterable[str] | None = None) -> dict[str, Any] | None:
        found = self._or_none(self._client.task, project, taskid)
        return None if found is None else _only(self._row(found), fields)

    @staticmethod
    def _row(task: dict[str, Any]) -> dict[str, Any]:
        task.pop("state", None)
        if not task.get("lastcrawltime"):
            task["lastcrawltime"] = None  # never crawled
        return task

    def status_count(self, project: str) -> dict[int, int]:
        """{status: how many}, of the states there are; one small call, whatever their number."""
        found = self._or_none(self._client.project, project)
        if found is None:
            return {}
        counts = {n: found["counters"].get(name.lower(), 0) for n, name in self._NAMES.items()}
        return {n: count for n, count in counts.items() if count}

    def insert(self, project: str, taskid: str, obj: Mapping[str, Any] | None = None) -> None:
        self._write({**(obj or {}), "project": project, "taskid": taskid})

    def update(self, project: str, taskid: str, obj: Mapping[str, Any] | None = None,
               **more: Any) -> None:
        known = self._or_none(self._client.task, project, taskid)
        if known is None:
            return
        self._write({**self._row(known), **(obj or {}), **more, "project": project,
                     "taskid": taskid})

    def _write(self, task: dict[str, Any]) -> None:
        task = {k: v for k, v in task.items() if v is not None}
        task["updatetime"] = time.time()
        answer = self._client.call("POST", "/v1/import/tasks", [task])
        if answer["rejected"]:
            raise ValueError(answer["rejected"][0]["error"])

    def drop(self, project: str) -> None:
        """Nothing: tasks go with their project (ProjectDB.drop)."""


class ResultDB(_Database):
    """Results: taskid, url, result, updatetime."""

    @property
    def projects(self) -> set[str]:
        return {p["name"] for p in self._client.projects()}

    def save(self, project: str, taskid: str, url: str, result: Any) -> None:
        self._client.put_result(project, taskid, {"url": url, "result": result})

    def select(self, project: str, fields: Iterable[str] | None = None, offset: int = 0,
               limit: int | None = 0) -> Iterator[dict[str, Any]]:
        fields = None if fields is None else list(fields)
        page = min(_PAGE, offset + limit) if limit else _PAGE
        rows = self._client.results(project, max(1, page))
        try:
            for row in islice(rows, offset, offset + limit if limit else None):
                yield _only(self._row(row), fields)
        except LycosaError as refusal:
            if refusal.status != 404:
                raise

    def count(self, project: str) -> int:
        """Reads through all of them: the node keeps no count of results."""
        try:
            return sum(1 for _ in self._client.results(project, 10_000))
        except LycosaError as refusal:
            if refusal.status == 404:
                return 0
            raise

    def get(self, project: str, taskid: str,
            fields: Iterable[str] | None = None) -> dict[str, Any] | None:
        found = self._or_none(self._client.result, project, taskid)
        if found is None:
            return None
        return _only(self._row({"taskid": taskid, "result": found}), fields)

    @staticmethod
    def _row(row: dict[str, Any]) -> dict[str, Any]:
        """What was saved through here has its URL beside it; anything else is a result by itself.
        """
        value = row["result"]
        if isinstance(value, dict) and set(value) == {"url", "result"}:
            return {**row, "url": value["url"], "result": value["result"]}
        return {**row, "url": ""}

    def drop(self, project: str) -> None:
        """Nothing: results go with their project (ProjectDB.drop)."""
