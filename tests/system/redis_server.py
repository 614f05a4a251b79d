"""A redis-server of a test's own, and the little of its protocol that tests speak."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import msgpack
from harness import DEADLINE, free_port, until


class RedisServer:
    def __init__(self, *options: str, password: str = "", tls: bool = False):
        self.folder = Path(tempfile.mkdtemp(prefix="lycosa-redis-"))
        self.port = free_port()
        self.password = password
        self.tls = tls
        self.options = list(options)
        self.process: subprocess.Popen[bytes] | None = None
        if tls:
            self._make_certificate()

    def _make_certificate(self) -> None:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
             "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
             str(self.folder / "key.pem"), "-out", str(self.folder / "cert.pem")],
            check=True, capture_output=True)

    def start(self) -> "RedisServer":
        line = ["redis-server", "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", "",
                "--appendonly", "yes", "--appendfsync", "always", "--daemonize", "no"]
        if self.tls:
            line += ["--port", "0", "--tls-port", str(self.port), "--tls-cert-file",
                     str(self.folder / "cert.pem"), "--tls-key-file", str(self.folder / "key.pem"),
                     "--tls-ca-cert-file", str(self.folder / "cert.pem"), "--tls-auth-clients",
                     "no"]
        else:
            line += ["--port", str(self.port)]
        if self.password:
            line += ["--requirepass", self.password]
        self.process = subprocess.Popen(line + self.options, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        until(self._answers, "redis-server")
        return self

    def _answers(self) -> bool:
        try:
            return RedisClient(self).run("PING") == b"PONG"
        except (OSError, EOFError):
            return False

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(DEADLINE)
            self.process = None

    def url(self, database: int = 0) -> str:
        login = f":{self.password}@" if self.password else ""
        if self.tls:
            return f"rediss://{login}localhost:{self.port}/{database}?ca={self.folder}/cert.pem"
        return f"redis://{login}127.0.0.1:{self.port}/{database}"

    def __enter__(self) -> "RedisServer":
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class RedisClient:
    """Commands and replies, and pyspider's three queues on top."""

    def __init__(self, server: RedisServer, database: int = 0):
        self._socket = socket.create_connection(("127.0.0.1", server.port), DEADLINE)
        if server.tls:
            context = ssl.create_default_context(cafile=str(server.folder / "cert.pem"))
            self._socket = context.wrap_socket(self._socket, server_hostname="localhost")
        self._file = self._socket.makefile("rb")
        if server.password:
            self.run("AUTH", server.password)
        if database:
            self.run("SELECT", str(database))

    def run(self, *words: str | bytes) -> Any:
        parts = [w.encode() if isinstance(w, str) else w for w in words]
        self._socket.sendall(b"*%d\r\n" % len(parts) + b"".join(
            b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
        return self._reply()

    def _reply(self) -> Any:
        line = self._file.readline()
        if not line:
            raise EOFError
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise OSError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"+":
            return rest
        n = int(rest)
        if kind == b"$":
            return None if n < 0 else self._file.read(n + 2)[:-2]
        return [self._reply() for _ in range(n)]

    # -- as pyspider's components use them ------------------------------------------------------

    def put(self, queue: str, value: Any, **how: Any) -> int:
        return self.run("RPUSH", queue, msgpack.pack(value, **how))

    def length(self, queue: str) -> int:
        return self.run("LLEN", queue)

    def get(self, queue: str = "scheduler2fetcher") -> Any:
        body = self.run("LPOP", queue)
        return None if body is None else msgpack.unpack(body)

    def wait_for(self, queue: str = "scheduler2fetcher") -> Any:
        return until(lambda: self.get(queue), f"something in {queue}")
