"""Scheduler, fetcher and scripts in one process, on a real site on loopback."""

import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from harness import BINARY, ROOT, Client, environment, lycosa, until

PAGES = 30


class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    log: list[str] = []

    def do_GET(self):
        Site.log.append(self.path)
        if self.path == "/moved":
            self.answer(302, b"", Location="/p/1")
        elif self.path == "/loop":
            self.answer(302, b"", Location="/loop")
        elif self.path == "/cached":
            if self.headers.get("If-None-Match") == '"v1"':
                self.answer(304, b"")
            else:
                self.answer(200, b"<title>cached</title>", ETag='"v1"')
        elif self.path == "/robots.txt":
            self.answer(200, b"User-agent: lycosa\nDisallow: /p/\nAllow: /p/1")
        elif self.path == "/cookie":
            self.answer(200, self.headers.get("Cookie", "none").encode())
        elif self.path == "/broken":
            self.answer(500, b"sorry")
        elif self.path == "/" or self.path.startswith("/p/"):
            n = int(self.path[3:] or 0) if self.path != "/" else 0
            links = "".join(f"<a href='/p/{m % PAGES}'>x</a>" for m in range(2 * n + 1, 2 * n + 3))
            self.answer(200, f"<title>page {n}</title>{links}".encode())
        else:
            self.answer(404, b"no")

    def answer(self, status, body, **headers):
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


SCRIPT = '''
from lycosa.handler import BaseHandler, config, every, catch_status_code_error
SITE = %(site)r

class Handler(BaseHandler):
    retry_delay = {"": 0}
    crawl_config = {"headers": {"X-From": "lycosa"}}

    def on_start(self):
        self.crawl(SITE, callback=self.page)
        self.crawl(SITE + "moved", callback=self.moved)
        self.crawl(SITE + "cookie", callback=self.cookie, cookies={"a": "1"})
        self.crawl(SITE + "broken", callback=self.page, retries=1)
        self.crawl("data:text/plain,hello", callback=self.data)
        self.crawl(SITE + "loop", callback=self.page, retries=0)

    @config(age=3600)
    def page(self, response):
        for link in response.links():
            self.crawl(link, callback=self.page)
        return {"title": response.title}

    def moved(self, response):
        return {"url": response.url}

    def cookie(self, response):
        return {"cookie": response.text}

    def data(self, response):
        return {"data": response.text}

    def on_finished(self):
        with open(%(mark)r, "a") as f:
            f.write("finished\\n")
'''


class One(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.site = f"http://127.0.0.1:{cls.server.server_port}/"

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lycosa-one-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.scripts = self.folder / "scripts"
        self.scripts.mkdir()
        self.mark = self.folder / "finished"

    def write(self, name="site", text=SCRIPT):
        (self.scripts / f"{name}.py").write_text(text % {"site": self.site,
                                                         "mark": str(self.mark)})

    def command(self, *words):
        return [BINARY, "one", str(self.scripts), "--data", str(self.folder / "data"), "--listen",
                "127.0.0.1:0", *words]

    def begin(self, *words, stdin=subprocess.DEVNULL):
        process = subprocess.Popen(self.command(*words), stdin=stdin, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=environment())
        self.addCleanup(lambda: (process.kill(), process.wait(), process.stdout.close(),
                                 process.stderr.close()))
        ready = process.stdout.readline()
        self.assertTrue(ready.startswith("lycosa ready "), ready)
        return process, Client("http://" + ready.split("http=")[1].split()[0])

    def serve(self):
        """A node over the data that `one` has left."""
        from harness import Node
        node = Node(data=self.folder / "data")
        self.addCleanup(node.close)
        return node.start().client

    def test_a_site_is_walked_to_its_end_exactly_once(self):
        self.write()
        Site.log.clear()
        ended = subprocess.run(self.command("--exit-when-done"), capture_output=True, text=True,
                               timeout=120, env=environment())
        self.assertEqual(ended.returncode, 0, ended.stderr)
        client = self.serve()
        results = {r["taskid"]: r["result"]["result"] for r in client.results("site")}
        titles = [r["title"] for r in results.values() if "title" in r]
        self.assertEqual(sorted(titles), sorted([f"page {n}" for n in range(PAGES)] + ["page 0"]),
                         "the root and /p/0 are two pages")
        self.assertEqual(len([p for p in Site.log if p.startswith("/p/")]),
                         len({p for p in Site.log if p.startswith("/p/")}) + 1,
                         "each page once; one of them was also moved to")
        self.assertIn({"url": self.site + "p/1"}, results.values())
        self.assertIn({"cookie": "a=1"}, results.values())
        self.assertIn({"data": "hello"}, results.values())
        self.assertEqual(Site.log.count("/broken"), 2, "one retry")
        failed = [t["url"] for t in client.tasks("site", "failed")]
        self.assertEqual(sorted(failed), sorted([self.site + "broken", self.site + "loop"]))
        self.assertEqual(self.mark.read_text(), "finished\n", "exactly once")
        self.assertEqual(client.size("site"), 0)

    def test_what_a_script_does_wrong_fails_its_task_alone(self):
        self.write(text='''
import os, sys, time
from lycosa.handler import BaseHandler
class Handler(BaseHandler):
    retry_delay = {"": 0}
    def on_start(self):
        for what in ("raises", "dies", "prints", "hangs", "good"):
            self.crawl("data:," + what, callback=getattr(self, what), retries=0)
    def raises(self, response):
        raise ValueError("broken")
    def dies(self, response):
        os._exit(3)
    def prints(self, response):
        os.write(1, b"no JSON at all\\n\\n{}\\n")
        return "printed"
    def hangs(self, response):
        while True:
            pass
    def good(self, response):
        return "good"
''')
        ended = subprocess.run(self.command("--exit-when-done", "--set",
                                            "fetcher.script_time_limit=1"),
                               capture_output=True, text=True, timeout=120, env=environment())
        self.assertEqual(ended.returncode, 0, ended.stderr)
        client = self.serve()
        self.assertEqual(sorted(t["url"] for t in client.tasks("site", "failed")),
                         ["data:,dies", "data:,hangs", "data:,raises"])
        self.assertEqual(sorted(r["result"]["result"] for r in client.results("site")),
                         ["good", "printed"])
        task = next(t for t in client.tasks("site", "failed") if t["url"].endswith("raises"))
        self.assertIn("ValueError: broken", task["track"]["process"]["exception"])

    def test_a_changed_script_is_loaded_again(self):
        script = '''
from lycosa.handler import BaseHandler
class Handler(BaseHandler):
    def on_start(self):
        self.crawl("data:,x", callback=self.page, taskid="x", force_update=True)
    def page(self, response):
        return "VERSION"
'''
        self.write(text=script.replace("VERSION", "one"))
        process, client = self.begin()
        until(lambda: any(r["result"]["result"] == "one" for r in client.results("site")), "one")
        self.write(text=script.replace("VERSION", "two"))
        until(lambda: "two" in client.project("site")["script"], "the new script")
        client.call("POST", "/v1/projects/site/start")
        until(lambda: any(r["result"]["result"] == "two" for r in client.results("site")), "two")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0)

    def test_ticks_messages_and_a_second_project(self):
        self.write(text='''
from lycosa.handler import BaseHandler, every
class Handler(BaseHandler):
    @every(seconds=1)
    def each_second(self):
        self.send_message("other", {"from": "site"})
''')
        self.write("other", '''
from lycosa.handler import BaseHandler
class Handler(BaseHandler):
    def on_message(self, project, message):
        self.crawl("data:,got", callback=self.page, save=[project, message])
    def page(self, response):
        return response.save
''')
        process, client = self.begin()
        until(lambda: any(r["result"]["result"] == ["site", {"from": "site"}]
                          for r in client.results("other")), "a message")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30), 0)

    def test_a_page_that_has_not_changed_is_not_sent_again(self):
        self.write(text='''
from lycosa.handler import BaseHandler
class Handler(BaseHandler):
    def on_start(self):
        self.crawl(%(site)r + "cached", callback=self.page, taskid="c", force_update=True)
    def page(self, response):
        return response.status_code
''')
        process, client = self.begin()
        until(lambda: [r["result"]["result"] for r in client.results("site")] == [200], "200")
        until(lambda: client.size("site") == 0, "an empty queue")
        client.call("POST", "/v1/projects/site/start")
        until(lambda: [r["result"]["result"] for r in client.results("site")] == [304], "304")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0)

    def test_robots_txt_is_heeded_where_a_task_asks_for_it(self):
        self.write(text='''
from lycosa.handler import BaseHandler
class Handler(BaseHandler):
    crawl_config = {"robots_txt": True}
    retry_delay = {"": 0}
    def on_start(self):
        for n in (1, 2, 3):
            self.crawl(%(site)r + "p/" + str(n), callback=self.page, retries=0)
    def page(self, response):
        return response.title
''')
        Site.log.clear()
        ended = subprocess.run(self.command("--exit-when-done"), capture_output=True, text=True,
                               timeout=120, env=environment())
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(sorted(Site.log), ["/p/1", "/robots.txt"])
        failed = list(self.serve().tasks("site", "failed"))
        self.assertEqual(len(failed), 2)
        self.assertIn("robots.txt", failed[0]["track"]["fetch"]["error"])

    def test_any_program_may_be_the_script(self):
        program = self.folder / "script.py"
        program.write_text('''
import json, sys
for line in sys.stdin:
    ask = json.loads(line)
    callback = ask["task"]["process"].get("callback")
    out = {"id": ask["id"], "ok": True}
    if callback == "on_start":
        out["follows"] = [{"url": "data:,x", "process": {"callback": "page"}}]
    if callback == "page":
        out["result"] = ask["response"]["content"]
    print(json.dumps(out), flush=True)
''')
        ended = subprocess.run(
            [BINARY, "one", "--handler", f"{sys.executable} {program}", "--only", "mine", "--data",
             str(self.folder / "data"), "--listen", "127.0.0.1:0", "--exit-when-done"],
            capture_output=True, text=True, timeout=120, env=environment())
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual([r["result"]["result"] for r in self.serve().results("mine")], ["x"])

    def test_one_task_at_a_time(self):
        self.write(text='''
from lycosa.handler import BaseHandler
class Handler(BaseHandler):
    def on_start(self):
        self.crawl("data:,first", callback=self.page)
    def page(self, response):
        return response.text
''')
        script = f'''
next()
# _on_get_info came first
next()
next()
crawl("{self.site}p/3", callback="page", age=5)
show("{self.site}p/3")
crawl("{self.site}p/3")
quit_pyspider()
'''
        ended = subprocess.run(self.command("--interactive"), input=script, capture_output=True,
                               text=True, timeout=120, env=environment())
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("result \"first\"", ended.stdout)
        self.assertEqual(ended.stdout.count(f"200 {self.site}p/3"), 2)
        self.assertIn('"callback": "page"', ended.stdout)

    def test_the_shell_of_a_node_elsewhere(self):
        self.write(text="from lycosa.handler import BaseHandler\nclass Handler(BaseHandler): pass\n")
        process, client = self.begin()
        client.put_project("plain", status="PAUSED")
        shell = lycosa("shell", "plain", stdin='crawl("http://x/", priority=3, headers={"A": "b"})\n'
                       'show("http://x/")\nprojects()\nhelp()\nquit_interactive()\n',
                       server=client.server)
        self.assertEqual(shell.returncode, 0, shell.stderr)
        self.assertIn('"priority": 3', shell.stdout)
        self.assertEqual(client.tasks("plain").__next__()["fetch"], {"headers": {"A": "b"}})
        for bad in ('crawl(http://x/)', 'crawl("http://x/", colour=1)', 'nonsense()', 'show("no")'):
            self.assertEqual(lycosa("shell", "plain", stdin=bad + "\n",
                                    server=client.server).returncode, 1, bad)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0)

    def test_bad_usage(self):
        for words in (["/no/such/folder"], [str(self.folder)]):
            ended = subprocess.run([BINARY, "one", *words], capture_output=True, text=True,
                                   timeout=30, env=environment())
            self.assertEqual(ended.returncode, 2, ended.stderr)


if __name__ == "__main__":
    unittest.main()
