"""From pyspider's databases and back."""

import json
import sqlite3
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import Node, free_port, lycosa, until
from redis_server import RedisClient, RedisServer

T0 = 1_600_000_000.25


def make_databases(folder: Path, tasks: int = 2500) -> dict[str, str]:
    """What pyspider's SQLite databases look like."""
    db = sqlite3.connect(folder / "project.db")
    db.execute("CREATE TABLE projectdb (name PRIMARY KEY, `group`, status, script, comments, rate,"
               " burst, updatetime)")
    db.execute("INSERT INTO projectdb VALUES ('news', 'web', 'RUNNING', 'class H: pass', 'ü', 2.5,"
               " 7, ?)", (T0,))
    db.execute("INSERT INTO projectdb VALUES ('idle', NULL, 'TODO', '', NULL, 1, 3, ?)", (T0,))
    db.commit()
    db.close()
    db = sqlite3.connect(folder / "task.db")
    for project, n in (("news", tasks), ("idle", 3)):
        db.execute(f"CREATE TABLE taskdb_{project} (taskid PRIMARY KEY, project, url, status,"
                   " schedule, fetch, process, track, lastcrawltime, updatetime)")
        db.executemany(f"INSERT INTO taskdb_{project} VALUES (?,?,?,?,?,?,?,?,?,?)", [
            (f"t{i}", project, f"http://x/{i}?q=ü", i % 4 + 1,
             json.dumps({"priority": i % 7, "age": 3600, "itag": f"v{i}", "retried": i % 3}),
             json.dumps({"headers": {"A": "b"}, "n": 1.5}),
             json.dumps({"callback": "page"}),
             json.dumps({"fetch": {"ok": True, "status_code": 200}, "save": {"k": [1, None]}}),
             None if i % 4 == 0 else T0 + i, T0 + i) for i in range(n)])
    db.commit()
    db.close()
    db = sqlite3.connect(folder / "result.db")
    db.execute("CREATE TABLE resultdb_news (taskid PRIMARY KEY, url, result, updatetime)")
    db.executemany("INSERT INTO resultdb_news VALUES (?,?,?,?)", [
        (f"t{i}", f"http://x/{i}", json.dumps({"title": f"ü{i}"}), T0 + i) for i in range(30)])
    db.commit()
    db.close()
    return {"projectdb": f"sqlite+projectdb:///{folder}/project.db",
            "taskdb": f"sqlite+taskdb:///{folder}/task.db",
            "resultdb": f"sqlite+resultdb:///{folder}/result.db"}


def options(urls: dict[str, str]) -> list[str]:
    return [part for name, url in urls.items() for part in (f"--{name}", url)]


class Mysql:
    """A mariadbd of the test's own."""

    def __init__(self, folder: Path):
        self.folder, self.port = folder, free_port()
        self.socket = str(folder / "s")

    def __enter__(self) -> "Mysql":
        self.folder.mkdir()
        subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={self.folder}/data",
                        "--user=root", "--auth-root-authentication-method=normal",
                        "--skip-test-db"], check=True, capture_output=True, timeout=120)
        self.process = subprocess.Popen(
            ["/usr/sbin/mariadbd", "--no-defaults", f"--datadir={self.folder}/data", "--user=root",
             f"--socket={self.socket}", f"--port={self.port}", "--bind-address=127.0.0.1",
             f"--pid-file={self.folder}/pid"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: self.try_run("SELECT 1").returncode == 0, "mariadbd", within=60)
        self.run("CREATE USER IF NOT EXISTS root@127.0.0.1; GRANT ALL ON *.* TO root@127.0.0.1;")
        return self

    def try_run(self, sql: str):
        return subprocess.run(["mariadb", "--no-defaults", "-S", self.socket, "-u", "root",
                               "--default-character-set=utf8mb4"], input=sql, text=True,
                              capture_output=True, timeout=60)

    def run(self, sql: str) -> None:
        ended = self.try_run(sql)
        if ended.returncode != 0:
            raise AssertionError(ended.stderr)

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.wait(30)


class Migration(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lycosa-migrate-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.node = Node()
        self.addCleanup(self.node.close)
        self.node.start()
        self.client = self.node.client

    def lycosa(self, *words: str, code: int = 0):
        ended = lycosa(*words, "--server", self.node.url)
        self.assertEqual(ended.returncode, code, ended.stderr)
        return ended

    def counts(self, project: str):
        counters = self.client.project(project)["counters"]
        return [counters[k] for k in ("active", "success", "failed", "bad")]

    def test_everything_comes_over_as_it_was(self):
        urls = make_databases(self.folder)
        dry = self.lycosa("import", "pyspider", *options(urls), "--dry-run")
        self.assertIn("nothing was written", dry.stdout)
        self.assertEqual(self.client.projects(), [])
        self.lycosa("import", "pyspider", *options(urls))
        self.assertEqual(self.counts("news"), [625, 625, 625, 625])
        news = self.client.project("news")
        self.assertEqual((news["status"], news["group"], news["rate"], news["burst"],
                          news["script"], news["comments"]),
                         ("RUNNING", "web", 2.5, 7, "class H: pass", "ü"))
        self.assertEqual(self.client.project("idle")["status"], "TODO")
        task = self.client.task("news", "t5")
        self.assertEqual(task["status"], 2)
        self.assertEqual(task["url"], "http://x/5?q=ü")
        self.assertEqual(task["schedule"]["itag"], "v5")
        self.assertEqual(task["schedule"]["retried"], 2)
        self.assertEqual(task["fetch"], {"headers": {"A": "b"}, "n": 1.5})
        self.assertEqual(task["track"]["save"], {"k": [1, None]})
        self.assertEqual((task["lastcrawltime"], task["updatetime"]), (T0 + 5, T0 + 5))
        self.assertEqual(self.client.result("news", "t3"),
                         {"url": "http://x/3", "result": {"title": "ü3"}})
        # The age of what was crawled there counts here; what was queued there is queued here.
        self.assertEqual(self.client.size("news"), 625)

    def test_there_and_back_is_the_same(self):
        urls = make_databases(self.folder, 300)
        self.lycosa("import", "pyspider", *options(urls))
        back = self.folder / "back"
        back.mkdir()
        self.lycosa("export", "pyspider", "--projectdb", f"sqlite:///{back}/project.db",
                    "--taskdb", f"sqlite:///{back}/task.db",
                    "--resultdb", f"sqlite:///{back}/result.db")

        def rows(path, table, parsed):
            db = sqlite3.connect(path)
            found = db.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
            db.close()
            return [tuple(json.loads(v) if i in parsed and v else v for i, v in enumerate(row))
                    for row in found]

        for table in ("taskdb_news", "taskdb_idle"):
            want = rows(self.folder / "task.db", table, (4, 5, 6, 7))
            got = rows(back / "task.db", table, (4, 5, 6, 7))
            self.assertEqual(len(got), len(want))
            for mine, theirs in zip(got, want):
                self.assertEqual(mine[:4], theirs[:4])
                self.assertEqual({k: mine[4][k] for k in theirs[4]}, theirs[4])
                self.assertEqual(mine[5:8], theirs[5:8])
                self.assertEqual(mine[8:], theirs[8:])
        self.assertEqual(rows(back / "result.db", "resultdb_news", (2,)),
                         rows(self.folder / "result.db", "resultdb_news", (2,)))
        projects = rows(back / "project.db", "projectdb", ())
        self.assertEqual([p[:4] for p in projects], [("idle", "", "TODO", ""),
                                                     ("news", "web", "RUNNING", "class H: pass")])

    def test_again_changes_nothing_and_newer_ones_replace(self):
        urls = make_databases(self.folder, 100)
        self.lycosa("import", "pyspider", *options(urls))
        again = json.loads(self.lycosa("import", "pyspider", *options(urls), "--json").stdout)
        self.assertEqual((again["news"]["new"], again["news"]["unchanged"]), (0, 100))
        db = sqlite3.connect(self.folder / "task.db")
        db.execute("UPDATE taskdb_news SET status = 2, updatetime = ? WHERE taskid = 't0'",
                   (T0 + 1e6,))
        db.commit()
        db.close()
        again = json.loads(self.lycosa("import", "pyspider", *options(urls), "--json").stdout)
        self.assertEqual(again["news"]["replaced"], 1)
        self.assertEqual(self.client.task("news", "t0")["status"], 2)
        self.assertEqual(self.client.size("news"), 24, "it left the queue")

    def test_a_state_file_goes_on_where_it_was(self):
        urls = make_databases(self.folder, 100)
        state = str(self.folder / "state.json")
        self.lycosa("import", "pyspider", *options(urls), "--state", state)
        again = json.loads(self.lycosa("import", "pyspider", *options(urls), "--state", state,
                                       "--json").stdout)
        self.assertEqual((again["news"]["new"], again["news"]["unchanged"]), (0, 0))

    def test_bad_rows_are_named_and_hold_up_nothing(self):
        urls = make_databases(self.folder, 20)
        db = sqlite3.connect(self.folder / "task.db")
        db.execute("UPDATE taskdb_news SET fetch = '{broken' WHERE taskid = 't1'")
        db.execute("UPDATE taskdb_news SET url = ? WHERE taskid = 't2'", ("x" * 9000,))
        db.commit()
        db.close()
        ended = self.lycosa("import", "pyspider", *options(urls), code=1)
        self.assertIn("t1: fetch: is not a JSON object", ended.stderr)
        self.assertIn("t2: url:", ended.stderr)
        self.assertEqual(sum(self.counts("news")), 18)

    def test_one_project_alone(self):
        urls = make_databases(self.folder, 20)
        self.lycosa("import", "pyspider", *options(urls), "--project", "idle")
        self.assertEqual([p["name"] for p in self.client.projects()], ["idle"])
        self.lycosa("import", "pyspider", *options(urls), "--project", "none", code=1)

    def test_what_is_no_database_is_told(self):
        for url, code in ((f"sqlite:///{self.folder}/none.db", 1), ("mongodb://x/y", 2),
                          ("x", 2)):
            ended = self.lycosa("import", "pyspider", "--taskdb", url, code=code)
            self.assertEqual(len(ended.stderr.strip().splitlines()), 1, ended.stderr)
        self.lycosa("import", "pyspider", code=2)

    def test_all_three_from_mysql(self):
        with Mysql(self.folder / "mysql") as server:
            server.run("CREATE DATABASE projectdb; CREATE DATABASE taskdb; CREATE DATABASE resultdb;"
                       "USE projectdb; CREATE TABLE projectdb (name varchar(64) PRIMARY KEY, `group`"
                       " varchar(64), status varchar(16), script TEXT, comments varchar(1024), rate"
                       " float(11,4), burst float(11,4), updatetime double(16,4));"
                       "INSERT INTO projectdb VALUES ('news','web','TODO','x = \"ü\"',NULL,2.5,7,"
                       "1600000000.25);"
                       "USE taskdb; CREATE TABLE news (taskid varchar(64) PRIMARY KEY, project"
                       " varchar(64), url varchar(1024), status int(1), schedule BLOB, `fetch` BLOB,"
                       " process BLOB, track BLOB, lastcrawltime double(16,4), updatetime"
                       " double(16,4), INDEX status_index (status));"
                       "INSERT INTO news SELECT concat('t', seq), 'news', concat('http://x/', seq),"
                       " seq % 4 + 1, '{\"priority\": 3}', NULL, '{\"callback\": \"c\"}', '{}',"
                       " NULL, 1600000000.5 FROM seq_1_to_2500;"
                       "USE resultdb; CREATE TABLE news (taskid varchar(64) PRIMARY KEY, url"
                       " varchar(1024), result BLOB, updatetime double(16,4));"
                       "INSERT INTO news VALUES ('t1','http://x/1','{\"a\": 1}',1600000000.5);")
            at = f"root@127.0.0.1:{server.port}"
            self.lycosa("import", "pyspider", "--projectdb", f"mysql+projectdb://{at}/projectdb",
                        "--taskdb", f"mysql+taskdb://{at}/taskdb",
                        "--resultdb", f"mysql+resultdb://{at}/resultdb")
            self.lycosa("import", "pyspider", "--taskdb", f"mysql+taskdb://{at}/none", code=1)
        self.assertEqual(self.counts("news"), [625] * 4)
        self.assertEqual(self.client.project("news")["script"], 'x = "ü"')
        task = self.client.task("news", "t7")
        self.assertEqual((task["schedule"]["priority"], task["process"], task["updatetime"]),
                         (3, {"callback": "c"}, 1600000000.5))
        self.assertEqual(self.client.result("news", "t1"), {"url": "http://x/1",
                                                            "result": {"a": 1}})

    def test_tasks_from_redis(self):
        with RedisServer() as server:
            redis = RedisClient(server)
            redis.run("SADD", "taskdb_projects", "news")
            for i in range(1200):
                status = i % 4 + 1
                redis.run("SADD", f"taskdb_news_status_{status}", f"t{i}")
                redis.run("HMSET", f"taskdb_news_t{i}", "taskid", f"t{i}", "project", "news",
                          "url", f"http://x/{i}", "status", str(status), "schedule",
                          json.dumps({"priority": 1}), "track", "{}", "updatetime", str(T0 + i))
            self.lycosa("import", "pyspider", "--taskdb",
                        f"redis+taskdb://127.0.0.1:{server.port}/0")
        self.assertEqual(self.counts("news"), [300] * 4)
        self.assertEqual(self.client.project("news")["status"], "STOP")


if __name__ == "__main__":
    unittest.main()
