"""The Redis bridge, with a real redis-server: pyspider's fetcher and processor on the other side."""

import signal
import unittest

import msgpack
from harness import Node, NodeTest, until
from redis_server import RedisClient, RedisServer


def task(project: str, taskid: str, **more):
    return {"taskid": taskid, "project": project, "url": f"http://x/{taskid}", **more}


def status(taken: dict, ok: bool = True, **track):
    """What pyspider's processor sends back for a task it was given."""
    return {"taskid": taken["taskid"], "project": taken["project"], "url": taken["url"],
            "schedule": taken.get("schedule", {}),
            "track": {"fetch": {"ok": True, "time": 0.1, "status_code": 200},
                      "process": {"ok": ok, "time": 0.01, "follows": 0}, **track}}


class Bridge(NodeTest):
    @classmethod
    def setUpClass(cls):
        cls.server = RedisServer().start()
        cls.settings = (f'redis.url="{cls.server.url(2)}"',)
        cls.addClassCleanup(cls.server.__exit__)
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.redis = RedisClient(self.server, 2)
        self.redis.run("DEL", "newtask_queue", "status_queue", "scheduler2fetcher")

    def state(self, project, taskid):
        return self.client.task(project, taskid)["status"]

    def test_a_crawl_goes_round(self):
        p = self.project()
        self.redis.put("newtask_queue", task(p, "a", fetch={"headers": {"X": "1"}, "timeout": 1.5},
                                             process={"callback": "index"}))
        taken = self.redis.wait_for()
        self.assertEqual(
            set(taken) - {"updatetime"},
            {"taskid", "project", "url", "status", "schedule", "fetch", "process", "track",
             "lastcrawltime", "type", "group", "project_md5sum", "project_updatetime"})
        self.assertEqual(taken["fetch"], {"headers": {"X": "1"}, "timeout": 1.5})
        self.assertEqual(taken["process"], {"callback": "index"})
        self.assertEqual(taken["type"], 1)
        self.assertIsInstance(taken["project_updatetime"], float)
        self.redis.put("status_queue", status(taken))
        until(lambda: self.state(p, "a") == 2, "the task's success")

    def test_lists_and_text_as_python_2_packed_it(self):
        p = self.project()
        self.redis.put("newtask_queue", [task(p, f"t{i}") for i in range(100)])
        self.redis.put("newtask_queue", task(p, "old"), binary=True)
        seen = {self.redis.wait_for()["taskid"] for _ in range(101)}
        self.assertEqual(seen, {f"t{i}" for i in range(100)} | {"old"})

    def test_a_failure_is_retried_and_integer_keys_are_read(self):
        p = self.project(script="class Handler: pass", retry_delay={"": 60})
        asked = self.redis.wait_for()
        self.assertEqual(asked["taskid"], "_on_get_info")
        self.assertEqual(asked["fetch"], {"save": ["min_tick", "retry_delay", "crawl_config"]})
        self.redis.put("status_queue", status(
            asked, save={"min_tick": 0, "retry_delay": {0: 0, "": 0},
                         "crawl_config": {"headers": {"User-Agent": "me"}}}))
        self.redis.put("newtask_queue", task(p, "a", fetch={"headers": {"X": "1"}}))
        taken = self.redis.wait_for()
        self.assertEqual(taken["fetch"], {"headers": {"X": "1", "User-Agent": "me"}})
        self.redis.put("status_queue", status(taken, ok=False))
        self.assertEqual(self.redis.wait_for()["taskid"], "a", "retried at once, as it was told")

    def test_the_out_queue_is_never_longer_than_its_limit(self):
        p = self.project()
        self.client.submit([task(p, f"t{i}") for i in range(500)])
        until(lambda: self.redis.length("scheduler2fetcher") == 100, "a full queue")
        seen = set()
        while len(seen) < 500:
            self.assertLessEqual(self.redis.length("scheduler2fetcher"), 100)
            taken = self.redis.get()
            if taken:
                seen.add(taken["taskid"])
        self.assertEqual(len(seen), 500)

    def test_what_is_broken_stops_nothing(self):
        p = self.project()
        good = msgpack.pack(task(p, "good", fetch={"a": [1, 2.5, None]}))
        for cut in range(len(good)):
            self.redis.run("RPUSH", "newtask_queue", good[:cut])
        for bad in (b"\xc1", b"\xdd\xff\xff\xff\xff", b"\x91" * 5000, b"\xc7\x01\x01\x01",
                    msgpack.pack(7), msgpack.pack("x"), msgpack.pack(None), msgpack.pack([1, None]),
                    msgpack.pack({}), msgpack.pack({"taskid": 1, "project": p, "url": "u"}),
                    msgpack.pack(task("unknown", "a")), msgpack.pack({"project": p, "url": "u"})):
            self.redis.run("RPUSH", "newtask_queue", bad)
            self.redis.run("RPUSH", "status_queue", bad)
        for bad in ({"taskid": "no", "project": p}, {"taskid": "no", "project": p, "track": None},
                    {"taskid": "no", "project": p, "track": {}},
                    status(task(p, "no")), status(task("unknown", "no"))):
            self.redis.put("status_queue", bad)
        self.redis.run("RPUSH", "newtask_queue", good)
        taken = self.redis.wait_for()
        self.assertEqual(taken["taskid"], "good")
        self.redis.put("status_queue", status(taken))
        until(lambda: self.state(p, "good") == 2, "the good one's success")
        for queue in ("newtask_queue", "status_queue"):
            until(lambda: self.redis.length(f"{queue}:lycosa:lycosa") == 0,
                  "all done with, the empty ones too")

    def test_a_tick_comes_as_pyspider_sends_it(self):
        p = self.project(script="x", min_tick=1)
        asked = self.redis.wait_for()
        self.redis.put("status_queue", status(asked, save={"min_tick": 1}))
        tick = self.redis.wait_for()
        self.assertEqual(tick["taskid"], "_on_cronjob")
        self.assertIsInstance(tick["fetch"]["save"]["tick"], int)
        self.client.put_project(p, status="STOP")


class Interrupted(unittest.TestCase):
    """Servers and nodes that come and go. Nothing that was in a queue is lost."""

    def node(self, server: RedisServer, *settings: str) -> Node:
        node = Node(f'redis.url="{server.url()}"', *settings)
        self.addCleanup(node.close)
        return node

    def test_the_server_may_come_late_and_go_and_come_back(self):
        server = RedisServer()
        self.addCleanup(server.__exit__)
        node = self.node(server).start()
        node.client.put_project("p", status="RUNNING", rate=1e6, burst=1e6)
        server.start()
        redis = RedisClient(server)
        redis.put("newtask_queue", task("p", "a"))
        self.assertEqual(redis.wait_for()["taskid"], "a")
        server.kill()
        node.client.submit([task("p", f"t{i}") for i in range(150)])
        server.start()
        redis = RedisClient(server)
        redis.put("newtask_queue", task("p", "b"))
        seen = set()
        while len(seen) < 151:
            seen.add(redis.wait_for()["taskid"])
        self.assertEqual(seen, {f"t{i}" for i in range(150)} | {"b"})

    def test_a_queue_of_another_type_is_told_and_tried_again(self):
        with RedisServer() as server:
            redis = RedisClient(server)
            redis.run("SET", "newtask_queue", "x")
            node = self.node(server).start()
            node.client.put_project("p", status="RUNNING")
            until(lambda: "WRONGTYPE" in node.errors(), "the reason in the log")
            redis.run("DEL", "newtask_queue")
            redis.put("newtask_queue", task("p", "after"))
            self.assertEqual(redis.wait_for()["taskid"], "after")

    def test_a_password_and_tls(self):
        with RedisServer(password="s3cret", tls=True) as server:
            node = self.node(server).start()
            node.client.put_project("p", status="RUNNING")
            redis = RedisClient(server)
            redis.put("newtask_queue", task("p", "a"))
            self.assertEqual(redis.wait_for()["taskid"], "a")
            self.assertNotIn("s3cret", node.errors())

    def test_a_certificate_nobody_vouches_for_is_refused(self):
        with RedisServer(tls=True) as server:
            node = Node(f'redis.url="rediss://localhost:{server.port}"')
            self.addCleanup(node.close)
            node.start()
            until(lambda: "certificate" in node.errors(), "the reason in the log")

    def test_killed_in_the_middle_nothing_is_lost_and_nothing_is_left(self):
        with RedisServer() as server:
            node = self.node(server).start()
            node.client.put_project("p", status="PAUSED")
            redis = RedisClient(server)
            sent = 0
            for _ in range(5):
                for _ in range(40):
                    redis.put("newtask_queue", [task("p", f"t{sent + i}") for i in range(50)])
                    sent += 50
                node.restart()
            until(lambda: node.client.size() == sent, f"{sent} tasks")
            until(lambda: redis.length("newtask_queue:lycosa:lycosa") == 0, "an empty list")

    def test_a_report_delivered_twice_over_a_crash_counts_once(self):
        with RedisServer() as server:
            node = self.node(server).start()
            node.client.put_project("p", status="RUNNING", rate=1e6, burst=1e6)
            redis = RedisClient(server)

            def retried():
                return (node.client.task("p", "a").get("schedule") or {}).get("retried", 0)
            redis.put("newtask_queue", task("p", "a"))
            failure = status(redis.wait_for(), ok=False)
            redis.put("status_queue", failure)
            until(lambda: retried() == 1, "the retry")
            node.kill()
            # As when the kill comes between its commit and its removal.
            redis.put("status_queue:lycosa:lycosa", failure)
            redis.put("newtask_queue", task("p", "later"))
            node.start()
            redis.wait_for()
            until(lambda: redis.length("status_queue:lycosa:lycosa") == 0, "the rest handed in")
            self.assertEqual(retried(), 1)

    def test_what_was_taken_and_could_not_be_stored_goes_back_at_a_stop(self):
        for reliable in ("true", "false"):
            with self.subTest(reliable=reliable), RedisServer() as server:
                node = self.node(server, f"redis.reliable={reliable}", "storage.map_size='1MiB'",
                                 "storage.shards=1").start()
                node.client.put_project("p", status="PAUSED")
                redis = RedisClient(server)
                big = "x" * 20_000
                for i in range(300):
                    redis.put("newtask_queue", task("p", f"t{i}", fetch={"data": big}))
                until(lambda: "refused" in node.errors(), "a full store")
                stored = node.client.size()
                node.signal(signal.SIGTERM)
                self.assertEqual(node.wait(), 0)
                left = redis.length("newtask_queue")
                # A batch is handed in as a whole: some of what goes back may be stored already.
                self.assertGreaterEqual(left + stored, 300)
                first = msgpack.unpack(redis.run("LINDEX", "newtask_queue", "0"))
                last = msgpack.unpack(redis.run("LINDEX", "newtask_queue", "-1"))
                self.assertLess(int(first["taskid"][1:]), int(last["taskid"][1:]), "in order")

    def test_a_stop_gives_tasks_that_were_not_pushed_back(self):
        with RedisServer() as server:
            node = self.node(server).start()
            node.client.put_project("p", status="RUNNING", rate=1e6, burst=1e6)
            server.kill()
            node.client.submit([task("p", "a")])
            self.assertEqual(node.stop(), 0)
            server.start()
            node.start()
            self.assertEqual(RedisClient(server).wait_for()["taskid"], "a")

    def test_a_url_that_makes_no_sense_is_refused(self):
        import subprocess
        node = Node('redis.url="http://x"')
        self.addCleanup(node.close)
        ended = subprocess.run(node.command(), capture_output=True, text=True, timeout=30)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("redis.url", ended.stderr)
        self.assertEqual(len(ended.stderr.strip().splitlines()[-1:]), 1)


if __name__ == "__main__":
    unittest.main()
