"""The dashboard, as operators use it, in a real browser."""

import os
import time
import unittest
from pathlib import Path
from urllib.parse import quote

from browser import Browser, Keys
from harness import ACTIVE, BAD, FAILED, NodeTest, task, until

HERE = Path(__file__).parent
AXE = os.environ.get("LYCOSA_AXE")  # axe.min.js of npm's axe-core, for a second opinion
ATTACK = '"><img src=x onerror="window.hurt=1"><script>window.hurt=1</script>'


def setUpModule():
    Dashboard.browser = Browser("")  # one for all
    unittest.addModuleCleanup(Dashboard.browser.close)


class Dashboard(NodeTest):
    """What a page asked for in vain, or complained of, fails the test, unless it was expected."""

    browser: Browser

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser.url = cls.node.url

    def setUp(self):
        self.page = self.browser
        self.page.resize(1280)
        self.page.console_errors()
        self.page.requests()
        self.refusals = []  # parts of requests that are to be refused

    def tearDown(self):
        # Nothing looks any more at what is about to be removed.
        self.page.driver.get("about:blank")
        failed, foreign = self.page.requests()
        expected = lambda line: any(part in line for part in self.refusals)  # noqa: E731
        self.assertEqual([f for f in failed if not expected(f)], [])
        self.assertEqual(foreign, [])
        errors = [e for e in self.page.console_errors() if not expected(e)]
        self.assertEqual(errors, [])

    def row(self, project):
        return f"tr[data-project='{project}']"

    def add_job(self, ident, **members):
        body = {"id": ident, "trigger": {"type": "crontab", "expr": "0 4 * * *"},
                "timezone": "UTC", "action": {"type": "command", "shell": "echo done"}, **members}
        self.client.call("POST", "/v1/jobs", body)
        self.addCleanup(self.client.call, "DELETE", f"/v1/jobs/{quote(ident, safe='')}")

    def run_job(self, ident):
        self.client.call("POST", f"/v1/jobs/{quote(ident, safe='')}/run")
        until(lambda: self.runs(ident) and self.runs(ident)[0]["outcome"] == "success", "a run")

    def runs(self, ident):
        return self.client.call("GET", f"/v1/jobs/{quote(ident, safe='')}/runs")["runs"]


class Projects(Dashboard):
    def test_a_project_is_seen_and_changed_in_place(self):
        page = self.page
        page.open()
        p = self.project(rate=0, burst=0, group="news")
        self.client.submit([task(p, f"t{i}") for i in range(3)])
        page.see(p)
        page.see("3", f"{self.row(p)} .ready dd")
        page.see("burst is below 1", self.row(p))
        bar = page.find(f"{self.row(p)} .progress")
        self.assertIn("3 pending", bar.get_attribute("aria-label"))

        page.click(f"{self.row(p)} .inplace")
        page.type(f"Rate of {p}", "50")
        page.type(f"Burst of {p}", "60").send_keys(Keys.ENTER)
        until(lambda: self.client.project(p)["rate"] == 50, "the new rate")
        self.assertEqual(self.client.project(p)["burst"], 60)
        page.see("50/s", self.row(p))
        page.see("handing out", self.row(p))

        page.choose(f"Status of {p}", "STOP")
        until(lambda: self.client.project(p)["status"] == "STOP", "the new status")
        page.see("status STOP", self.row(p))

    def test_a_change_that_is_refused_is_taken_back_and_told(self):
        page = self.page
        p = self.project(rate=5, burst=7)
        page.open()
        page.click(f"{self.row(p)} .inplace")
        page.type(f"Rate of {p}", "x").send_keys(Keys.ENTER)
        page.see("rate: a number, 0 or more", self.row(p))  # the node is not asked
        self.refusals = [f"/v1/projects/{p}"]
        page.type(f"Rate of {p}", "2000000000").send_keys(Keys.ENTER)
        page.see("must be a number from 0 to 1e9", self.row(p))
        page.see("5/s", self.row(p))
        self.assertEqual(self.client.project(p)["rate"], 5)

    def test_a_project_tells_why_it_hands_nothing_out_and_a_task_why_it_waits(self):
        page = self.page
        p = self.project(rate=0.001, burst=1)
        self.client.submit([task(p, "first"), task(p, "second"),
                            task(p, "later", exetime=time.time() + 3600)])
        [leased] = self.client.lease(1, 10, [p], consumer="crawler 7")
        page.open()
        page.see("rate limit", self.row(p))
        page.press(p)
        page.ready()
        page.see("The next task may go at", ".why")
        waits = "second" if leased["taskid"] == "first" else "first"
        page.type("Task id", waits).send_keys(Keys.ENTER)
        page.see("It is ready and waits for its turn", ".why")
        page.see("is used up", ".why")
        page.open(f"/project/{p}/task/later")
        page.see("It is delayed until", ".why")
        page.see("in 59 min", ".why")
        page.open(f"/project/{p}/task/{leased['taskid']}")
        page.see("It is being worked on by crawler 7, whose lease ends at", ".why")
        self.refusals = ["/tasks/nobody"]
        page.open(f"/project/{p}")
        page.type("Task id", "nobody").send_keys(Keys.ENTER)
        page.see("No task has this id.")

    def test_failed_tasks_are_requeued_and_one_is_cancelled(self):
        page = self.page
        p = self.project()
        self.client.submit([task(p, f"f{i}", retries=0) for i in range(3)])
        for t in self.drain(p, 3):
            self.finish(t, False)
        page.open(f"/project/{p}")
        page.click("//label[contains(., 'failed')]/input")
        page.see("f0", ".tasks")
        page.click("[aria-label='Choose f0']")
        page.click("[aria-label='Choose f2']")
        page.press("requeue 2 selected")
        until(lambda: self.status(p, "f0") == ACTIVE and self.status(p, "f2") == ACTIVE, "requeued")
        self.assertEqual(self.status(p, "f1"), FAILED)
        page.see("2 requeued", "#notices")
        until(lambda: "f0" not in page.text(".tasks"), "f0 to leave the list")

        page.press("f1", "//table")
        page.see("and has no retries", ".why")
        page.press("Requeue")
        until(lambda: self.status(p, "f1") == ACTIVE, "requeued")
        page.press("Cancel task")
        page.press("Cancel it")
        until(lambda: self.status(p, "f1") == BAD, "cancelled")
        page.see("It was cancelled", ".why")

    def test_all_of_a_status_are_requeued_or_cancelled_and_that_is_undone(self):
        page = self.page
        p = self.project()
        later = time.time() + 3600
        self.client.submit([task(p, f"f{i}", retries=0) for i in range(600)])  # more than a page
        for t in self.drain(p, 600):
            self.finish(t, False)
        page.open(f"/project/{p}")
        page.click("//label[contains(., 'failed')]/input")
        page.press("requeue all failed")
        page.see("Requeue all 600 failed tasks?", "dialog")
        page.press("Cancel", "//dialog")
        self.assertEqual(self.client.project(p)["counters"]["failed"], 600)
        page.press("requeue all failed")
        page.press("Requeue all", "//dialog")
        page.see("600 requeued", "#notices")
        self.assertEqual(self.client.project(p)["counters"]["active"], 600)

        self.client.submit([task(p, "later", exetime=later)])
        page.click("//label[contains(., 'active')]/input")
        page.see("601", "label.active")
        page.press("cancel all active")
        page.see("Cancel all 601 active tasks?", "dialog")
        page.press("Cancel all", "//dialog")
        page.see("601 cancelled", "#notices")
        self.assertEqual(self.status(p, "later"), BAD)
        page.press("Undo")
        page.see("601 queued again", "#notices")
        self.assertEqual(self.client.project(p)["counters"]["active"], 601)
        self.assertEqual(self.client.project(p)["delayed"], 1)
        self.assertAlmostEqual(self.client.task(p, "later")["schedule"]["exetime"], later, 3)

    def test_a_project_is_made_and_none_is_overwritten(self):
        page = self.page
        p = self.project(rate=5)
        page.open()
        page.press("New project")
        page.type("Name", p).send_keys(Keys.ENTER)
        page.see(f"there is a {p} already", "dialog")
        self.assertEqual(self.client.project(p)["rate"], 5)
        self.refusals = ["/v1/projects/"]
        page.type("Name", "a b").send_keys(Keys.ENTER)
        page.see("name has a character other than", "dialog")
        self.assertEqual(page.control("Name").get_attribute("aria-invalid"), "true")
        page.type("Name", "made-here")
        page.type("Rate (tasks a second)", "fast").send_keys(Keys.ENTER)
        until(lambda: page.control("Rate (tasks a second)").get_attribute("aria-invalid") == "true",
              "the field that is wrong")
        page.type("Rate (tasks a second)", "2.5").send_keys(Keys.ENTER)
        self.addCleanup(self._drop, "made-here")
        page.see("2.5/s", self.row("made-here"))

    def test_a_page_goes_on_after_the_node_refused_or_had_nothing(self):
        page = self.page
        page.open("/project/not-yet")
        page.see("There is no such project.")
        self.client.put_project("not-yet", status="RUNNING", rate=3, burst=3)
        self.addCleanup(self._drop, "not-yet")
        page.see("Nothing is queued", ".why")
        self.assertNotIn("There is no such project.", page.text())
        page.js("""window.kept = fetch; window.fetch = async () => new Response(
            JSON.stringify({detail: "shard 0 is down"}), {status: 503})""")
        page.see("shard 0 is down", "#connection")
        page.js("window.fetch = window.kept")
        page.see("Connected", "#connection")

    def test_many_projects_come_in_pages_and_are_filtered(self):
        page = self.page
        names = [self.project(group="many", rate=i) for i in range(60)]
        page.open()
        page.see("Page 1 of 2", ".pager")
        self.assertEqual(page.js("return document.querySelectorAll('tbody tr').length"), 50)
        page.press("Next")
        page.see("Page 2 of 2", ".pager")
        page.press("Previous")
        page.press("Rate")
        page.see("59/s", "tbody tr:first-child")
        page.type("Filter by name or group", names[7])
        page.see("1 of 60 projects", ".pager")
        page.see("7/s", self.row(names[7]))
        page.type("Filter by name or group", "nothing like it")
        page.see("No project fits.")


class Jobs(Dashboard):
    def test_a_cron_job_is_made_run_and_paused(self):
        page = self.page
        page.open("/jobs")
        page.press("Add job")
        page.type("Id", "report")
        self.refusals = ["/v1/triggers/next"]
        page.type("Expression", "*/10 * * *")
        until(lambda: page.text(".trigger .wrong:not([hidden]):not(:empty)"),
              "what is wrong with the expression")
        page.type("Expression", "*/10 9-17 * * 1-5")
        page.type("Time zone", "Europe/Berlin")
        until(lambda: page.js("return document.querySelectorAll('.times li').length") == 10,
              "the next ten times")
        until(lambda: page.text(".meaning"), "the expression in words")
        page.see("Europe/Berlin", ".meaning")
        page.see("+0", ".times")
        page.type("Command", "echo out of it; exit 0")
        page.press("Add job")
        self.addCleanup(self.client.call, "DELETE", "/v1/jobs/report")
        page.see("It runs next at", ".why")
        made = self.client.call("GET", "/v1/jobs/report")
        self.assertEqual(made["trigger"], {"type": "crontab", "expr": "*/10 9-17 * * 1-5"})
        self.assertEqual(made["timezone"], "Europe/Berlin")

        page.press("Run now")
        page.click("li[data-outcome='success'] summary")
        page.see("out of it", ".runs pre")
        page.press("Pause")
        page.type("Reason", "the month is over")
        page.press("Pause job")
        page.see("paused: the month is over", ".why")
        self.assertTrue(self.client.call("GET", "/v1/jobs/report")["paused"])
        page.press("Jobs", "//nav[@aria-label='Main']")
        page.see("paused: the month is over", "tr[data-job='report']")
        page.see("success", "tr[data-job='report']")
        page.press("report", "//table")
        page.press("Resume")
        page.press("Resume job")
        until(lambda: not self.client.call("GET", "/v1/jobs/report")["paused"], "resumed")

    def test_what_is_wrong_with_a_job_stands_at_its_field(self):
        page = self.page
        page.open("/jobs/new")
        self.refusals = ["/v1/jobs"]
        page.choose("Action", "HTTP request")
        page.type("Url", "ftp://x/")
        page.press("Add job")
        until(lambda: page.text(".wrong:not([hidden]):not(:empty)"), "an error")
        page.type("Id", "a")
        page.press("Add job")
        page.see("expected an http or https address", "form")
        self.assertEqual(page.control("Url").get_attribute("aria-invalid"), "true")

    def test_a_job_is_edited_without_losing_what_the_form_does_not_show(self):
        page = self.page
        self.add_job("kept", trigger={"type": "crontab", "expr": "0 4 * * *", "fold": "first"},
                     tags={"team": "ops"},
                     action={"type": "command", "shell": "true", "env": {"A": "b"}})
        page.open("/job/kept/edit")
        until(lambda: page.control("Id").get_attribute("value") == "kept", "the job")
        page.type("Expression", "0 5 * * *")
        page.press("Save")
        page.see("It runs next at", ".why")
        now = self.client.call("GET", "/v1/jobs/kept")
        self.assertEqual(now["trigger"], {"type": "crontab", "fold": "first", "expr": "0 5 * * *"})
        self.assertEqual(now["action"]["env"], {"A": "b"})
        self.assertEqual(now["tags"], {"team": "ops"})


class Events(Dashboard):
    def test_events_come_live_are_filtered_and_none_is_missed_while_hidden(self):
        page = self.page
        p = self.project()
        page.open("/events")
        page.see("Live")
        page.see(p, ".events")
        self.add_job("alarm")
        self.run_job("alarm")
        page.see("JOB_EXECUTED", ".events")
        page.choose("Type", "Projects")
        until(lambda: "JOB_" not in page.text(".events") and p in page.text(".events"), "filtered")

        hide = """const hidden = arguments[0];
                  Object.defineProperty(document, "hidden", {get: () => hidden, configurable: true});
                  document.dispatchEvent(new Event("visibilitychange"))"""
        page.js(hide, True)
        page.see("Resting")
        q = self.project()
        page.js(hide, False)
        page.see(q, ".events")
        self.assertEqual(page.text(".events").count(p), 1)

    def test_the_page_knows_the_events_there_are(self):
        answer = self.assert_refused(400, lambda: self.client.call("GET", "/v1/events?types=NONE"))
        source = (HERE.parents[1] / "web" / "live.js").read_text()
        listed = source.split("eventTypes = [")[1].split("]")[0]
        for name in listed.replace('"', "").replace("\n", "").split(","):
            if name.strip() not in ("", "GAP"):
                self.assertIn(name.strip(), str(answer))


class Safety(Dashboard):
    def test_texts_of_others_stay_texts(self):
        page = self.page
        p = self.project(group=ATTACK, comments=ATTACK)
        self.client.submit([task(p, ATTACK[:200], url="javascript:window.hurt=1", retries=0,
                                 fetch={"x": ATTACK}),
                            task(p, "url", url="http://x/" + ATTACK)])
        for t in self.drain(p, 2):
            if t["taskid"] == ATTACK[:200]:
                self.finish(t, False, track={"fetch": {"ok": False, "error": ATTACK},
                                             "process": {"ok": False, "logs": ATTACK}})
        self.client.call("PUT", f"/v1/projects/{p}/results/url", {"title": ATTACK})
        ident = ATTACK.replace("/", "")
        self.add_job(ident, name=ATTACK, paused=True, pause_reason=ATTACK, tags={ATTACK: ATTACK},
                     action={"type": "command", "argv": ["/bin/echo", ATTACK]})
        self.run_job(ident)
        places = ["/", f"/project/{p}", f"/project/{p}/task/url",
                  f"/project/{p}/task/{quote(ATTACK[:200], safe='')}", "/jobs",
                  f"/job/{quote(ident, safe='')}", f"/job/{quote(ident, safe='')}/edit", "/events"]
        for place in places:
            page.open(place)
            if place.endswith("url"):
                page.press("Show the result")
                page.see("onerror", "pre[aria-label=result]")
            if place == f"/project/{p}":
                page.click("//label[contains(., 'failed')]/input")
                page.see("onerror", ".tasks")
            page.see("onerror")
            self.assertIsNone(page.js("return window.hurt ?? null"), place)
            self.assertEqual(page.js("""return [...document.querySelectorAll(
                "main img, main script, main iframe, [onerror], a[href^='javascript:']")]
                .length"""), 0, place)

    def test_markup_cannot_be_made_of_text_at_all(self):
        self.page.open()
        self.refusals = ["TrustedHTML", "Content Security Policy", "Trusted"]
        told = self.page.js("""
            try { document.querySelector("main").innerHTML = "<b>x</b>"; return "" }
            catch (e) { return e.name }""")
        self.assertEqual(told, "TypeError")


class Everyone(Dashboard):
    def pages(self):
        p = self.project(rate=0.001, burst=2, group="a group with a rather long name " * 2)
        self.client.submit([task(p, f"{i:032x}", url="http://site.test/" + "long/" * 30, retries=0)
                            for i in range(4)])
        for t in self.drain(p, 2):
            self.finish(t, t["taskid"].endswith("0"))
        self.add_job("a-job-with-a-rather-long-name-of-more-than-forty-characters")
        self.run_job("a-job-with-a-rather-long-name-of-more-than-forty-characters")
        job = "/job/a-job-with-a-rather-long-name-of-more-than-forty-characters"
        return ["/", f"/project/{p}", f"/project/{p}/task/{0:032x}", "/jobs", job, f"{job}/edit",
                "/events"]

    def test_no_page_scrolls_sideways_from_360_to_2560_pixels(self):
        for place in self.pages():
            self.page.open(place)
            for width in (360, 768, 1280, 2560):
                self.page.resize(width)
                wide = self.page.js("""return document.documentElement.scrollWidth > innerWidth
                    || [...document.querySelectorAll(".table-box")]
                       .some((e) => e.scrollWidth > e.clientWidth + 1)""")
                self.assertFalse(wide, f"{place} at {width} px")

    def test_pages_have_names_order_and_contrast_in_light_and_dark(self):
        code = (HERE / "accessibility.js").read_text()
        for place in self.pages():
            for dark in (False, True):
                self.page.dark(dark)
                self.page.open(place)
                where = f"{place}, {'dark' if dark else 'light'}"
                self.assertEqual(self.page.js(code), [], where)
                nameless = [n for n in self.page.names()
                            if not n["name"] and n["role"] != "group"]
                self.assertEqual(nameless, [], where)
                if AXE:
                    self.assertEqual(self.page.axe(Path(AXE)), [], where)
        self.page.dark(False)

    def test_the_keyboard_does(self):
        page = self.page
        p = self.project(rate=3, burst=4)
        page.open()
        page.keys(Keys.TAB)
        self.assertEqual(page.js("return document.activeElement.className"), "skip")
        page.keys(Keys.ENTER)
        self.assertEqual(page.js("return document.activeElement.id"), "main")
        page.js("document.querySelector(arguments[0]).focus()", f"{self.row(p)} .inplace")
        page.keys(Keys.ENTER)
        page.find(".rate-form")
        page.keys("9", Keys.ESCAPE)  # nothing is changed
        until(lambda: page.js("return document.activeElement.className") == "inplace", "focus back")
        self.assertEqual(self.client.project(p)["rate"], 3)
        page.js("document.querySelector(arguments[0]).focus()", f"{self.row(p)} .status")
        page.keys(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_UP)  # RUNNING, DEBUG, CHECKING, STOP
        page.see(f"{p} is STOP now", "#notices")
        page.js("document.querySelector('nav a[data-page=events]').focus()")
        page.keys(Keys.ENTER)
        page.type("Project", p).send_keys(Keys.ENTER)
        page.see("STOP", ".events")
        self.assertNotRegex(page.text(".events"), "DEBUG|CHECKING")
        page.js("document.querySelector('nav a[data-page=jobs]').focus()")
        page.keys(Keys.ENTER)
        until(lambda: page.js("return document.activeElement.tagName") == "H1", "the heading")
        self.assertEqual(page.driver.title, "Jobs – Lycosa")


if __name__ == "__main__":
    unittest.main()
