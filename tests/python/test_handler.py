"""The base of Python scripts, without a node."""

import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CLIENT = Path(__file__).resolve().parents[2] / "clients" / "python"
sys.path[:0] = [str(CLIENT)]

from lycosa.handler import (BaseHandler, Response, catch_status_code_error, config,  # noqa: E402
                            every, run)


class Script(BaseHandler):
    crawl_config = {"headers": {"A": "b"}}
    retry_delay = {0: 5, "": 60}

    @every(minutes=1)
    def each_minute(self):
        self.crawl("http://x/minute", callback=self.page)

    @every(seconds=90)
    def each_ninety(self):
        self.crawl("http://x/ninety", callback=self.page)

    @config(age=60, priority=3)
    def page(self, response):
        print("seen", response.url)
        self.crawl(response.links(), callback=self.page, save={"n": 1})
        return {"title": response.title}

    def fails(self, response):
        self.crawl("http://x/never", callback=self.page)
        raise ValueError("broken")

    @catch_status_code_error
    def any_status(self, response):
        return response.status_code

    def both(self, response, task):
        return task["taskid"]

    def odd(self, response):
        return {1, 2}

    def slow(self, response):
        while True:
            pass

    def on_message(self, project, message):
        self.send_message(project, ["got", message])
        return message


def ask(callback, response=None, **task):
    fields = {"project": "p", "taskid": "t", "url": "http://x/", "process": {"callback": callback}}
    fields.update(task)
    out = io.StringIO()
    request = {"id": 7, "task": fields, "response": response or {"status_code": 200,
                                                                 "url": "http://x/"}}
    run(Script, [json.dumps(request)], out)
    answer = json.loads(out.getvalue())
    assert answer["id"] == 7
    return answer


class Scripts(unittest.TestCase):
    def test_a_page(self):
        got = ask("page", {"status_code": 200, "url": "http://x/d/", "headers": {
            "Content-Type": "text/html"}, "content":
            "<title> T </title><a href='a#f'>1</a><a href='/b?x=1&amp;y=2'>2</a><a href='a'>"
            "<a href='mailto:x'>"})
        self.assertTrue(got["ok"], got["exception"])
        self.assertEqual(got["result"], {"title": "T"})
        self.assertEqual([t["url"] for t in got["follows"]],
                         ["http://x/d/a", "http://x/b?x=1&y=2"])
        task = got["follows"][0]
        self.assertEqual(task["schedule"], {"priority": 3, "age": 60})
        self.assertEqual(task["process"], {"callback": "page"})
        self.assertEqual(task["fetch"], {"save": {"n": 1}})
        self.assertEqual(task["project"], "p")
        self.assertIn("seen http://x/d/", got["logs"])

    def test_a_failure_keeps_nothing_of_what_it_had_begun(self):
        got = ask("fails")
        self.assertFalse(got["ok"])
        self.assertIn("ValueError: broken", got["exception"])
        self.assertEqual(got["follows"], [])

    def test_a_bad_status_fails_unless_it_is_caught(self):
        bad = {"status_code": 404, "url": "http://x/"}
        self.assertFalse(ask("page", bad)["ok"])
        self.assertEqual(ask("any_status", bad)["result"], 404)

    def test_get_info_and_ticks(self):
        self.assertEqual(ask("_on_get_info")["save"], {
            "min_tick": 30, "retry_delay": {"0": 5, "": 60},
            "crawl_config": {"headers": {"A": "b"}}})
        for tick, urls in ((60, ["http://x/minute"]), (90, ["http://x/ninety"]),
                           (180, ["http://x/minute", "http://x/ninety"]), (30, [])):
            got = ask("_on_cronjob", {"status_code": 200, "url": "", "save": {"tick": tick}})
            self.assertEqual([t["url"] for t in got["follows"]], urls)

    def test_messages(self):
        got = ask("_on_message", {"status_code": 200, "url": "", "save": ["other", {"a": 1}]})
        self.assertEqual(got["messages"], [["other", ["got", {"a": 1}], "data:,on_message"]])
        self.assertEqual(got["result"], {"a": 1})

    def test_odd_things(self):
        self.assertEqual(ask("both")["result"], "t")
        self.assertFalse(ask("odd")["ok"])
        self.assertFalse(ask("missing")["ok"])
        self.assertIn("longer than", ask("slow", process={
            "callback": "slow", "process_time_limit": 0.1})["exception"])

    def test_what_crawl_makes_of_its_arguments(self):
        s = Script()
        s.project, s._follows = "p", []
        s.crawl("http://x/?a=1", params={"b": 2}, callback="page", itag="v", age=1,
                data={"k": "v"}, headers={"H": "1"})
        task = s._follows[0]
        self.assertEqual(task["url"], "http://x/?a=1&b=2")
        self.assertEqual(task["fetch"], {"method": "POST", "headers": {"H": "1"}, "data": "k=v"})
        self.assertEqual(task["schedule"], {"priority": 3, "age": 1, "itag": "v"})
        s.crawl("http://x/", taskid="mine", cancel=True)
        self.assertEqual(s._follows[1]["taskid"], "mine")
        with self.assertRaises(TypeError):
            s.crawl("http://x/", calback=1)

    def test_text_in_the_pages_own_encoding(self):
        page = "<meta charset=latin-1>ü".encode("latin-1")
        import base64
        r = Response({"status_code": 200, "content_base64": base64.b64encode(page).decode()})
        self.assertIn("ü", r.text)

    def test_as_a_process(self):
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "s.py"
            script.write_text("from lycosa.handler import BaseHandler\n"
                              "class Handler(BaseHandler):\n"
                              "    def page(self, response):\n"
                              "        return response.json['x']\n")
            ended = subprocess.run(
                [sys.executable, "-m", "lycosa.handler", str(script)], capture_output=True,
                text=True, env={"PYTHONPATH": str(CLIENT)}, timeout=60,
                input=json.dumps({"id": 1, "task": {
                    "project": "p", "taskid": "t", "url": "u", "process": {"callback": "page"}},
                    "response": {"status_code": 200, "content": '{"x": 5}'}}) + "\n")
        self.assertEqual(json.loads(ended.stdout)["result"], 5, ended.stderr)


if __name__ == "__main__":
    unittest.main()
