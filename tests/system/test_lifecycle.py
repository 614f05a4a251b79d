"""What happens to a task from its submission to its settled state, and to projects."""

import hashlib
import json
import threading
import time

from harness import (ACTIVE, BAD, FAILED, SUCCESS, Client, LycosaError, NodeTest, ids, status_pack, task,
                     until)


class Submitting(NodeTest):
    def test_a_new_task_goes_out_whole(self):
        p = self.project(group="g", script="print('x')")
        self.client.submit(task(p, "a", fetch={"data": "abc", "headers": {"A": "b"}},
                                process={"callback": "index"}, priority=2, itag="v1", age=60))
        leased = self.lease_one(p)
        self.assertEqual(leased["fetch"], {"data": "abc", "headers": {"A": "b"}})
        self.assertEqual(leased["process"], {"callback": "index"})
        self.assertEqual(leased["url"], "http://site.test/a")
        self.assertEqual(leased["project"], p)
        self.assertEqual(leased["schedule"]["itag"], "v1")
        self.assertEqual(leased["schedule"]["priority"], 2)
        self.assertEqual(leased["group"], "g")
        self.assertEqual(leased["project_md5sum"], hashlib.md5(b"print('x')").hexdigest())
        self.assertIn("project_updatetime", leased)
        self.assertTrue(leased["lease"])

    def test_opaque_parts_are_kept_byte_for_byte(self):
        p = self.project()
        fetch = '{"z":1.0,"a":1e2,"big":123456789012345678901234567890,"s":"\\u00e9\\/","n":[{ }, [ ]]}'
        body = (f'[{{"project":"{p}","taskid":"a","url":"http://site.test/",'
                f'"fetch":{fetch},"process":{{"b" : 2}}}}]').encode()
        status, _, text = self.client.raw("POST", "/v1/tasks", body,
                                          {"Content-Type": "application/json"})
        self.assertEqual(status, 200, text)
        _, _, text = self.client.raw("GET", f"/v1/projects/{p}/tasks/a")
        self.assertIn(fetch, text.decode())
        self.assertIn('{"b" : 2}', text.decode())

    def test_a_task_without_an_id_gets_the_md5_of_its_url(self):
        p = self.project()
        self.client.submit({"project": p, "url": "http://site.test/"})
        self.assertEqual(self.lease_one(p)["taskid"],
                         hashlib.md5(b"http://site.test/").hexdigest())

    def test_an_unknown_project_has_no_size_and_takes_nothing(self):
        answer = self.client.submit(task("nobody", "a"))
        self.assertEqual(answer["new"], 0)
        self.assertEqual(answer["rejected"][0]["taskid"], "a")
        self.assertEqual(self.client.size("nobody"), 0)
        self.assert_refused(404, lambda: self.client.lease(1, 0, ["nobody"]))
        self.assert_refused(404, lambda: self.client.project("nobody"))
        self.assert_refused(404, lambda: self.client.task("nobody", "a"))

    def test_a_project_that_is_to_do_takes_and_gives_nothing(self):
        p = self.project(status="TODO")
        self.assertEqual(len(self.client.submit(task(p, "a"))["rejected"]), 1)
        self.assertEqual(self.lease(p), [])

    def test_a_paused_project_takes_tasks_and_gives_them_when_it_runs_again(self):
        p = self.project(status="PAUSED")
        self.assertEqual(self.client.submit(task(p, "a"))["new"], 1)
        self.assertEqual(self.lease(p), [])
        self.client.put_project(p, status="RUNNING")
        self.assertEqual(self.lease_one(p)["taskid"], "a")

    def test_a_debug_project_gives_tasks(self):
        p = self.project(status="DEBUG")
        self.client.submit(task(p, "a"))
        self.assertEqual(self.lease_one(p)["taskid"], "a")

    def test_stopping_keeps_the_tasks_for_the_next_start(self):
        p = self.project()
        self.client.submit([task(p, "a"), task(p, "b")])
        self.client.put_project(p, status="STOP")
        self.assertEqual(self.lease(p), [])
        self.client.put_project(p, status="RUNNING")
        self.assertEqual(sorted(ids(self.drain(p, 2))), ["a", "b"])

    def test_what_is_wrong_in_a_list_does_not_hold_up_the_rest(self):
        p = self.project()
        answer = self.client.submit([
            task(p, "good1"), {"project": p, "taskid": "nourl"}, {"taskid": "x", "url": "http://a/"},
            task("no such project", "y"), task(p, "x" * 257), task(p, "good2")])
        self.assertEqual(answer["new"], 2)
        self.assertEqual([r["index"] for r in answer["rejected"]], [1, 2, 3, 4])
        for refused in answer["rejected"]:
            self.assertTrue(refused["error"])
        self.assertEqual(sorted(ids(self.drain(p, 2))), ["good1", "good2"])

    def test_the_same_task_twice_in_one_list_is_one_task(self):
        p = self.project()
        answer = self.client.submit([task(p, "a"), task(p, "a"), task(p, "b")])
        self.assertEqual((answer["new"], answer["ignored"]), (2, 1))
        self.assertEqual(self.client.size(p), 2)

    def test_updates_of_one_task_are_never_reordered_while_others_run_beside_it(self):
        p = self.project(status="PAUSED")
        rounds, ids = 400, 8

        def update(client, name):
            client.submit([{"project": p, "taskid": f"{name}{i}", "url": "http://x/", "schedule": {
                "priority": n, "force_update": True}} for n in range(rounds) for i in range(ids)])

        threads = [threading.Thread(target=update, args=(Client(self.node.url), name))
                   for name in "abcd"]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        seen = {t["taskid"]: t["schedule"]["priority"] for t in self.client.tasks(p)}
        self.assertEqual(seen, {f"{name}{i}": rounds - 1 for name in "abcd" for i in range(ids)})

    def test_the_same_id_in_two_projects_is_two_tasks(self):
        p, q = self.project(), self.project()
        self.assertEqual(self.client.submit([task(p, "a"), task(q, "a")])["new"], 2)
        self.assertEqual(self.lease_one(p)["project"], p)
        self.assertEqual(self.lease_one(q)["project"], q)

    def test_ten_thousand_tasks_in_one_request(self):
        p = self.project()
        self.assertEqual(self.client.submit([task(p, f"t{n}") for n in range(10_000)])["new"],
                         10_000)
        self.assertEqual(self.client.size(p), 10_000)
        self.assertEqual(len(set(ids(self.client.tasks(p)))), 10_000)

    def test_lists_may_come_as_lines(self):
        p = self.project()
        lines = "".join(json.dumps(task(p, f"t{n}")) + "\n" for n in range(50)).encode()
        status, _, text = self.client.raw("POST", "/v1/tasks", lines,
                                          {"Content-Type": "application/x-ndjson"})
        self.assertEqual((status, json.loads(text)["new"]), (200, 50))

    def test_lists_may_be_read_as_lines(self):
        p = self.project()
        self.client.submit([task(p, f"t{n}") for n in range(50)])
        status, headers, text = self.client.raw("GET", f"/v1/projects/{p}/tasks?limit=100", None,
                                                {"Accept": "application/x-ndjson"})
        self.assertEqual(status, 200)
        self.assertIn("ndjson", headers["Content-Type"])
        tasks = [json.loads(line) for line in text.decode().splitlines()]
        self.assertEqual(len({t["taskid"] for t in tasks if "taskid" in t}), 50)

    def test_the_queue_limit_takes_what_fits(self):
        p = self.project(queue_limit=10, rate=0, burst=0)
        answer = self.client.submit([task(p, f"t{n}") for n in range(20)])
        self.assertEqual(answer["new"], 10)
        self.assertEqual(self.client.size(p), 10)
        self.assertEqual(self.lease(p), [])

    def test_active_tells_what_happened_last(self):
        p = self.project()
        self.client.submit(task(p, "a", fetch={"data": "secret"}))
        self.finish(self.lease_one(p))
        entries = until(lambda: self.client.active(p), "an entry in the active list")
        moment, shown = entries[0]
        self.assertIsInstance(moment, (int, float))
        self.assertEqual((shown["project"], shown["taskid"]), (p, "a"))
        self.assertNotIn("fetch", shown)


class Again(NodeTest):
    """A known task is submitted again."""

    def settled(self, ok: bool = True, **schedule) -> str:
        p = self.project(retry_delay={"": 3600})
        self.client.submit(task(p, "a", **schedule))
        self.finish(self.lease_one(p), ok)
        return p

    def test_a_queued_task_is_ignored(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        self.assertEqual(self.client.submit(task(p, "a", itag="new"))["ignored"], 1)
        self.assertEqual(self.client.size(p), 1)

    def test_a_fresh_one_is_ignored(self):
        p = self.settled()
        self.assertEqual(self.client.submit(task(p, "a", age=30))["ignored"], 1)
        self.assertEqual(self.client.submit(task(p, "a"))["ignored"], 1)
        self.assertEqual(self.client.size(p), 0)

    def test_an_old_one_is_restarted(self):
        p = self.settled()
        self.assertEqual(self.client.submit(task(p, "a", age=0))["restarted"], 1)
        self.assertEqual(self.lease_one(p)["taskid"], "a")

    def test_another_itag_restarts_and_the_same_does_not(self):
        p = self.settled(itag="v1")
        self.assertEqual(self.client.submit(task(p, "a", itag="v1"))["ignored"], 1)
        self.assertEqual(self.client.submit(task(p, "a", itag="v2"))["restarted"], 1)
        self.finish(self.lease_one(p))
        self.assertEqual(self.client.submit(task(p, "a", itag="v2"))["ignored"], 1)

    def test_force_update_restarts_whatever_the_state(self):
        p = self.settled()
        self.assertEqual(self.client.submit(task(p, "a", force_update=True))["restarted"], 1)
        self.assertEqual(self.status(p, "a"), ACTIVE)

    def test_a_restart_forgets_the_retries(self):
        p = self.settled(ok=False, retries=0)
        self.assertEqual(self.status(p, "a"), FAILED)
        self.client.submit(task(p, "a", retries=0, force_update=True))
        self.assertEqual(self.lease_one(p)["schedule"].get("retried", 0), 0)

    def test_force_update_of_a_task_in_work_crawls_it_once_more_and_blocks_nobody(self):
        p = self.project()
        self.client.submit([task(p, "a"), task(p, "b")])
        first = self.lease(p, 1)[0]
        self.client.submit(task(p, first["taskid"], force_update=True, fetch={"again": True}))
        self.finish(first)
        seen = {t["taskid"]: t for t in self.drain(p, 2)}
        self.assertEqual(set(seen), {"a", "b"})
        self.assertEqual(seen[first["taskid"]]["fetch"], {"again": True})
        for leased in seen.values():
            self.assertEqual(self.finish(leased)["done"], 1)
        self.assertEqual(self.client.size(p), 0)

    def test_cancel_takes_a_delayed_task_out(self):
        p = self.project()
        self.client.submit(task(p, "keep"))
        self.client.submit(task(p, "a", exetime=time.time() + 30))
        self.assertEqual(self.client.size(p), 2)
        answer = self.client.submit(task(p, "a", force_update=True, cancel=True))
        self.assertEqual(answer["cancelled"], 1)
        self.assertEqual(self.client.size(p), 1)
        self.assertEqual(self.status(p, "a"), BAD)

    def test_cancel_of_an_unknown_task_is_ignored(self):
        p = self.project()
        self.assertEqual(self.client.submit(task(p, "ghost", cancel=True))["ignored"], 1)
        self.assertEqual(self.client.size(p), 0)
        self.assert_refused(404, lambda: self.client.task(p, "ghost"))

    def test_cancel_of_a_task_in_work_ends_it(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        leased = self.lease_one(p)
        self.assertEqual(self.client.submit(task(p, "a", cancel=True))["cancelled"], 1)
        self.finish(leased)
        self.assertEqual(self.client.size(p), 0)
        self.assertEqual(self.status(p, "a"), BAD)


class Reporting(NodeTest):
    def test_success_empties_the_queue_and_is_kept(self):
        p = self.project()
        self.client.submit(task(p, "a", itag="v1"))
        answer = self.finish(self.lease_one(p))
        self.assertEqual(answer["done"], 1)
        self.assertEqual(self.client.size(p), 0)
        kept = self.client.task(p, "a")
        self.assertEqual(kept["status"], SUCCESS)
        self.assertEqual(kept["schedule"]["itag"], "v1")
        self.assertTrue(kept["track"]["process"]["ok"])
        self.assertAlmostEqual(kept["lastcrawltime"], time.time(), delta=60)
        self.assertEqual(self.lease(p), [])

    def test_what_a_crawl_saved_comes_with_the_next(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        leased = self.lease_one(p)
        self.client.report(status_pack(leased, True, save={"page": 3},
                                       fetch={"headers": {"etag": "x"}}))
        self.client.submit(task(p, "a", force_update=True))
        track = self.lease_one(p)["track"]
        self.assertEqual(track["save"], {"page": 3})
        self.assertEqual(track["fetch"]["headers"], {"etag": "x"})

    def test_a_report_for_an_unknown_project_or_task_is_rejected(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        answer = self.client.report([status_pack({"project": "nobody", "taskid": "a"}, True),
                                     status_pack({"project": p, "taskid": "ghost"}, True)])
        self.assertEqual([r["index"] for r in answer["rejected"]], [0, 1])
        self.assertEqual(self.client.size(p), 1)

    def test_a_report_without_track_does_not_settle(self):
        p = self.project()
        for count, track in enumerate(({}, {"track": {}}, {"track": None}), 1):
            self.client.submit(task(p, f"t{count}"))
            leased = self.lease_one(p)
            pack = {"project": p, "taskid": f"t{count}", "lease": leased["lease"], **track}
            try:
                self.client.report([pack])
            except LycosaError as error:
                self.assertEqual(error.status, 400)
            self.assertEqual(self.client.size(p), count, track)

    def test_reports_without_a_lease_are_taken_for_leased_tasks(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        leased = self.lease_one(p)
        del leased["lease"]
        self.assertEqual(self.finish(leased)["done"], 1)
        self.assertEqual(self.status(p, "a"), SUCCESS)

    def test_the_second_report_of_one_lease_changes_nothing(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        leased = self.lease_one(p)
        self.assertEqual(self.finish(leased)["done"], 1)
        self.assertEqual(len(self.finish(leased, ok=False)["rejected"]), 1)
        self.assertEqual(self.status(p, "a"), SUCCESS)

    def test_a_failure_comes_again(self):
        p = self.project(retry_delay={"0": 0.2, "": 3600})
        self.client.submit(task(p, "a"))
        self.assertEqual(self.finish(self.lease_one(p), ok=False)["retried"], 1)
        self.assertEqual(self.client.size(p), 1)
        self.assertEqual(self.lease_one(p)["schedule"]["retried"], 1)

    def test_age_caps_the_delay_of_a_retry(self):
        p = self.project(retry_delay={"": 3600})
        self.client.submit(task(p, "a", age=0))
        self.finish(self.lease_one(p), ok=False)
        self.assertEqual(self.lease_one(p)["taskid"], "a")

    def test_retries_used_up_mean_failed(self):
        p = self.project(retry_delay={"": 0.1})
        self.client.submit(task(p, "a", retries=1))
        self.assertEqual(self.finish(self.lease_one(p), ok=False)["retried"], 1)
        self.assertEqual(self.finish(self.lease_one(p), ok=False)["failed"], 1)
        self.assertEqual(self.status(p, "a"), FAILED)
        self.assertEqual(self.client.size(p), 0)
        self.assertEqual(ids(self.client.tasks(p, "failed")), ["a"])

    def test_an_explicit_negative_age_still_retries(self):
        p = self.project(retry_delay={"": 0.1})
        self.client.submit(task(p, "a", age=-1, retries=1))
        self.assertEqual(self.finish(self.lease_one(p), ok=False)["retried"], 1)
        self.assertEqual(self.lease_one(p)["taskid"], "a")

    def test_auto_recrawl_comes_again_after_success(self):
        p = self.project()
        self.client.submit(task(p, "a", age=0.1, auto_recrawl=True))
        for _ in range(3):
            self.finish(self.lease_one(p))
            self.assertEqual(self.client.size(p), 1)
        self.assertEqual(self.status(p, "a"), ACTIVE)

    def test_auto_recrawl_never_gives_up(self):
        p = self.project(retry_delay={"": 0.1})
        self.client.submit(task(p, "a", age=0, retries=1, auto_recrawl=True))
        for _ in range(4):
            self.finish(self.lease_one(p), ok=False)
        self.assertEqual(self.lease_one(p)["taskid"], "a")

    def test_a_report_can_end_auto_recrawl(self):
        p = self.project()
        self.client.submit(task(p, "a", age=0, auto_recrawl=True))
        self.finish(self.lease_one(p), schedule={"auto_recrawl": False, "age": 0})
        self.assertEqual(self.client.size(p), 0)
        self.assertEqual(self.status(p, "a"), SUCCESS)

    def test_the_states_can_be_listed_page_by_page(self):
        p = self.project(retry_delay={"": 3600})
        self.client.submit([task(p, f"t{n}", retries=0) for n in range(25)])
        leased = self.drain(p, 25)
        self.client.report([status_pack(t, n % 2 == 0) for n, t in enumerate(leased)])
        good = {t["taskid"] for n, t in enumerate(leased) if n % 2 == 0}
        self.assertEqual(set(ids(self.client.tasks(p, "success", page=4))), good)
        self.assertEqual(set(ids(self.client.tasks(p, "failed", page=4))),
                         set(ids(leased)) - good)
        self.assertEqual(list(self.client.tasks(p, "active", page=4)), [])


class DefaultRetry(NodeTest):
    settings = ('scheduler.default_retry_delay={"" = 1}',)

    def test_projects_without_their_own_delays_use_the_setting(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        self.finish(self.lease_one(p), ok=False)
        self.assertEqual(self.client.project(p)["delayed"], 1)
        self.assertEqual(self.lease_one(p)["schedule"]["retried"], 1)


class Projects(NodeTest):
    def test_a_change_touches_only_what_it_names(self):
        p = self.project(rate=5, burst=7, comments="hello", group="g")
        self.client.put_project(p, rate=6)
        seen = self.client.project(p)
        self.assertEqual([seen[k] for k in ("rate", "burst", "comments", "group", "status")],
                         [6, 7, "hello", "g", "RUNNING"])

    def test_new_is_201_and_known_is_200(self):
        p = self.project()
        body, kind = b'{"rate":1}', {"Content-Type": "application/json"}
        self.assertEqual(self.client.raw("PUT", f"/v1/projects/{p}x", body, kind)[0], 201)
        self.assertEqual(self.client.raw("PUT", f"/v1/projects/{p}x", body, kind)[0], 200)
        self.client.drop_project(p + "x")

    def test_wrong_fields_are_named(self):
        p = self.project()
        for field, value in (("rate", -1), ("rate", "fast"), ("status", "SLEEPING"),
                             ("burst", -3), ("retry_delay", [1])):
            error = self.assert_refused(400, lambda: self.client.put_project(p, **{field: value}))
            self.assertIn(field, str(error) + json.dumps(error.problem))

    def test_bad_names_are_refused(self):
        for name in ("a b", "ü", "x" * 65, "a/b"):
            self.assert_refused(400, lambda: self.client.put_project(name, status="RUNNING"))

    def test_deleting_needs_the_name_twice_and_takes_everything(self):
        p = self.project()
        self.client.submit([task(p, "a"), task(p, "b")])
        self.client.put_result(p, "a", {"title": "A"})
        status, _, _ = self.client.raw("DELETE", f"/v1/projects/{p}")
        self.assertEqual(status, 400)
        self.client.drop_project(p)
        self.assert_refused(404, lambda: self.client.task(p, "a"))
        self.assertEqual(self.client.size(p), 0)

        def gone():
            try:
                self.client.project(p)
            except LycosaError as error:
                return error.status == 404
        until(gone, "the project to be gone")
        self.remake(p)
        self.assertEqual(list(self.client.tasks(p)), [])
        self.assertEqual(list(self.client.results(p)), [])

    def test_results_are_stored_and_listed(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        self.client.put_result(p, "a", {"title": "A"})
        self.client.put_result(p, "a", {"title": "B"})
        self.assertIn('"B"', json.dumps(self.client.result(p, "a")))
        self.assertEqual(len(list(self.client.results(p))), 1)
        self.assert_refused(404, lambda: self.client.result(p, "other"))


class Deletion(NodeTest):
    settings = ("scheduler.delete_time=0",)

    def test_a_stopped_project_in_group_delete_goes(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        self.client.put_project(p, status="STOP", group="lock,delete")

        def gone():
            try:
                self.client.project(p)
            except LycosaError as error:
                return error.status == 404
        until(gone, "the project to be deleted")
        self.assert_refused(404, lambda: self.client.task(p, "a"))

    def test_a_running_one_in_group_delete_stays(self):
        p, q = self.project(group="delete"), self.project()
        self.client.put_project(q, status="STOP", group="delete")

        def gone():
            try:
                self.client.project(q)
            except LycosaError as error:
                return error.status == 404
        until(gone, "the stopped project to be deleted")
        self.assertEqual(self.client.project(p)["status"], "RUNNING")

