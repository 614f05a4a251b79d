"""pyspider's database classes, called as its web interface and processor call them."""

import threading
import time

from harness import NodeTest, Unreachable, free_port
from lycosa.pyspider import ProjectDB, ResultDB, TaskDB, connect_database


class Databases(NodeTest):
    def setUp(self):
        super().setUp()
        host = self.node.address
        self.projects = connect_database(f"lycosa+projectdb://{host}?timeout=20")
        self.tasks = connect_database(f"lycosa+taskdb://{host}")
        self.results = connect_database(f"lycosa+resultdb://{host}")

    def test_the_front_page_and_its_switches(self):
        """Lists projects; a click changes status, rate/burst or group; the debugger saves."""
        p = self.project(status="TODO", script="old", group="g")
        listed = {x["name"]: x for x in self.projects.get_all(
            fields=["name", "group", "status", "rate", "burst", "updatetime"])}
        self.assertEqual(listed[p]["status"], "TODO")
        self.assertEqual(set(listed[p]), {"name", "group", "status", "rate", "burst", "updatetime"})
        before = listed[p]["updatetime"]
        info = self.projects.get(p, fields=("name", "status", "group"))
        self.assertNotIn("lock", ProjectDB.split_group(info["group"]))
        self.assertTrue(self.projects.update(p, status="RUNNING", rate=2.5, burst=5))
        self.assertTrue(self.projects.update(p, {"script": "new", "name": p, "comments": None}))
        got = self.projects.get(p)
        self.assertEqual((got["status"], got["rate"], got["burst"], got["script"]),
                         ("RUNNING", 2.5, 5, "new"))
        self.assertGreater(got["updatetime"], before)
        self.assertEqual([x["name"] for x in self.projects.check_update(got["updatetime"])
                          if x["name"] == p], [p])
        self.assertEqual([x for x in self.projects.check_update(time.time() + 100)], [])
        self.assertFalse(self.projects.update("unknown", status="STOP"))
        self.assertIsNone(self.projects.get("unknown"))

    def test_a_new_project_of_the_debugger(self):
        self.assertTrue(ProjectDB.verify_project_name("new_project"))
        for bad in ("a b", "a.b", "", "x" * 65, "ä"):
            self.assertFalse(ProjectDB.verify_project_name(bad))
        name = self.project() + "new"
        self.projects.insert(name, {"name": name, "script": "s", "status": "TODO", "rate": 1,
                                    "burst": 10, "group": None, "updatetime": 1})
        self.assertEqual(self.projects.get(name)["script"], "s")
        self.projects.drop(name)
        self.projects.drop(name)
        self.assertIsNone(self.projects.get(name))

    def test_the_progress_bars_and_task_pages(self):
        p = self.project()
        self.client.submit([{"project": p, "taskid": f"t{i}", "url": f"http://x/{i}",
                             "process": {"callback": "c"}} for i in range(5)])
        leased = self.client.lease(2, projects=[p])
        self.client.report([{"project": p, "taskid": t["taskid"], "lease": t["lease"], "track": {
            "fetch": {"ok": True}, "process": {"ok": True}, "save": {"a": 1}}} for t in leased])
        self.assertEqual(self.tasks.status_count(p), {TaskDB.ACTIVE: 3, TaskDB.SUCCESS: 2})
        self.assertEqual(self.tasks.status_count("unknown"), {})
        task = self.tasks.get_task(p, leased[0]["taskid"])
        self.assertEqual(self.tasks.status_to_string(task["status"]), "SUCCESS")
        self.assertEqual(task["track"]["save"], {"a": 1})
        self.assertIsNone(self.tasks.get_task(p, "none"))
        self.assertIsNone(self.tasks.get_task("unknown", "none"))
        self.assertEqual(self.tasks.get_task(p, leased[0]["taskid"], fields=["status", "url"]),
                         {"status": 2, "url": leased[0]["url"]})
        self.assertEqual(len(list(self.tasks.load_tasks(TaskDB.ACTIVE, p))), 3)
        self.assertIn(p, self.tasks.projects)
        self.assertEqual({t["project"] for t in self.tasks.load_tasks(TaskDB.SUCCESS,
                                                                      fields=["project"])
                          if t["project"] == p}, {p})
        self.assertEqual(list(self.tasks.load_tasks(TaskDB.ACTIVE, "unknown")), [])

    def test_rows_written_whole(self):
        p = self.project(status="STOP")
        self.tasks.insert(p, "t", {"url": "http://x/", "status": TaskDB.ACTIVE, "schedule": {
            "priority": 3}, "lastcrawltime": None})
        self.assertEqual(self.tasks.get_task(p, "t")["lastcrawltime"], None)
        self.tasks.update(p, "t", status=TaskDB.FAILED, track={"save": {"b": 2}})
        got = self.tasks.get_task(p, "t")
        self.assertEqual((got["status"], got["schedule"]["priority"], got["track"]),
                         (TaskDB.FAILED, 3, {"save": {"b": 2}}))
        self.tasks.update(p, "none", status=TaskDB.FAILED)
        self.assertIsNone(self.tasks.get_task(p, "none"))
        with self.assertRaises(ValueError):
            self.tasks.insert(p, "x" * 1000, {"url": "http://x/"})

    def test_the_result_pages_and_worker(self):
        p = self.project()
        for i in range(25):
            self.results.save(p, f"t{i:02}", f"http://x/{i}", {"title": f"ü{i}"})
        self.assertEqual(self.results.count(p), 25)
        self.assertEqual(self.results.count("unknown"), 0)
        rows = list(self.results.select(p, offset=5, limit=10))
        self.assertEqual(len(rows), 10)
        everything = list(self.results.select(p))
        self.assertEqual(rows, everything[5:15])
        row = self.results.get(p, "t03")
        self.assertEqual((row["url"], row["result"]), ("http://x/3", {"title": "ü3"}))
        self.assertIsNone(self.results.get(p, "none"))
        self.results.save(p, "t03", "http://x/3", {"title": "again"})
        self.assertEqual(self.results.get(p, "t03")["result"], {"title": "again"})
        self.assertEqual(self.results.count(p), 25)
        self.assertIn(p, self.results.projects)

    def test_copies_serve_other_threads(self):
        p = self.project()
        seen = []
        threads = [threading.Thread(target=lambda db=self.tasks.copy(): seen.append(
            db.status_count(p))) for _ in range(5)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(seen, [{}] * 5)

    def test_a_node_that_is_away_is_told_in_time(self):
        away = connect_database(f"lycosa+taskdb://127.0.0.1:{free_port()}?timeout=1")
        with self.assertRaises(Unreachable):
            away.get_task("p", "t")
        for bad in ("sqlite:///x", "lycosa+taskdb://", "lycosa+other://h"):
            with self.assertRaises(ValueError):
                connect_database(bad)
        self.assertIsInstance(self.results, ResultDB)
