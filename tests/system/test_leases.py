"""One consumer at a time; what becomes of a task whose consumer dawdles, gives up or vanishes."""

import json
import threading
import time

from harness import SUCCESS, NodeTest, ids, status_pack, task, until


class Leases(NodeTest):
    def test_a_leased_task_is_given_to_nobody_else(self):
        p = self.project()
        self.client.submit([task(p, f"t{n}") for n in range(200)])
        taken, lock = [], threading.Lock()

        def crawl():
            while True:
                leased = self.lease(p, 7)
                if not leased:
                    return
                with lock:
                    taken.extend(ids(leased))
        crawlers = [threading.Thread(target=crawl) for _ in range(8)]
        for crawler in crawlers:
            crawler.start()
        for crawler in crawlers:
            crawler.join()
        rest = ids(self.lease(p, 200, 1)) if len(taken) < 200 else []
        self.assertEqual(sorted(taken + rest), sorted(f"t{n}" for n in range(200)))

    def test_release_gives_back_at_once(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        first = self.lease_one(p)
        self.client.release([first["lease"]])
        second = self.lease_one(p)
        self.assertEqual(second["taskid"], "a")
        self.assertNotEqual(first["lease"], second["lease"])
        self.assertIn("stale lease", self.finish(first)["rejected"][0]["error"])
        self.assertEqual(self.finish(second)["done"], 1)

    def test_release_with_delay_gives_back_later(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        back_at = time.time() + 0.5
        self.client.release([self.lease_one(p)["lease"]], delay=0.5)
        self.assertEqual(self.client.project(p)["processing"], 0)
        self.lease_one(p)
        self.assertGreaterEqual(time.time(), back_at)

    def test_release_with_a_long_delay_is_seen_as_delayed(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        self.client.release([self.lease_one(p)["lease"]], delay=3600)
        until(lambda: self.client.project(p)["delayed"] == 1, "the task to be delayed")
        self.assertEqual(self.lease(p), [])

    def test_release_costs_no_retry(self):
        p = self.project()
        self.client.submit(task(p, "a", retries=0))
        self.client.release([self.lease_one(p)["lease"]])
        leased = self.lease_one(p)
        self.assertEqual(leased["schedule"].get("retried", 0), 0)
        self.assertEqual(self.finish(leased)["done"], 1)

    def test_a_made_up_lease_is_rejected(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        leased = self.lease_one(p)
        for wrong in ("", "x", "A" * 48, leased["lease"][:-1], leased["lease"] + "A"):
            answer = self.finish({**leased, "lease": wrong})
            self.assertEqual(len(answer["rejected"]), 1, wrong)
        self.assertEqual(self.finish(leased)["done"], 1)

    def test_a_lease_of_one_task_does_not_settle_another(self):
        p = self.project()
        self.client.submit([task(p, "a"), task(p, "b")])
        a, b = self.drain(p, 2)
        self.assertEqual(len(self.finish({**a, "lease": b["lease"]})["rejected"]), 1)
        self.assertEqual(self.client.size(p), 2)

    def test_a_client_that_goes_away_while_waiting_loses_nothing(self):
        p = self.project()
        body = json.dumps({"max": 10, "wait": 60, "projects": [p]}).encode()
        head = (b"POST /v1/lease HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n" % len(body))
        for _ in range(20):
            sock = self.node.connect()
            sock.sendall(head + body)
            sock.close()
        names = [f"t{n}" for n in range(50)]
        self.client.submit([task(p, n) for n in names])
        self.assertEqual(sorted(ids(self.drain(p, 50))), sorted(names))

    def test_a_client_that_goes_away_without_reading_its_answer_loses_nothing(self):
        p = self.project()
        names = [f"t{n}" for n in range(50)]
        self.client.submit([task(p, n, fetch={"data": "x" * 50_000}) for n in names])
        body = json.dumps({"max": 50, "wait": 0, "projects": [p]}).encode()
        for _ in range(3):
            sock = self.node.connect()
            sock.sendall(b"POST /v1/lease HTTP/1.1\r\nHost: x\r\nContent-Type: application/json"
                         b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            sock.recv(100)  # the answer is on its way, far too long for the socket's buffers
            sock.close()
        self.assertEqual(sorted(ids(self.drain(p, 50))), sorted(names))

    def test_a_wait_ends_empty_handed(self):
        p = self.project()
        self.assertEqual(self.client.lease(10, 0.2, [p]), [])
        self.assertEqual(self.client.lease(10, 0, [p]), [])

    def test_the_answer_never_has_more_than_was_asked_for(self):
        p = self.project()
        self.client.submit([task(p, f"t{n}") for n in range(30)])
        self.assertLessEqual(len(self.lease(p, 7)), 7)
        self.assertEqual(self.client.raw("POST", "/v1/lease", b'{"max":-1,"wait":0}',
                                         {"Content-Type": "application/json"})[0], 400)


class ShortLeases(NodeTest):
    settings = ("scheduler.processing_timeout=1",)

    def test_extend_keeps_a_lease(self):
        p = self.project()
        self.client.submit([task(p, "kept"), task(p, "lost")])
        leased = {t["taskid"]: t for t in self.drain(p, 2)}
        self.client.extend([leased["kept"]["lease"]], 60)
        # "lost" was leased at the same moment; once it has come again, "kept" would have, too.
        again = self.lease_one(p)
        self.assertEqual(again["taskid"], "lost")
        self.assertEqual(self.lease(p), [])
        self.assertEqual(self.finish(leased["kept"])["done"], 1)
        self.assertEqual(self.status(p, "kept"), SUCCESS)

    def test_a_stale_lease_can_neither_extend_nor_release(self):
        p = self.project()
        self.client.submit(task(p, "a"))
        first = self.lease_one(p)
        second = self.lease_one(p)
        self.client.extend([second["lease"]], 60)
        self.client.release([first["lease"]])
        self.client.extend([first["lease"]], 1)
        self.assertEqual(self.lease(p), [])
        self.assertEqual(self.finish(second)["done"], 1)
