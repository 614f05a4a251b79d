"""A crontab moved into a node, and jobs moved from node to node as JSON and TOML."""

import json
import os
import tempfile
import unittest
from pathlib import Path

from harness import ROOT, Node, NodeTest, lycosa, until

CRONTAB = r"""# Edit this file to introduce tasks to be run by cron.
#
# m h  dom mon dow   command
SHELL=/bin/bash
PATH=/usr/local/bin:/usr/bin:/bin
MAILTO="ops@example.org, dev@example.org"
GREETING='hello there'

# Tells who greets whom:
# the second word is the host
30 4 * * 1-5 echo "$GREETING"; read -r first; echo "<$first>" $((40 + 2))\%%from the crontab%second line
-*/15 * * * * /usr/bin/env true
0 0 1,15 * sun [ -e /nonexistent ] || exit 3

CRON_TZ=Asia/Tokyo
RANDOM_DELAY=10
@daily touch /tmp/nothing-much
@reboot echo up
#0 5 * * 1 tar -zcf /var/backups/home.tgz /home/
"""

SYSTEM = """SHELL=/bin/sh
PATH=/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin

17 *\t* * *\troot\tcd / && run-parts --report /etc/cron.hourly
25 6\t* * *\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
*/5 * * * * www-data  [ -x /usr/lib/php/sessionclean ] && /usr/lib/php/sessionclean
"""


class Crontab(NodeTest):
    def setUp(self):
        self.addCleanup(self.forget_all)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "crontab")

    def lycosa(self, *words, code=0, **more):
        ended = lycosa("job", *words, server=self.node.url, **more)
        self.assertEqual(ended.returncode, code, ended.stderr)
        return ended

    def take(self, text, *words, code=0):
        Path(self.file).write_text(text)
        return self.lycosa("import-crontab", self.file, *words, code=code)

    def jobs(self):
        return self.client.call("GET", "/v1/jobs")["jobs"]

    def forget_all(self):
        for job in self.jobs():
            self.client.call("DELETE", f"/v1/jobs/{job['id']}")

    def run_of(self, job):
        self.client.call("POST", f"/v1/jobs/{job}/run")
        return until(lambda: next((r for r in self.client.call("GET", f"/v1/jobs/{job}/runs")["runs"]
                                   if r["outcome"] in ("success", "error")), None), f"{job} to end")

    def test_a_users_crontab_does_what_cron_did(self):
        told = self.take(CRONTAB)
        self.assertIn("5 added, 0 replaced, 0 unchanged", told.stdout)
        self.assertIn(f"{self.file}:11: warning: command: column ", told.stderr)
        greet = next(j for j in self.jobs() if j["name"] == "Tells who greets whom:")
        self.assertEqual(greet["overlap"], "allow")
        self.assertEqual(greet["tags"]["mailto"], "ops@example.org, dev@example.org")
        run = self.run_of(greet["id"])
        self.assertEqual((run["outcome"], run["output"]),
                         ("success", "hello there\n<from the crontab> 42%\n"))
        failing = next(j for j in self.jobs() if j["trigger"]["expr"] == "0 0 1,15 * sun")
        self.assertEqual(self.run_of(failing["id"])["exit_code"], 3)
        daily = next(j for j in self.jobs() if j["trigger"]["expr"] == "@daily")
        self.assertEqual((daily["timezone"], daily["jitter"]), ("Asia/Tokyo", 600))
        times = self.client.call("GET", f"/v1/jobs/{daily['id']}/next?n=3")["times"]
        self.assertTrue(all("T00:0" in t and t.endswith("+09:00") for t in times), times)

    def test_importing_again_changes_nothing(self):
        self.take(CRONTAB)
        before = self.jobs()
        self.assertIn("is there already; nothing was imported", self.take(CRONTAB, code=1).stderr)
        paused = next(j["id"] for j in before if j["trigger"]["expr"] == "*/15 * * * *")
        self.client.call("POST", f"/v1/jobs/{paused}/pause", {"reason": "holiday"})
        before = self.jobs()
        again = self.take(CRONTAB, "--replace")
        self.assertIn("0 added, 0 replaced, 5 unchanged", again.stdout)
        changed = CRONTAB.replace("*/15 *", "*/20 *")
        self.assertEqual({j["id"]: j["next_run_time"] for j in before},
                         {j["id"]: j["next_run_time"] for j in self.jobs()})
        self.assertEqual(before, self.jobs())
        told = json.loads(self.take(changed, "--replace", "--json").stdout)
        self.assertEqual([t["id"] for t in told if t["outcome"] != "unchanged"], [paused])
        job = self.client.call("GET", f"/v1/jobs/{paused}")
        self.assertEqual((job["trigger"]["expr"], job["paused"], job["pause_reason"]),
                         ("*/20 * * * *", True, "holiday"))

    def test_a_bad_line_is_told_with_its_place_and_nothing_is_imported(self):
        wrong = self.take("@daily fine\n0 25 * * * x\n  0 0 * * mo-su y\n0 1 2\n", code=2)
        told = wrong.stderr.splitlines()
        self.assertEqual(len(told), 3, told)
        self.assertTrue(told[0].startswith(f"lycosa: {self.file}:2: hour: column 3: "), told)
        self.assertTrue(told[1].startswith(f"lycosa: {self.file}:3: day_of_week: column 11: "), told)
        self.assertTrue(told[2].startswith(f"lycosa: {self.file}:4: times: column 6: "), told)
        self.assertEqual(self.jobs(), [])

    def test_a_system_crontab(self):
        shown = json.loads(self.take(SYSTEM, "--system", "--dry-run", "--json").stdout)
        self.assertEqual([(e["line"], e["job"]["action"]["user"]) for e in shown],
                         [(4, "root"), (5, "root"), (6, "www-data")])
        self.assertTrue(all(len(e["next"]) == 3 and e["meaning"] for e in shown))
        self.assertEqual(self.jobs(), [], "a dry run is dry")
        self.take(SYSTEM, "--system", "--prefix", "etc.")
        self.assertEqual(sorted(j["id"] for j in self.jobs()),
                         sorted("etc." + e["id"] for e in shown))

    def test_jobs_leave_and_come_back_as_json_and_as_toml(self):
        self.take(CRONTAB)
        self.lycosa("add", str(ROOT / "examples" / "jobs" / "reports.toml"))
        for example in sorted((ROOT / "examples" / "jobs").glob("*.json")):
            self.lycosa("add", str(example))
        before = {j["id"]: j for j in self.jobs()}
        for name in ("json", "toml"):
            exported = self.lycosa("export", "--format", name).stdout
            self.forget_all()
            self.lycosa("add", "-", stdin=exported)
            after = {j["id"]: j for j in self.jobs()}
            self.assertEqual(set(after), set(before))
            for key, job in after.items():
                # An interval without a beginning is counted from when the job came.
                for which in (job, before[key]):
                    which.pop("next_run_time", None)
                self.assertEqual(job, before[key], f"by way of {name}")

    def test_a_command_from_the_command_line(self):
        made = self.lycosa("add", "--id", "greet", "--trigger", "30 4 * * 1-5", "--tz",
                           "Europe/Berlin", "--", "printf", "%s|", "-n", "two words", "$HOME")
        self.assertRegex(made.stdout, r"^greet: next run \d{4}-\d\d-\d\dT04:30:00\+0[12]:00\n$")
        self.assertEqual(self.run_of("greet")["output"], "-n|two words|$HOME|")
        self.lycosa("add", "--id", "greet", "--trigger", "@daily", "--", "true", code=1)
        self.lycosa("add", "--id", "greet", "--trigger", "every 90s", "--replace", "--shell",
                    "echo $((1 + 1))")
        self.assertIn("1", self.lycosa("history", "greet").stdout, "its history stays")
        wrong = self.lycosa("add", "--id", "x", "--trigger", "61 * * * *", "--", "true", code=2)
        self.assertIn("minute", wrong.stderr)


class Reboot(unittest.TestCase):
    def test_what_is_for_the_start_runs_at_each_start(self):
        node = Node()
        self.addCleanup(node.close)
        node.start()
        ended = lycosa("job", "import-crontab", "-", "--json", server=node.url,
                       stdin="@reboot echo up\n")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        runs = f"/v1/jobs/{json.loads(ended.stdout)[0]['id']}/runs"
        self.assertEqual(node.client.call("GET", runs)["runs"], [])
        node.restart()
        until(lambda: [r["output"] for r in node.client.call("GET", runs)["runs"]
                       if r["outcome"] == "success"] == ["up\n"], "the run at the start")
        self.assertEqual(node.stop(), 0)


if __name__ == "__main__":
    unittest.main()
