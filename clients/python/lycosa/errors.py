"""What can go wrong with a call."""

from __future__ import annotations

from typing import Any


class LycosaError(Exception):
    """The node answered with a problem.

    `status` is the HTTP status, `problem` the RFC 9457 document (empty when the body was none),
    `retry_after` the seconds the node asks to wait before trying again (None = it does not say).
    """

    def __init__(self, status: int, problem: dict[str, Any], retry_after: float | None = None):
        self.status = status
        self.problem = problem
        self.retry_after = retry_after
        text = problem.get("detail") or problem.get("title") or "no reason given"
        super().__init__(f"{status}: {text}")

    @property
    def errors(self) -> list[dict[str, Any]]:
        """For lists: `{index, field, reason}` of each item at fault."""
        return self.problem.get("errors", [])


class Unreachable(ConnectionError):
    """No answer: the node is down, or went away during the call.

    Whether the call took effect is not known. Repeating a submit or a report is safe: a known
    task is ignored, a report that has been taken already is rejected as stale.
    """
