"""The RabbitMQ bridge, with a real broker."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import msgpack
from harness import DEADLINE, Node, free_port, until
from test_redis import status, task

SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


class Broker:
    """A rabbitmq-server of the test's own: its own name, ports, folders and cookie."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lycosa-rabbit-"))
        self.port = free_port()
        self.env = {
            "PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8",
            "RABBITMQ_NODENAME": f"lycosa{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()), "ERL_EPMD_PORT": str(free_port()),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"), "RABBITMQ_LOGS": "-",
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": str(self.folder / "none"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_PID_FILE": str(self.folder / "pid"),
        }
        (self.folder / "plugins").write_text("[].\n")
        self.process = None

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}/%2F"

    def start(self) -> "Broker":
        with open(self.folder / "out", "ab") as out:
            self.process = subprocess.Popen([str(SERVER)], env=self.env, stdout=out, stderr=out,
                                            start_new_session=True)
        until(lambda: self.put("ready", None).returncode == 0, "rabbitmq-server", within=120)
        return self

    def tool(self, name: str, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess:
        return subprocess.run([f"amqp-{name}", "--url", self.url, *words], input=stdin,
                              capture_output=True, timeout=DEADLINE)

    def declare(self, *queues: str) -> None:
        for queue in queues:
            subprocess.run(["amqp-declare-queue", "--url", self.url, "-q", queue], check=True,
                           capture_output=True, timeout=DEADLINE)

    def put(self, queue: str, value, raw: bytes | None = None) -> subprocess.CompletedProcess:
        return self.tool("publish", "-r", queue,
                         stdin=msgpack.pack(value) if raw is None else raw)

    def get(self, queue: str = "scheduler2fetcher"):
        got = self.tool("get", "-q", queue)
        return msgpack.unpack(got.stdout) if got.returncode == 0 else None

    def wait_for(self, queue: str = "scheduler2fetcher"):
        return until(lambda: self.get(queue), f"something in {queue}")

    def kill(self) -> None:
        if self.process is None:
            return
        subprocess.run(["pkill", "-9", "-s", str(self.process.pid)], check=False)
        self.process.kill()
        self.process.wait(DEADLINE)
        self.process = None

    def close(self) -> None:
        self.kill()
        subprocess.run(["pkill", "-9", "-f", f"epmd.*{self.env['ERL_EPMD_PORT']}"], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


class Rabbit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker()
        cls.addClassCleanup(cls.broker.close)
        cls.broker.start()
        # As pika's side makes them, whoever comes first.
        cls.broker.declare("newtask_queue")
        cls.node = Node(f'amqp.url="{cls.broker.url}"')
        cls.addClassCleanup(cls.node.close)
        cls.node.start()
        cls.client = cls.node.client
        until(lambda: cls.broker.tool("get", "-q", "scheduler2fetcher").returncode in (0, 2),
              "the queues")

    def test_1_a_crawl_goes_round(self):
        self.client.put_project("p", status="RUNNING", rate=1e6, burst=1e6)
        self.broker.put("newtask_queue", [task("p", "a", fetch={"timeout": 1.5}), task("p", "b")])
        taken = [self.broker.wait_for(), self.broker.wait_for()]
        self.assertEqual({t["taskid"] for t in taken}, {"a", "b"})
        self.assertEqual(next(t for t in taken if t["taskid"] == "a")["fetch"], {"timeout": 1.5})
        for t in taken:
            self.assertNotIn("lease", t)
            self.broker.put("status_queue", status(t))
        until(lambda: self.client.project("p")["counters"]["success"] == 2, "two successes")

    def test_2_what_is_broken_stops_nothing(self):
        self.client.put_project("q", status="RUNNING", rate=1e6, burst=1e6)
        good = msgpack.pack(task("q", "good"))
        for bad in (b"\xc1", b"", good[:10], msgpack.pack(7), msgpack.pack(task("unknown", "x"))):
            self.broker.put("newtask_queue", None, raw=bad)
            self.broker.put("status_queue", None, raw=bad)
        self.broker.put("newtask_queue", None, raw=good)
        self.assertEqual(self.broker.wait_for()["taskid"], "good")
        self.client.put_project("q", status="STOP")  # it is not reported, and would come again

    def test_3_the_out_queue_keeps_its_limit(self):
        self.client.put_project("r", status="RUNNING", rate=1e6, burst=1e6)
        self.client.submit([task("r", f"t{i}") for i in range(250)])
        until(lambda: self.client.project("r")["processing"] == 100, "a full queue")
        seen = {self.broker.wait_for()["taskid"] for _ in range(250)}
        self.assertEqual(len(seen), 250)
        self.client.put_project("r", status="STOP")

    def test_4_killed_in_the_middle_nothing_is_lost(self):
        self.client.put_project("s", status="PAUSED")
        for at in range(0, 500, 50):
            self.broker.put("newtask_queue", [task("s", f"t{i}") for i in range(at, at + 50)])
            if at % 200 == 0:
                self.node.restart()
                type(self).client = self.node.client
        until(lambda: self.client.size("s") == 500, "500 tasks")

    def test_5_the_broker_may_go_and_come_back(self):
        self.client.put_project("t", status="RUNNING", rate=1e6, burst=1e6)
        self.broker.kill()
        self.client.submit([task("t", "while away")])
        self.broker.start()
        until(lambda: (self.broker.put("newtask_queue", task("t", "after")),
                       self.client.size("t") == 2)[1], "a task through the queue")
        self.assertEqual({self.broker.wait_for()["taskid"] for _ in range(2)},
                         {"while away", "after"})
        self.assertEqual(self.node.stop(), 0)


if __name__ == "__main__":
    unittest.main()
