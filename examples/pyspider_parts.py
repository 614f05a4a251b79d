#!/usr/bin/env python3
"""A fetcher and a processor that speak to their scheduler as pyspider's do, and to nothing else.

Tasks come from the Redis list `scheduler2fetcher`; reports go to `status_queue`, links that were
found to `newtask_queue`; all is MessagePack. The script is any class of lycosa.handler. Ends when
`on_finished` was called.

    ./pyspider_parts.py redis://127.0.0.1:6379/0 script.py

Needs Debian's python3-redis and python3-msgpack.
"""

from __future__ import annotations

import sys
import urllib.error
import urllib.request
from pathlib import Path

import msgpack
import redis

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "clients" / "python")]

from lycosa.handler import Response, load  # noqa: E402


def fetch(task: dict) -> dict:
    """What pyspider's fetcher makes of a task."""
    url, options = task["url"], task.get("fetch") or {}
    out = {"status_code": 200, "url": url, "orig_url": url, "headers": {}, "content": "",
           "time": 0.0, "save": options.get("save")}
    if url.startswith("data:"):
        return out
    request = urllib.request.Request(url, headers=options.get("headers") or {})
    try:
        with urllib.request.urlopen(request, timeout=options.get("timeout", 20)) as answer:
            out.update(status_code=answer.status, url=answer.url, headers=dict(answer.headers),
                       content=answer.read().decode("utf-8", "replace"))
    except urllib.error.HTTPError as failure:
        out.update(status_code=failure.code, headers=dict(failure.headers))
        failure.close()
    except OSError as failure:
        out.update(status_code=599, error=str(failure))
    return out


def status_pack(task: dict, response: dict, answer: dict) -> dict:
    """What pyspider's processor reports."""
    return {"taskid": task["taskid"], "project": task["project"], "url": task["url"],
            "schedule": task.get("schedule") or {},
            "track": {"fetch": {"ok": response["status_code"] < 400, "time": response["time"],
                                "status_code": response["status_code"], "headers": {},
                                "redirect_url": None, "error": response.get("error"),
                                "encoding": "utf-8", "content": None},
                      "process": {"ok": answer["ok"], "time": answer["time"],
                                  "follows": len(answer["follows"]), "result": None,
                                  "logs": answer["logs"][-1000:],
                                  "exception": answer["exception"]},
                      "save": answer["save"] or {}}}


def main() -> int:
    queues = redis.Redis.from_url(sys.argv[1])
    script = load(sys.argv[2])()
    while True:
        taken = queues.blpop("scheduler2fetcher", timeout=1)
        if taken is None:
            continue
        task = msgpack.unpackb(taken[1], strict_map_key=False)
        response = fetch(task)
        answer = script.answer(task, Response(response))
        if not answer["ok"]:
            print(task["url"], (answer["exception"] or "").strip().splitlines()[-1],
                  file=sys.stderr)
        # pyspider reports first and submits afterwards: a scheduler must bear it.
        if task["taskid"] != "_on_cronjob":
            queues.rpush("status_queue", msgpack.packb(status_pack(task, response, answer)))
        for at in range(0, len(answer["follows"]), 1000):
            queues.rpush("newtask_queue", msgpack.packb(answer["follows"][at:at + 1000]))
        if task["taskid"] == "on_finished":
            return 0


if __name__ == "__main__":
    sys.exit(main())
