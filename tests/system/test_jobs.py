"""Jobs over HTTP: a node that runs commands, requests and tasks on a timetable."""

import http.server
import json
import threading
import unittest

from harness import ROOT, LycosaError, Node, NodeTest, lycosa, until

NEVER = {"type": "date", "run_date": "2199-01-01T00:00:00Z"}


class Jobs(NodeTest):
    def job(self, key: str, **members):
        job = {"id": key, "trigger": NEVER, "action": {"type": "command", "argv": ["true"]}}
        job.update(members)
        answer = self.client.call("POST", "/v1/jobs", job)
        self.addCleanup(self.forget, key)
        return answer

    def forget(self, name):
        try:
            self.client.call("DELETE", f"/v1/jobs/{name}")
        except LycosaError:
            pass

    def runs(self, name):
        return self.client.call("GET", f"/v1/jobs/{name}/runs")["runs"]

    def ended(self, name, n=1):
        return until(lambda: [r for r in self.runs(name) if r["outcome"] not in (
            "queued", "running", "buffered", "retrying")][-n:] if len(self.runs(name)) >= n else None,
            f"{n} runs of {name}")

    def test_a_command_on_a_timer(self):
        self.job("tick", trigger={"type": "interval", "seconds": 1},
                 action={"type": "command", "shell": "echo out; echo err >&2; exit 3"})
        run = self.ended("tick", 2)[0]
        self.assertEqual(run["outcome"], "error")
        self.assertEqual(run["exit_code"], 3)
        self.assertIn("out\nerr", run["output"])

    def test_run_now_pause_resume_change_and_remove(self):
        made = self.job("a", name="A", tags={"k": "v"})
        self.assertEqual((made["id"], made["paused"], made["tags"]), ("a", False, {"k": "v"}))
        self.client.call("POST", "/v1/jobs/a/run")
        self.assertEqual(self.ended("a")[0]["outcome"], "success")
        paused = self.client.call("POST", "/v1/jobs/a/pause", {"reason": "holiday"})
        self.assertEqual((paused["paused"], paused["pause_reason"], paused["next_run_time"]),
                         (True, "holiday", None))
        self.assertIn("holiday", self.client.call("GET", "/v1/jobs/a/why")["why"])
        self.assertFalse(self.client.call("POST", "/v1/jobs/a/resume", {"missed": "skip"})["paused"])
        changed = self.client.call("PATCH", "/v1/jobs/a", {"trigger": {
            "type": "cron", "hour": 3, "minute": 0, "timezone": "Europe/Berlin"}})
        self.assertEqual(changed["name"], "A")
        times = self.client.call("GET", "/v1/jobs/a/next?n=3")["times"]
        self.assertEqual(len(times), 3)
        self.assertTrue(all("T03:00:00+0" in t for t in times), times)
        listed = self.client.call("GET", "/v1/jobs")["jobs"]
        self.assertIn("a", [j["id"] for j in listed])
        with self.assertRaises(LycosaError) as twice:
            self.job("a")
        self.assertEqual(twice.exception.status, 409)
        self.assertEqual(self.job("a", replace_existing=True)["id"], "a")
        self.client.call("DELETE", "/v1/jobs/a")
        with self.assertRaises(LycosaError) as gone:
            self.client.call("GET", "/v1/jobs/a")
        self.assertEqual(gone.exception.status, 404)

    def test_a_task_lands_in_its_project(self):
        p = self.project()
        self.job("crawl", action={"type": "task", "task": {
            "project": p, "taskid": "t", "url": "http://x/", "schedule": {"age": 0}}})
        self.client.call("POST", "/v1/jobs/crawl/run")
        self.assertEqual(self.ended("crawl")[0]["outcome"], "success")
        self.assertEqual(self.client.lease(1, projects=[p])[0]["taskid"], "t")
        self.job("nowhere", action={"type": "task", "task": {"project": "unknown", "url": "u"}})
        self.client.call("POST", "/v1/jobs/nowhere/run")
        run = self.ended("nowhere")[0]
        self.assertEqual(run["outcome"], "error")
        self.assertIn("no such project", run["error"])

    def test_a_request(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.send_response(201)
                self.end_headers()
                self.wfile.write(b"thanks")

            def log_message(self, *_):
                pass
        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.job("hook", action={"type": "http", "method": "POST", "body": "{}",
                                 "url": f"http://127.0.0.1:{server.server_port}/",
                                 "expect_status": [201]})
        self.client.call("POST", "/v1/jobs/hook/run")
        run = self.ended("hook")[0]
        self.assertEqual((run["outcome"], run["http_status"], run["output"]),
                         ("success", 201, "thanks"))

    def test_output_that_is_no_text_is_shown_all_the_same(self):
        self.job("bytes", action={"type": "command", "shell": "printf 'a\\377b'"})
        self.client.call("POST", "/v1/jobs/bytes/run")
        run = self.ended("bytes")[0]
        self.assertEqual((run["outcome"], run["output"]), ("success", "a\ufffdb"))

    def test_the_command_line_adds_lists_and_names_what_is_refused(self):
        self.job("m2")
        lines = "".join(json.dumps({"id": key, "trigger": trigger,
                                    "action": {"type": "command", "argv": ["true"]}}) + "\n"
                        for key, trigger in (("m1", "no"), ("m2", NEVER), ("m3", NEVER),
                                             ("m4", NEVER)))
        for key in ("m3", "m4"):
            self.addCleanup(self.forget, key)
        ran = lycosa("job", "add", "-", server=self.node.url, stdin=lines)
        self.assertEqual([line.split(":")[0] for line in ran.stdout.splitlines()], ["m3", "m4"])
        self.assertIn("m3: next run 2", ran.stdout)
        self.assertRegex(ran.stderr, r"\Alycosa: m1: trigger\S*: [^\n]+\nlycosa: m2: [^\n]+exists\n\Z")
        self.assertEqual(ran.returncode, 1)
        ran = lycosa("job", "add", "-", "--replace", "--json", server=self.node.url,
                     stdin="".join(lines.splitlines(keepends=True)[1:]))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual([j["id"] for j in json.loads(ran.stdout)], ["m2", "m3", "m4"])

    def test_the_command_line(self):
        def job(*words, code=0, **more):
            ended = lycosa("job", *words, server=self.node.url, **more)
            self.assertEqual(ended.returncode, code, ended.stderr)
            return ended.stdout

        examples = sorted((ROOT / "examples" / "jobs").glob("*.json"))
        self.assertGreaterEqual(len(examples), 5)
        for file in examples:
            self.assertIn(": next run 2", job("add", str(file)))
            job("add", str(file), code=1)
            job("add", str(file), "--replace")
            self.addCleanup(self.forget, json.loads(file.read_text())["id"])
        shown = job("ls")
        self.assertIn("nightly-backup", shown)
        exported = json.loads(job("export"))
        job("pause", "webhook", "--reason", "away")
        self.assertIn("away", job("why", "webhook"))
        self.assertIn("away", job("ls"))
        job("resume", "webhook")
        job("modify", "webhook", '{"retries": 1}')
        self.assertEqual(json.loads(job("show", "webhook", "--json"))["retries"], 1)
        job("rm", "webhook")
        job("show", "webhook", code=1)
        again = "\n".join(json.dumps({k: v for k, v in j.items() if k not in (
            "next_run_time", "finished")}) for j in exported if j["id"] == "webhook")
        job("add", "-", stdin=again)
        self.job("now")
        job("run", "now")
        self.ended("now")
        self.assertIn("success", job("history", "now"))
        job("add", "-", stdin="nonsense", code=2)

    def test_what_is_wrong_is_named(self):
        for change, field in (({"id": None}, "id"), ({"trigger": {"type": "cron", "hour": 25}},
                              "hour"), ({"overlap": "sometimes"}, "overlap"), ({"colour": 1},
                              "colour"), ({"action": {"type": "command"}}, "action"),
                              ({"timezone": "Mars/Phobos"}, "timezone")):
            job = {"id": "bad", "trigger": NEVER, "action": {"type": "command", "argv": ["x"]}}
            job.update(change)
            if job["id"] is None:
                del job["id"]
            with self.assertRaises(LycosaError) as refused:
                self.client.call("POST", "/v1/jobs", job)
            self.assertEqual(refused.exception.status, 400)
            self.assertIn(field, str(refused.exception))

    def test_a_list_of_jobs_is_added_and_what_is_wrong_in_it_is_told(self):
        def one(key, **members):
            self.addCleanup(self.forget, key)
            return {"id": key, "trigger": NEVER,
                    "action": {"type": "command", "argv": ["true"]}, **members}
        answer = self.client.call("POST", "/v1/jobs", [
            one("l1"), {"id": "l2"}, one("l3"), one("l1"), 7])
        self.assertEqual(answer["added"], 2)
        self.assertEqual([r["index"] for r in answer["rejected"]], [1, 3, 4])
        self.assertIn("trigger", answer["rejected"][0]["error"])
        self.assertIn("l1", answer["rejected"][1]["error"])
        self.assertEqual([r["status"] for r in answer["rejected"]], [400, 409, 400])
        self.assertNotIn("jobs", answer)
        for key in ("l1", "l3"):
            self.assertEqual(self.client.call("GET", f"/v1/jobs/{key}")["id"], key)
        with self.assertRaises(LycosaError) as refused:
            self.client.call("POST", "/v1/jobs", [
                one("l4", replace_existing=True), one("l5")])
        self.assertIn("replace_existing", str(refused.exception))
        with self.assertRaises(LycosaError):
            self.client.call("GET", "/v1/jobs/l4")

    def test_triggers_without_a_job(self):
        got = self.client.call("POST", "/v1/triggers/next", {
            "trigger": {"type": "crontab", "expr": "0 9 * * 1-5"}, "timezone": "Europe/Berlin",
            "from": "2026-03-27T12:00:00", "n": 2})
        self.assertEqual(got["times"], ["2026-03-30T09:00:00+02:00", "2026-03-31T09:00:00+02:00"])
        self.assertTrue(got["meaning"])
        for bad, field in (({"trigger": {"type": "cron", "hour": "x"}}, "hour"), ({}, "trigger"),
                           ({"trigger": "@daily", "n": 0}, "n")):
            with self.assertRaises(LycosaError) as refused:
                self.client.call("POST", "/v1/triggers/next", bad)
            self.assertEqual(refused.exception.status, 400)
            self.assertIn(field, str(refused.exception))


class Restarts(unittest.TestCase):
    def test_jobs_and_history_outlive_a_kill_and_a_run_cut_off_is_told(self):
        node = Node()
        self.addCleanup(node.close)
        node.start()
        node.client.call("POST", "/v1/jobs", {"id": "long", "trigger": NEVER, "action": {
            "type": "command", "argv": ["sleep", "1000"]}})
        node.client.call("POST", "/v1/jobs/long/run")
        runs = "/v1/jobs/long/runs"
        until(lambda: node.client.call("GET", runs)["runs"][0]["outcome"] == "running", "a run")
        node.restart()
        run = until(lambda: next((r for r in node.client.call("GET", runs)["runs"]
                                  if r["outcome"] == "lost"), None), "a lost run")
        self.assertTrue(run["reason"])
        node.client.call("POST", "/v1/jobs/long/run")
        self.assertEqual(node.stop(), 0)

    def test_many_runs_a_second_and_kills_leave_one_record_a_time(self):
        node = Node()
        self.addCleanup(node.close)
        node.start()
        node.client.put_project("p", status="RUNNING", rate=1e6, burst=1e6)
        ids = [f"j{i}" for i in range(300)]
        answer = node.client.call("POST", "/v1/jobs", [
            {"id": i, "trigger": {"type": "interval", "seconds": 1},
             "action": {"type": "task", "task": {"project": "p", "taskid": i, "url": "u"}}}
            for i in ids])
        self.assertEqual(answer["added"], len(ids))
        for n in range(1, 4):
            until(lambda: sum(node.client.call("GET", "/v1/scheduler/jobs")[k] for k in (
                "succeeded", "failed")) >= 600, "runs")
            node.kill()
            checked = lycosa("check", "--data", str(node.data))
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            node.start()
            for i in ids[::10]:
                runs = node.client.call("GET", f"/v1/jobs/{i}/runs?limit=100")["runs"]
                numbers = [r["run"] for r in runs]
                self.assertEqual(numbers, list(range(numbers[0], 0, -1)))
                self.assertGreaterEqual(len(numbers), n)
                times = [r["nominal"] for r in runs]
                self.assertEqual(len(times), len(set(times)), "a time was decided twice")


if __name__ == "__main__":
    unittest.main()
