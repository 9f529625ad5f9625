"""Connections to the provider: a request of HTTP/1.1 on a socket, its answer through httptools' parser."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

import httptools

_CHUNK = 65_536  # bytes read at a time


class Answer:
    """What has come of an answer so far: `status`, `headers` (names in lower case), `body`; the parser fills it in."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.headed = self.complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one header."""
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """The head is there."""
        self.status, self.headed = self.parser.get_status_code(), True

    def on_body(self, data: bytes) -> None:
        """Take a part of the body."""
        self.body += data

    def on_message_complete(self) -> None:
        """All is there."""
        self.complete = True


class Connection:
    """A connection to `host` and `port`, made at once; its reads wait `patience` seconds.

    Methods raise OSError when the other end is gone or silent, httptools.HttpParserError when it does not speak HTTP.
    """

    def __init__(self, host: str, port: int, patience: float) -> None:
        self._socket = socket.create_connection((host, port), timeout=patience)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._host = f"{host}:{port}"

    def usable(self, patience: float) -> bool:
        """Whether the other end has neither closed nor spoken unasked; reads wait `patience` seconds from now on."""
        self._socket.settimeout(patience)
        return not select.select([self._socket], [], [], 0)[0]

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send a request; return its answer when the head has come."""
        fields = {"host": self._host, "content-length": len(body), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self._socket.sendall(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body)
        answer = Answer()
        while not answer.headed:
            self._read(answer)
        return answer

    def finish(self, answer: Answer) -> bytes:
        """The body of `answer` when all of it has come."""
        while not answer.complete:
            self._read(answer)
        return answer.body

    def close(self) -> None:
        """Close the connection; closing twice is harmless."""
        self._socket.close()

    def _read(self, answer: Answer) -> None:
        data = self._socket.recv(_CHUNK)
        if not data:
            raise ConnectionResetError("the connection was closed before the answer had come")
        answer.parser.feed_data(data)


class Connections:
    """The connections to the provider at `url` (`http://HOST:PORT`) that nobody uses at the moment, for any thread."""

    def __init__(self, url: str) -> None:
        self.url, parts = url, urlsplit(url)
        self._host, self._port = str(parts.hostname), parts.port or 80
        self._idle: list[Connection] = []
        self._pid = os.getpid()

    def take(self, patience: float) -> Connection:
        """One that the provider has not closed, or a new one; raise OSError when it cannot be reached."""
        if self._pid != os.getpid():  # a forked process must not use its parent's sockets
            self._idle, self._pid = [], os.getpid()
        with suppress(IndexError):  # no more of them: another thread may take the last one
            while not (connection := self._idle.pop()).usable(patience):
                connection.close()
            return connection
        return Connection(self._host, self._port, patience)

    def give_back(self, connection: Connection) -> None:
        """Keep `connection`, whose answer has been read to its end, for the next."""
        self._idle.append(connection)

    def close(self) -> None:
        """Close all of them; the next use connects anew."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()
