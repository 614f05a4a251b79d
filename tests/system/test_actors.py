"""Jobs that ask an actor of another program: examples/remote_actor, built as its README says."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness import ROOT, LycosaError, NodeTest, until

NEVER = {"type": "date", "run_date": "2199-01-01T00:00:00Z"}


class Greeter:
    """The example's program."""

    def __init__(self, program, port=0):
        self.process = subprocess.Popen([program, f"--port={port}"], stdout=subprocess.PIPE,
                                        text=True)
        self.name = self.process.stdout.readline().strip()
        self.port = int(self.name.rsplit(":", 1)[1])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Actors(NodeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="lycosa-actors-"))
        cls.addClassCleanup(shutil.rmtree, folder, True)
        for command in (["cmake", "-S", ROOT / "examples" / "remote_actor", "-B", folder],
                        ["cmake", "--build", folder]):
            built = subprocess.run(command, capture_output=True, text=True)
            if built.returncode != 0:
                raise AssertionError(built.stdout + built.stderr)
        cls.program = folder / "greeter"

    def start_greeter(self, port=0):
        greeter = Greeter(self.program, port)
        self.addCleanup(greeter.kill)
        return greeter

    def ask(self, key, name, **action):
        """One run of a job that asks an actor."""
        self.client.call("POST", "/v1/jobs", {"id": key, "trigger": NEVER, "timeout": 60,
                                              "replace_existing": True, "action": {
                                                  "type": "actor", "name": name, **action}})
        self.addCleanup(self.client.call, "DELETE", f"/v1/jobs/{key}")
        before = len(self.runs(key))
        self.client.call("POST", f"/v1/jobs/{key}/run")
        return until(lambda: next((r for r in self.runs(key)[:1] if len(self.runs(key)) > before
                                   and "ended" in r and r["outcome"] != "running"), None), "a run")

    def runs(self, key):
        return self.client.call("GET", f"/v1/jobs/{key}/runs")["runs"]

    def test_an_actor_of_another_program_answers(self):
        greeter = self.start_greeter()
        run = self.ask("greet", greeter.name, payload={"to": "you"})
        self.assertEqual(run["outcome"], "success", run)
        self.assertEqual(run["value"], {"hello": {"to": "you"}, "job": "greet", "attempt": 0})
        run = self.ask("nobody", greeter.name)
        self.assertEqual((run["outcome"], run["error"]), ("error", "nobody to greet"))
        run = self.ask("unknown", f"other@127.0.0.1:{greeter.port}")
        self.assertEqual((run["outcome"], run["error"]),
                         ("error", f"no actor is named other at 127.0.0.1:{greeter.port}"))

    def test_after_its_program_was_killed_and_started_again_it_is_asked_again(self):
        greeter = self.start_greeter()
        self.assertEqual(self.ask("first", greeter.name, payload=1)["outcome"], "success")
        greeter.process.kill()
        greeter.process.wait()
        self.assertEqual(self.ask("second", greeter.name, payload=1)["outcome"], "error")
        self.start_greeter(greeter.port)
        self.assertEqual(self.ask("third", greeter.name, payload=1)["outcome"], "success")

    def test_a_name_that_cannot_be_is_refused_with_the_job(self):
        for name, why in (("greeter@host", "port"), ("", "name"), ("much-too-long", "1 to 10")):
            with self.assertRaises(LycosaError) as refused:
                self.client.call("POST", "/v1/jobs", {"id": "bad", "trigger": NEVER, "action": {
                    "type": "actor", "name": name}})
            self.assertEqual(refused.exception.status, 400)
            self.assertIn("action.name", str(refused.exception))
            self.assertIn(why, str(refused.exception))
        run = self.ask("local", "greeter")
        self.assertIn("no actor is named greeter in this process", run["error"])


if __name__ == "__main__":
    unittest.main()
