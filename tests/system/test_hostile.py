"""Clients that are slow, absent, broken or malicious: defined answers, bounded memory."""

import gzip
import json
import resource
import socket
import threading

from harness import LycosaError, NodeTest, ids, task, until

MIB = 1 << 20
JSON = {"Content-Type": "application/json"}


def request(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    head += "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in headers.items())
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body


def read_to_end(sock: socket.socket) -> bytes:
    data = b""
    try:
        while part := sock.recv(65536):
            data += part
    except ConnectionResetError:
        pass
    return data


class Waiting(NodeTest):
    def setUp(self):
        # Only now, so that the node has to see to its own limit of open files.
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))

    def test_a_thousand_idle_waits_hold_up_nobody(self):
        p, other = self.project(), self.project()
        wait = request("POST", "/v1/lease",
                       json.dumps({"max": 1, "wait": 120, "projects": [p]}).encode())
        before = self.node.resident_bytes()
        waiting = [self.node.connect() for _ in range(1000)]
        try:
            for sock in waiting:
                sock.sendall(wait)
            self.client.submit(task(other, "a"))
            self.finish(self.lease_one(other))
            self.assertEqual(self.status(other, "a"), 2)
            self.assertLess(self.node.resident_bytes() - before, 128 * MIB)
            # Each of them still gets its task.
            self.client.submit([task(p, f"t{n}") for n in range(1000)])
            got = set()
            for sock in waiting:
                answer = sock.recv(65536)
                head, _, body = answer.partition(b"\r\n\r\n")
                self.assertIn(b" 200 ", head.split(b"\r\n")[0])
                length = int(next(line.split(b":")[1] for line in head.split(b"\r\n")
                                  if line.lower().startswith(b"content-length")))
                while len(body) < length:
                    body += sock.recv(65536)
                got.update(ids(json.loads(body)["tasks"]))
            self.assertEqual(len(got), 1000)
        finally:
            for sock in waiting:
                sock.close()

    def test_waits_of_clients_that_have_gone_take_no_tasks(self):
        p = self.project()
        wait = request("POST", "/v1/lease",
                       json.dumps({"max": 5, "wait": 120, "projects": [p]}).encode())
        gone = [self.node.connect() for _ in range(500)]
        for sock in gone:
            sock.sendall(wait)
        for sock in gone:
            sock.close()
        names = {f"t{n}" for n in range(200)}
        self.client.submit([task(p, n) for n in names])
        self.assertEqual(set(ids(self.drain(p, 200))), names)

    def test_a_hundred_slow_consumers(self):
        """They ask for much and do not read it; others are served, and nothing is lost."""
        p, other = self.project(), self.project()
        names = {f"t{n}" for n in range(500)}
        for start in range(0, 500, 100):
            self.client.submit([task(p, f"t{n}", fetch={"data": "x" * 20_000})
                                for n in range(start, start + 100)])
        ask = request("POST", "/v1/lease",
                      json.dumps({"max": 100, "wait": 1, "projects": [p]}).encode())
        slow = [self.node.connect() for _ in range(100)]
        for sock in slow:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.sendall(ask)
        self.client.submit(task(other, "a"))
        self.finish(self.lease_one(other))
        self.assertLess(self.node.resident_bytes(), 512 * MIB)
        for sock in slow:
            sock.close()
        # What reached a socket's buffers whole was delivered; the rest comes back at once.
        came = set()
        until(lambda: came.update(ids(self.lease(p, 100, 1))) or
              len(came) + self.client.project(p)["processing"] >= 500,
              "every task to be leased or free")
        self.assertEqual(self.client.size(p), 500)
        self.assertLessEqual(came, names)


class SlowSenders(NodeTest):
    settings = ("http.idle_timeout=2",)

    def test_one_byte_at_a_time_holds_up_nobody_and_is_served(self):
        p = self.project()
        text = request("POST", "/v1/tasks", json.dumps(task(p, "slow")).encode(),
                       Connection="close")
        with self.node.connect() as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for position in range(len(text)):
                sock.sendall(text[position:position + 1])
                if position % 50 == 0:
                    self.client.submit(task(p, f"quick{position}"))
            self.assertIn(b" 200 ", read_to_end(sock))
        self.assertEqual(self.status(p, "slow"), 1)

    def test_a_client_that_stops_sending_is_cut_off(self):
        for text in (b"", b"POST /v1/tasks HT", request("POST", "/v1/tasks", b"x" * 100)[:-50]):
            with self.node.connect() as sock:
                sock.sendall(text)
                sock.settimeout(30)
                answer = read_to_end(sock)
                self.assertTrue(answer == b"" or b" 408 " in answer, answer)

    def test_many_that_stop_sending_leave_room_for_others(self):
        stuck = [self.node.connect() for _ in range(300)]
        for sock in stuck:
            sock.sendall(b"POST /v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n[")
        p = self.project()
        self.client.submit(task(p, "a"))
        self.assertEqual(self.lease_one(p)["taskid"], "a")
        self.assertLess(self.node.resident_bytes(), 300 * MIB)
        for sock in stuck:
            sock.close()


class Nonsense(NodeTest):
    def post(self, path: str, body: bytes, **headers: str):
        status, answer, text = self.client.raw("POST", path, body, {**JSON, **headers})
        if status >= 400:
            self.assertIn("application/problem+json", answer["Content-Type"], text)
            self.assertEqual(json.loads(text)["status"], status)
        return status, json.loads(text)

    def assert_refused_or_rejected(self, body: bytes) -> None:
        """A whole body that cannot be read is 400; a wrong item is named in the answer."""
        status, answer = self.post("/v1/tasks", body)
        if status == 200:
            self.assertEqual(answer["new"], 0, body[:200])
            self.assertEqual(len(answer["rejected"]), 1, body[:200])
            self.assertTrue(answer["rejected"][0]["error"])
        else:
            self.assertEqual(status, 400, body[:200])

    def tearDown(self):
        self.assertTrue(self.node.alive())
        self.client.size()

    def test_malformed_json(self):
        for path in ("/v1/tasks", "/v1/lease", "/v1/report", "/v1/extend", "/v1/release"):
            for body in (b"", b"{", b"[{]", b"nonsense", b"[1,2", b'{"a":}', b"\0", b"[]]"):
                if (path, body) != ("/v1/lease", b""):  # there, all members have defaults
                    self.assertEqual(self.post(path, body)[0], 400, (path, body))

    def test_wrong_types(self):
        p = self.project()
        for part in ('"url":5', '"taskid":5', '"schedule":[]', '"schedule":{"priority":"high"}',
                     '"schedule":{"exetime":"soon"}', '"schedule":{"retries":-1}',
                     '"schedule":{"age":{}}', '"fetch":5', '"process":"x"',
                     '"schedule":{"priority":1e99}', '"schedule":{"exetime":1e300}'):
            members = {'"project"': f'"{p}"', '"taskid"': '"a"', '"url"': '"http://a/"'}
            key = part.split(":", 1)[0]
            members.pop(key, None)
            body = "[{" + ",".join([f"{k}:{v}" for k, v in members.items()] + [part]) + "}]"
            self.assert_refused_or_rejected(body.encode())
        for body in (b"5", b'"x"', b"null", b"[5]", b"[null]", b"[[]]"):
            self.assert_refused_or_rejected(body)
        self.assertEqual(self.client.size(p), 0)

    def test_wrong_types_elsewhere(self):
        for path, body in (("/v1/lease", b'{"max":"many"}'), ("/v1/lease", b'{"wait":[]}'),
                           ("/v1/lease", b'{"projects":"p"}'), ("/v1/lease", b"[]"),
                           ("/v1/extend", b'{"leases":"x","for":1}'),
                           ("/v1/extend", b'{"leases":[],"for":"long"}'),
                           ("/v1/report", b"5")):
            self.assertEqual(self.post(path, body)[0], 400, (path, body))

    def test_invalid_utf8(self):
        p = self.project()
        for text in (b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80"):
            self.assert_refused_or_rejected(
                b'[{"project":"%s","taskid":"%s","url":"http://a/"}]' % (p.encode(), text))
        self.assert_refused_or_rejected(
            b'[{"project":"%s","taskid":"\\ud800","url":"http://a/"}]' % p.encode())
        self.assertEqual(self.client.size(p), 0)

    def test_duplicate_keys(self):
        p = self.project()
        self.assert_refused_or_rejected(
            b'[{"project":"%s","taskid":"a","taskid":"b","url":"http://a/"}]' % p.encode())
        self.assertEqual(self.client.size(p), 0)

    def test_deep_nesting(self):
        p = self.project()
        for depth in (1_000, 100_000):
            fetch = b'{"a":' * depth + b"1" + b"}" * depth
            self.assert_refused_or_rejected(
                b'[{"project":"%s","taskid":"a","url":"http://a/","fetch":%s}]'
                % (p.encode(), fetch))

    def test_a_task_of_two_mebibytes(self):
        p = self.project()
        big = task(p, "big", fetch={"data": "x" * (2 * MIB)})
        answer = self.client.submit([big, task(p, "small")])
        self.assertEqual(answer["new"], 1)
        self.assertEqual(answer["rejected"][0]["index"], 0)
        try:
            answer = self.client.submit(big)
            self.assertEqual(len(answer["rejected"]), 1)
        except LycosaError as error:
            self.assertIn(error.status, (400, 413))
        self.assertEqual(ids(self.lease(p, 10, 5)), ["small"])

    def test_too_long_ids_and_urls(self):
        p = self.project()
        self.assert_refused_or_rejected(json.dumps([task(p, "x" * 300)]).encode())
        self.assert_refused_or_rejected(
            json.dumps([task(p, "a", url="http://a/" + "x" * 9000)]).encode())

    def test_a_body_larger_than_allowed_is_413_before_it_is_sent(self):
        with self.node.connect() as sock:
            sock.sendall(b"POST /v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json"
                         b"\r\nContent-Length: 99999999999\r\n\r\n[")
            self.assertIn(b" 413 ", sock.recv(65536))

    def test_a_bomb_of_compressed_zeros_is_413(self):
        bomb = gzip.compress(b" " * (200 * MIB), 1)
        before = self.node.peak_bytes()
        try:
            status, _ = self.post("/v1/tasks", bomb, **{"Content-Encoding": "gzip"})
            self.assertEqual(status, 413)
        finally:
            self.assertLess(self.node.peak_bytes() - before, 160 * MIB)

    def test_compressed_bodies_are_read_and_broken_ones_refused(self):
        p = self.project()
        good = gzip.compress(json.dumps(task(p, "a")).encode())
        self.assertEqual(self.post("/v1/tasks", good, **{"Content-Encoding": "gzip"})[0], 200)
        self.assertEqual(self.post("/v1/tasks", good[:-9], **{"Content-Encoding": "gzip"})[0], 400)
        self.assertEqual(self.post("/v1/tasks", b"x", **{"Content-Encoding": "gzip"})[0], 400)
        self.assertEqual(self.post("/v1/tasks", b"x", **{"Content-Encoding": "rot13"})[0], 415)

    def test_lines_that_are_no_http(self):
        for text in (b"\0" * 100 + b"\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\r\n\r\n",
                     b"GET / HTTP/9.9\r\n\r\n", b"POST /v1/tasks HTTP/1.1\r\nHost: x\r\n"
                     b"Content-Length: -5\r\n\r\n",
                     b"GET /healthz HTTP/1.1\r\n" + b"X: " + b"y" * 100_000 + b"\r\n\r\n"):
            with self.node.connect() as sock:
                try:
                    sock.sendall(text)
                    sock.shutdown(socket.SHUT_WR)
                except OSError:
                    pass
                answer = read_to_end(sock)
                self.assertTrue(answer == b"" or answer.startswith(b"HTTP/1.1 4") or
                                answer.startswith(b"HTTP/1.1 5") or
                                answer.startswith(b"HTTP/1.0 4"), answer[:100])

    def test_names_in_paths_are_decoded_and_bounded(self):
        for path in ("/v1/projects/%ff", "/v1/projects/%zz", "/v1/projects/" + "x" * 5000,
                     "/v1/projects/..%2f..%2fetc", "/v1/projects/p%00/tasks/a"):
            self.assertIn(self.client.raw("GET", path)[0], (400, 404, 414), path)

    def test_wrong_query_values(self):
        p = self.project()
        for query in ("limit=-1", "limit=x", "status=odd", "after=nonsense"):
            self.assertEqual(self.client.raw("GET", f"/v1/projects/{p}/tasks?{query}")[0], 400,
                             query)


class ManyNames(NodeTest):
    def test_a_million_unknown_projects_cost_no_memory(self):
        def send(start: int) -> None:
            rows = "".join(f'{{"project":"u{n}","taskid":"a","url":"http://a/"}}\n'
                           for n in range(start, start + 10_000)).encode()
            status, _, text = self.client.raw("POST", "/v1/tasks", rows,
                                              {"Content-Type": "application/x-ndjson"})
            self.assertEqual(status, 200)
            answer = json.loads(text)
            self.assertEqual((answer["new"], len(answer["rejected"])), (0, 10_000))
        for start in range(0, 100_000, 10_000):  # buffers reach their working size
            send(start)
        before = self.node.resident_bytes()
        for start in range(100_000, 1_000_000, 10_000):
            send(start)
        self.assertLess(self.node.resident_bytes() - before, 64 * MIB)
        self.assertEqual(self.client.projects(), [])
        self.assertEqual(self.client.sizes()["projects"], {})

    def test_unknown_names_in_leases_cost_no_memory(self):
        def ask(start: int) -> None:
            body = {"max": 1, "wait": 0, "projects": [f"u{n}" for n in range(start, start + 1000)]}
            self.assert_refused(404, lambda: self.client.call("POST", "/v1/lease", body))
        for start in range(0, 50_000, 1000):
            ask(start)
        before = self.node.resident_bytes()
        for start in range(50_000, 250_000, 1000):
            ask(start)
        self.assertLess(self.node.resident_bytes() - before, 64 * MIB)


class Pressure(NodeTest):
    settings = ('http.max_in_flight="4MiB"',)

    def test_bodies_that_are_announced_and_do_not_come_hold_up_nobody(self):
        p = self.project()
        idle = [self.node.connect() for _ in range(50)]
        self.addCleanup(lambda: [sock.close() for sock in idle])
        for sock in idle:
            sock.sendall(b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                         b"Content-Length: %d\r\n\r\n" % (3 * MIB))
            self.assertIn(b" 100 ", sock.recv(100))
            sock.sendall(b"[")
        self.client.submit([task(p, f"t{n}", fetch={"data": "x" * 1000}) for n in range(2000)])
        self.assertEqual(self.client.size(p), 2000)

    def test_more_in_flight_than_allowed_is_429_and_later_taken(self):
        p = self.project()
        statuses, lock = [], threading.Lock()
        body = json.dumps([task(p, f"t{n}", fetch={"data": "x" * 1000})
                           for n in range(2500)]).encode()

        def send():
            while True:
                status, headers, _ = self.node.client.raw("POST", "/v1/tasks", body, JSON)
                with lock:
                    statuses.append(status)
                if status != 429:
                    return
                self.assertIn("Retry-After", headers)
        threads = [threading.Thread(target=send) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(statuses.count(200), 8)
        self.assertLessEqual(set(statuses), {200, 429})
        self.assertEqual(self.client.size(p), 2500)
