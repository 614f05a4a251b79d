"""Building the objects that calls take."""

from __future__ import annotations

import hashlib
from typing import Any, Mapping


def taskid_of(url: str) -> str:
    """The id a task gets when it is submitted without one."""
    return hashlib.md5(url.encode()).hexdigest()


def status_pack(
    task: Mapping[str, Any],
    ok: bool,
    *,
    fetch: Mapping[str, Any] | None = None,
    process: Mapping[str, Any] | None = None,
    save: Any = None,
) -> dict[str, Any]:
    """The report of one leased task.

    `ok` says whether the crawl as a whole succeeded. `fetch` and `process` add members such as
    `time` (seconds), `status_code` or `error`; an `ok` of their own wins. `save` is handed to the
    next crawl of the task.
    """
    track: dict[str, Any] = {
        "fetch": {"ok": ok, **(fetch or {})},
        "process": {"ok": ok, **(process or {})},
    }
    if save is not None:
        track["save"] = save
    pack = {"project": task["project"], "taskid": task["taskid"], "track": track}
    for key in ("url", "lease"):
        if key in task:
            pack[key] = task[key]
    return pack
