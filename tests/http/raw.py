"""HTTP by hand, for what no client library would send."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from msgspec import Struct

from tests.support.server import ServerProcess


class Raw(Struct):
    """An answer as it came over the wire."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Connection:
    """One TCP connection to the server."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._reader = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> None:
        given = {"Host": "127.0.0.1", **(headers or {})}
        if body is not None:
            given = {"Content-Type": "application/json", "Content-Length": str(len(body)), **given}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
        self.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b""))

    def answer(self, head_only: bool = False) -> Raw:
        line = self._reader.readline()
        assert line.startswith(b"HTTP/1.1 "), line
        headers: dict[str, str] = {}
        while (field := self._reader.readline()) not in (b"\r\n", b""):
            name, _, value = field.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        body = b"" if head_only else self._body(headers)
        return Raw(int(line.split()[1]), headers, body)

    def line(self) -> bytes:
        return self._reader.readline()

    def rest(self) -> bytes:
        """All that comes until the other side hangs up."""
        rest = b""
        with suppress(ConnectionError):
            while line := self.line():
                rest += line
        return rest

    def is_closed(self) -> bool:
        """Does the other side hang up without a word?"""
        try:
            return self._reader.read(1) == b""
        except ConnectionError:
            return True

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return self._reader.read(int(headers.get("content-length", "0")))
        body = b""
        while piece := self.piece():
            body += piece
        return body

    def piece(self) -> bytes:
        """The next chunk of a body; none at its end, or when the other side has hung up."""
        size = int(self._reader.readline() or b"0", 16)
        piece = self._reader.read(size)
        self._reader.readline()
        return piece

    def close(self) -> None:
        self._reader.close()
        self.socket.close()


@contextmanager
def connected(server: ServerProcess) -> Iterator[Connection]:
    connection = Connection(server.port)
    try:
        yield connection
    finally:
        connection.close()
