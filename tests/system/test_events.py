"""What happens, told over HTTP as a stream, to webhooks, to the log, and by `lycosa events`."""

import http.client
import http.server
import json
import queue
import subprocess
import threading
import unittest

from harness import BINARY, LycosaError, Node, NodeTest, free_port, lycosa, until

NEVER = {"type": "date", "run_date": "2199-01-01T00:00:00Z"}
RUN_OF = ["JOB_SUBMITTED", "JOB_STARTED", "JOB_EXECUTED"]


class Stream:
    """One connection to /v1/events, read event by event."""

    def __init__(self, node, query="", last=None):
        self.connection = http.client.HTTPConnection(node.address, timeout=30)
        headers = {"Last-Event-ID": last} if last else {}
        self.connection.request("GET", "/v1/events" + query, headers=headers)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()
        assert self.answer.readline() == b": following\n"

    def next(self):
        """(id, type, data) of the next event; None at the end."""
        fields = {}
        while True:
            line = self.answer.readline().decode()
            if not line:
                return None
            line = line.rstrip("\n")
            if not line and "data" in fields:
                return fields["id"], fields["event"], json.loads(fields["data"])
            if line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                fields[name] = value

    def until(self, kind):
        """All events up to one of this type."""
        seen = []
        while not seen or seen[-1][1] != kind:
            event = self.next()
            assert event is not None, seen
            seen.append(event)
        return seen

    def close(self):
        self.answer.close()
        self.connection.close()


class Follow:
    """`lycosa events --json`, line by line."""

    def __init__(self, test, *arguments):
        self.process = subprocess.Popen([BINARY, "events", "--json", *arguments],
                                        stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        reading = threading.Thread(target=lambda: [self.lines.put(l) for l in self.process.stdout])
        reading.start()
        for end in (self.process.stdout.close, reading.join, self.process.wait, self.process.kill):
            test.addCleanup(end)

    def next(self):
        return json.loads(self.lines.get(timeout=30))


class Hook:
    """An HTTP server that keeps what is posted to it."""

    def __init__(self, port=0, refuse=0, answer=b""):
        self.posts, self.headers, self.refuse = [], [], refuse
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if hook.refuse > 0:
                    hook.refuse -= 1
                    self.send_error(503)
                    return
                hook.posts.append(body)
                hook.headers.append(dict(self.headers))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/hook"

    def events(self):
        return [e for post in list(self.posts) for e in post]

    def types(self):
        return [e["type"] for e in self.events()]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def add_job(node, key, argv=("true",), **members):
    return node.client.call("POST", "/v1/jobs", {
        "id": key, "trigger": NEVER, "action": {"type": "command", "argv": list(argv)}, **members})


def run_job(node, key):
    node.client.call("POST", f"/v1/jobs/{key}/run")


class Events(NodeTest):
    def job(self, key, *argv, **members):
        add_job(self.node, key, argv or ("true",), **members)
        self.addCleanup(lambda: self.client.call("DELETE", f"/v1/jobs/{key}"))

    def follow(self, *args, **options):
        stream = Stream(self.node, *args, **options)
        self.addCleanup(stream.close)
        return stream

    def test_a_run_is_told_in_order(self):
        stream = self.follow("?job=order")
        self.job("order", "sh", "-c", "echo hello")
        run_job(self.node, "order")
        seen = stream.until("JOB_EXECUTED")
        self.assertEqual([e[1] for e in seen], ["JOB_ADDED", *RUN_OF])
        last = seen[-1][2]
        self.assertEqual((last["type"], last["job_id"], last["run"]["exit_code"]),
                         ("JOB_EXECUTED", "order", 0))
        self.assertEqual(last["run"]["output"], "hello\n")
        numbers = [int(e[0].split("-")[1]) for e in seen]
        self.assertEqual(numbers, sorted(set(numbers)))

    def test_only_the_types_asked_for(self):
        stream = self.follow("?types=job_error,JOB_REMOVED")
        self.job("bad", "false")
        run_job(self.node, "bad")
        self.assertEqual(stream.next()[1], "JOB_ERROR")
        with self.assertRaises(LycosaError) as unknown:
            self.client.call("GET", "/v1/events?types=job_eror")
        self.assertEqual(unknown.exception.status, 400)
        self.assertIn("JOB_ERROR", str(unknown.exception))

    def test_a_reader_goes_on_where_it_was(self):
        self.job("again")
        first = self.follow("?job=again")
        run_job(self.node, "again")
        seen = first.until("JOB_EXECUTED")
        first.close()
        run_job(self.node, "again")
        second = self.follow("?job=again", last=seen[0][0])
        went_on = second.until("JOB_EXECUTED") + second.until("JOB_EXECUTED")
        self.assertEqual(went_on[:len(seen) - 1], seen[1:])
        self.assertEqual([e[1] for e in went_on[-3:]], RUN_OF)
        self.assertEqual(went_on[-1][2]["run"]["run"], 2)

    def test_all_jobs_and_the_whole_scheduler(self):
        stream = self.follow("?types=scheduler_paused,scheduler_resumed,job_modified")
        self.job("one")
        self.assertTrue(self.client.call("POST", "/v1/scheduler/jobs/pause")["paused"])
        self.assertTrue(self.client.call("GET", "/v1/scheduler/jobs")["paused"])
        self.assertFalse(self.client.call("POST", "/v1/scheduler/jobs/resume")["paused"])
        moved = self.client.call("POST", "/v1/jobs/one/reschedule",
                                 {"trigger": {"type": "crontab", "expr": "0 0 1 1 *"}})
        self.assertEqual(moved["trigger"]["type"], "crontab")
        self.assertEqual([stream.next()[1] for _ in range(3)],
                         ["SCHEDULER_PAUSED", "SCHEDULER_RESUMED", "JOB_MODIFIED"])

    def test_a_backfill_runs_the_times_of_a_range(self):
        stream = self.follow("?job=past&types=job_executed")
        self.job("past", trigger={"type": "crontab", "expr": "0 0 * * *"}, timezone="UTC")
        answer = self.client.call("POST", "/v1/jobs/past/backfill",
                                  {"from": "2024-02-27T00:00:00", "to": "2024-03-01T00:00:00Z"})
        self.assertEqual(answer["runs"], 4)
        runs = [stream.next()[2]["run"] for _ in range(4)]
        self.assertEqual([(r["cause"], r["nominal"]) for r in runs],
                         [("backfill", 1708992000 + d * 86400) for d in range(4)])
        out = lycosa("job", "backfill", "past", "2024-01-01", "2024-01-02", "--json",
                     "--server", self.node.url)
        self.assertEqual(json.loads(out.stdout), {"runs": 2})
        self.assertEqual(stream.next()[2]["run"]["cause"], "backfill")

    def test_a_project_is_followed_by_its_name(self):
        stream = self.follow("?project=followed")
        run = lambda **fields: self.client.put_project("followed", **fields)
        run(status="STOP")
        self.project()
        run(status="RUNNING")
        self.client.drop_project("followed")
        seen = [stream.next() for _ in range(3)]
        self.assertEqual([e[1] for e in seen],
                         ["PROJECT_ADDED", "PROJECT_MODIFIED", "PROJECT_REMOVED"])
        self.assertEqual({e[2]["project"] for e in seen}, {"followed"})
        self.assertEqual(seen[1][2]["status"], "RUNNING")

    def test_the_command_line_follows(self):
        self.job("cli", "false")
        run_job(self.node, "cli")
        follow = Follow(self, "--job", "cli", "--types", "job_error", "--since", "0", "-n", "2",
                        "--server", self.node.url)
        self.assertEqual(follow.next()["run"]["exit_code"], 1)
        run_job(self.node, "cli")
        self.assertEqual(follow.next()["run"]["run"], 2)
        self.assertEqual(follow.process.wait(30), 0)
        out = lycosa("events", "--types", "nonsense", "--server", self.node.url)
        self.assertEqual(out.returncode, 2)
        self.assertIn("JOB_ERROR", out.stderr)
        out = lycosa("job", "reschedule", "cli", "every 90s", "--server", self.node.url)
        self.assertEqual(json.loads(out.stdout)["trigger"]["type"], "interval")


    def test_all_jobs_are_removed_from_the_command_line(self):
        stream = self.follow("?types=256")  # APScheduler's EVENT_ALL_JOBS_REMOVED
        add_job(self.node, "gone")
        out = lycosa("job", "rm", "--server", self.node.url)
        self.assertEqual(out.returncode, 2)
        out = lycosa("job", "rm", "--all", "--server", self.node.url)
        self.assertEqual(out.returncode, 2)
        self.assertIn("--yes", out.stderr)
        out = lycosa("job", "rm", "--all", "--yes", "--json", "--server", self.node.url)
        self.assertGreaterEqual(json.loads(out.stdout)["removed"], 1)
        self.assertEqual(stream.next()[1], "ALL_JOBS_REMOVED")
        self.assertEqual(self.client.call("GET", "/v1/jobs")["jobs"], [])


class Listeners(unittest.TestCase):
    """With settings of their own, or nodes that come and go."""

    def node(self, *settings):
        node = Node(*settings)
        self.addCleanup(node.close)
        return node.start()

    def hook(self, **options):
        hook = Hook(**options)
        self.addCleanup(hook.close)
        return hook

    def test_what_the_buffer_lost_is_one_gap(self):
        node = self.node("events.buffer=5")
        stream = Stream(node)
        add_job(node, "a")
        first = stream.next()
        stream.close()
        for i in range(20):
            add_job(node, f"a{i}")
        late = Stream(node, last=first[0])
        self.addCleanup(late.close)
        gap = late.next()
        self.assertEqual((gap[1], gap[2]["missing"]), ("GAP", 15))
        self.assertEqual([late.next()[2]["job_id"] for _ in range(5)],
                         [f"a{i}" for i in range(15, 20)])

    def test_an_id_of_an_earlier_run_is_told(self):
        node = self.node()
        stream = Stream(node)
        add_job(node, "a")
        last = stream.next()[0]
        stream.close()
        node.restart()
        again = Stream(node, last=last)
        self.addCleanup(again.close)
        gap = again.next()
        self.assertEqual((gap[1], gap[2]["earlier_run"]), ("GAP", True))
        self.assertIn("SCHEDULER_STARTED", [e[1] for e in again.until("SCHEDULER_STARTED")])

    def test_a_reader_that_stands_still_gets_a_gap(self):
        node = self.node("events.buffer=20")
        slow = Stream(node)
        self.addCleanup(slow.close)
        hook = self.hook(answer=json.dumps("x" * 60_000).encode())
        node.client.call("POST", "/v1/jobs", {
            "id": "noise", "trigger": NEVER, "overlap": "allow",
            "action": {"type": "http", "method": "POST", "url": hook.url, "body": "[]"}})
        done = Stream(node, "?types=job_removed")
        self.addCleanup(done.close)
        for _ in range(300):  # past what the two sockets hold
            run_job(node, "noise")
        until(lambda: node.client.call("GET", "/v1/scheduler/jobs")["succeeded"] == 300, "the runs")
        node.client.call("DELETE", "/v1/jobs?confirm=all")
        done.until("JOB_REMOVED")  # somebody else is not held up
        seen = slow.until("ALL_JOBS_REMOVED")
        self.assertIn("GAP", [e[1] for e in seen])
        self.assertEqual(seen[-1][2]["count"], 1)

    def test_stopping_ends_streams(self):
        node = self.node()
        stream = Stream(node)
        self.addCleanup(stream.close)
        self.assertEqual(node.stop(), 0)
        self.assertIsNone(stream.next())

    def test_webhooks_get_lists_and_are_tried_again(self):
        down = free_port()
        good, picky = self.hook(), self.hook(refuse=3)
        node = self.node(
            f'events.webhooks={{ good = "{good.url}", picky = "{picky.url}", '
            f'down = "http://127.0.0.1:{down}/" }}',
            'events.webhook_types={ picky = "job_error,job_executed" }',
            'events.webhook_headers={ good = "X-Secret: yes" }')
        add_job(node, "a")
        run_job(node, "a")
        until(lambda: "JOB_EXECUTED" in good.types(), "the webhook to be told")
        types = good.types()
        self.assertEqual([t for t in types if t in RUN_OF], RUN_OF)
        self.assertEqual(types[:1], ["EXECUTOR_ADDED"])
        self.assertEqual(good.headers[0]["X-Secret"], "yes")
        self.assertIn("-", good.events()[0]["id"])
        until(lambda: picky.types() == ["JOB_EXECUTED"], "the webhook that had refused")
        late = self.hook(port=down)
        until(lambda: "JOB_EXECUTED" in late.types(), "the webhook that was down")
        self.assertEqual([e["id"] for e in late.events()], [e["id"] for e in good.events()])
        self.assertEqual(node.stop(), 0)
        self.assertEqual(good.types()[-1], "SCHEDULER_SHUTDOWN")
        before = len(good.events())
        node.start()
        until(lambda: "SCHEDULER_STARTED" in good.types()[before:], "to be told of the next start")
        epochs = [e["id"].split("-")[0] for e in good.events()]
        self.assertEqual(epochs, sorted(epochs))
        self.assertEqual(len(set(epochs)), 2)

    def test_the_log_has_what_was_asked_for(self):
        node = self.node('events.log="job_error"', 'log.format="json"')
        add_job(node, "bad", ("false",))
        run_job(node, "bad")
        def told():
            lines = [json.loads(l) for l in node.errors().splitlines() if l.startswith("{")]
            return [l for l in lines if l["subsystem"] == "events"]
        line = until(told, "the line in the log")[0]
        self.assertEqual(json.loads(line["message"].split(" ", 1)[1])["job_id"], "bad")
        self.assertEqual(len(told()), 1)

    def test_limits_of_jobs_are_settings(self):
        node = self.node("jobs.history_count=3",
                         "jobs.executors={ one = { concurrency = 1, queue_limit = 0 } }")
        add_job(node, "slow", ("sleep", "60"), executor="one", overlap="allow")
        stream = Stream(node, "?types=job_started,queue_dropped")
        self.addCleanup(stream.close)
        run_job(node, "slow")
        self.assertEqual(stream.next()[1], "JOB_STARTED")
        run_job(node, "slow")
        self.assertEqual(stream.next()[1], "QUEUE_DROPPED")
        for _ in range(6):
            run_job(node, "slow")
        # The one that is under way stays.
        kept = node.client.call("GET", "/v1/jobs/slow/runs")["runs"]
        self.assertEqual([r["run"] for r in kept], [8, 7, 6, 1])
        node.client.call("DELETE", "/v1/jobs/slow")

    def test_the_command_line_comes_back(self):
        class Steady(Node):
            """Comes back at the same address."""

            port = free_port()

            def command(self, *extra):
                return [part.replace("127.0.0.1:0", f"127.0.0.1:{self.port}", 1)
                        if part == "127.0.0.1:0" else part for part in super().command(*extra)]

        node = Steady()
        self.addCleanup(node.close)
        node.start()
        add_job(node, "a")
        follow = Follow(self, "--types", "scheduler_started,job_removed", "--since", "0",
                        "--server", node.url)
        self.assertEqual(follow.next()["type"], "SCHEDULER_STARTED")
        node.restart()
        self.assertEqual(follow.next()["type"], "GAP")
        self.assertEqual(follow.next()["type"], "SCHEDULER_STARTED")
        node.client.call("DELETE", "/v1/jobs/a")
        self.assertEqual(follow.next()["type"], "JOB_REMOVED")

    def test_what_makes_no_sense_is_refused_at_the_start(self):
        for setting, key in (('events.webhooks={ a = "ftp://x" }', "events.webhooks.a"),
                             ('events.log="nonsense"', "events.log"),
                             ('events.webhook_types={ b = "job_error" }', "events.webhooks"),
                             ("jobs.executors={ a = { speed = 1 } }", "jobs.executors"),
                             ("jobs.executors={ a = { concurrency = 0 } }", "jobs.executors")):
            node = Node(setting)
            self.addCleanup(node.close)
            out = subprocess.run(node.command(), capture_output=True, text=True, timeout=60)
            self.assertEqual(out.returncode, 2, out.stderr)
            self.assertIn(key, out.stderr)


if __name__ == "__main__":
    unittest.main()
