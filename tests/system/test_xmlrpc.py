"""pyspider's XML-RPC interface, called as its web interface and command line call it."""

import http.client
import unittest
import xmlrpc.client

from harness import Node, NodeTest, until


def rpc(node: Node) -> xmlrpc.client.ServerProxy:
    return xmlrpc.client.ServerProxy(f"http://{node.xmlrpc}/", allow_none=True)


def task(project: str, taskid: str, **more):
    return {"taskid": taskid, "project": project, "url": f"http://x/{taskid}", **more}


class Methods(NodeTest):
    def setUp(self):
        super().setUp()
        self.rpc = rpc(self.node)
        self.addCleanup(self.rpc("close"))

    def test_new_tasks(self):
        p = self.project()
        self.assertIs(self.rpc.newtask(task(p, "a", fetch={"headers": {"A": "ü<&>"}},
                                            schedule={"priority": 3})), True)
        for lacking in ("taskid", "project", "url"):
            bad = task(p, "b")
            del bad[lacking]
            self.assertIs(self.rpc.newtask(bad), False)
        self.assertIs(self.rpc.newtask(task("unknown", "a")), False)
        self.assertEqual(self.client.size(p), 1)
        self.assertEqual(self.client.task(p, "a")["fetch"], {"headers": {"A": "ü<&>"}})

    def test_a_sent_task_is_handed_out_once(self):
        p = self.project()
        message = task(p, "on_message", fetch={"save": ["__command__", "hello"]},
                       process={"callback": "_on_message"})
        self.assertIs(self.rpc.send_task(message), True)
        got = self.client.lease(10, projects=[p])
        self.assertEqual([t["taskid"] for t in got], ["on_message"])
        self.assertEqual(got[0]["fetch"], message["fetch"])
        self.assertNotIn("lease", got[0])
        self.assertEqual(self.client.lease(10, projects=[p]), [])
        with self.assertRaises(xmlrpc.client.Fault):
            self.rpc.send_task(task("unknown", "x"))

    def test_what_the_web_interface_asks_for(self):
        p = self.project()
        self.client.submit([task(p, "a"), task(p, "b")])
        leased = self.client.lease(1, projects=[p])[0]
        self.client.report([{"taskid": leased["taskid"], "project": p, "lease": leased["lease"],
                             "track": {"fetch": {"ok": True, "time": 2.0},
                                       "process": {"ok": True, "time": 0.5}}}])
        self.assertIsNone(self.rpc.update_project())
        got = self.rpc.webui_update()
        self.assertIs(got["pause_status"][p], False)
        self.assertEqual(got["counter"]["5m_time"][p], {"fetch_time": 2.0, "process_time": 0.5})
        for window in ("5m", "1h", "1d"):
            self.assertEqual(got["counter"][window][p],
                             {"pending": 2, "success": 1, "retry": 0, "failed": 0})
        self.assertEqual(got["counter"]["all"][p], {"pending": 1, "success": 1, "failed": 0})
        self.assertEqual(self.rpc.counter("5m", "sum")[p], got["counter"]["5m"][p])
        self.assertEqual(self.client.call("GET", "/v1/counters/5m")[p], got["counter"]["5m"][p])
        self.assertGreaterEqual(self.rpc.size(), 1)
        self.assertIs(self.rpc.get_projects_pause_status()[p], False)

    def test_active_tasks_are_copies(self):
        p = self.project()
        self.client.submit([task(p, "a", fetch={"x": 1}, process={"callback": "c"})])
        leased = self.client.lease(1, projects=[p])[0]
        for arguments in ((p,), (p, 100), (None, 100), ()):
            entries = until(lambda a=arguments: [e for e in self.rpc.get_active_tasks(*a)
                                                 if e[1]["project"] == p], "an active task")
            at, shown = entries[0]
            self.assertIsInstance(at, float)
            self.assertEqual(shown["taskid"], "a")
            self.assertNotIn("fetch", shown)
        self.client.release([leased["lease"]])
        again = self.client.lease(1, projects=[p])[0]
        self.assertEqual((again["fetch"], again["process"]), ({"x": 1}, {"callback": "c"}))
        self.assertEqual(self.rpc.get_active_tasks("unknown"), [])

    def test_introspection(self):
        self.assertEqual(
            set(self.rpc.system.listMethods()),
            {"_quit", "size", "counter", "newtask", "send_task", "update_project",
             "get_active_tasks", "get_projects_pause_status", "webui_update",
             "system.listMethods", "system.methodHelp", "system.methodSignature"})
        self.assertTrue(self.rpc.system.methodHelp("size"))

    def post(self, body: bytes, path: str = "/RPC2") -> tuple[int, bytes]:
        host, port = self.node.xmlrpc.rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        try:
            connection.request("POST", path, body, {"Content-Type": "text/xml"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def test_bad_requests_stop_nothing(self):
        good = xmlrpc.client.dumps((), "size").encode()
        bomb = (b"<?xml version='1.0'?><!DOCTYPE l [<!ENTITY a 'aaaaaaaaaa'>" + b"".join(
            b"<!ENTITY a%d '%s'>" % (i, b"&a%d;" % (i - 1) * 10) for i in range(1, 10))
            + b"]><methodCall><methodName>&a9;</methodName></methodCall>")
        deep = b"<value>" + b"<array><data><value>" * 50_000
        for bad in (b"", b"x", bomb, good[:20], b"\xff\xfe", good.replace(b"size", b"no"),
                    b"<methodCall><methodName>newtask</methodName><params><param>" + deep,
                    xmlrpc.client.dumps((1, 2, 3), "size").encode(),
                    xmlrpc.client.dumps(("x",), "newtask").encode()):
            status, body = self.post(bad)
            self.assertEqual(status, 200)
            self.assertIn(b"<methodResponse>", body)
        self.assertEqual(self.post(b"x" * (9 << 20))[0], 413)
        self.assertEqual(self.post(good, "/")[0], 200)
        self.assertEqual(self.post(good, "/any/path")[0], 200)
        host, port = self.node.xmlrpc.rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        connection.request("GET", "/")
        self.assertEqual(connection.getresponse().status, 400)
        connection.close()

    def test_no_task_can_make_the_list_unreadable(self):
        p = self.project()
        for n, odd in enumerate(("\uffff", "\ufffe", "\x7f", "\u0085", "\U0001f600")):
            self.assertIs(self.rpc.newtask({**task(p, f"t{n}"), "url": f"http://x/{odd}"}), True)
        self.client.lease(10, projects=[p])
        until(lambda: len(self.rpc.get_active_tasks(p)) == 5, "all five, readable")
        with self.assertRaises(xmlrpc.client.Fault):
            getattr(self.rpc, "ä" * 51 + "€")()

    def test_counters_over_http(self):
        p = self.project()
        self.client.submit([task(p, "a")])
        for window in ("5m", "1h", "1d"):
            for kind in ("sum", "avg"):
                got = self.client.call("GET", f"/v1/counters/{window}?type={kind}")[p]
                self.assertEqual(set(got), {"pending", "success", "retry", "failed"})
        self.assertEqual(self.client.call("GET", "/v1/counters/all")[p],
                         {"pending": 1, "success": 0, "failed": 0})
        for path, status in (("/v1/counters/2m", 404), ("/v1/counters/5m?type=max", 400)):
            self.assertEqual(self.client.raw("GET", path)[0], status)


class Process(unittest.TestCase):
    def test_quit_ends_the_process_in_order(self):
        node = Node()
        self.addCleanup(node.close)
        node.start()
        node.client.put_project("p", status="RUNNING")
        proxy = rpc(node)
        self.assertIs(proxy.newtask(task("p", "a")), True)
        self.assertIsNone(proxy._quit())
        proxy("close")()
        self.assertEqual(node.wait(), 0)
        node.start()
        self.assertEqual(node.client.size("p"), 1)

    def test_it_can_be_switched_off(self):
        node = Node("xmlrpc.enabled=false")
        self.addCleanup(node.close)
        node.start()
        self.assertEqual(node.xmlrpc, "off")


if __name__ == "__main__":
    unittest.main()
