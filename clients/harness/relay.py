"""Stands between a program and its server, and breaks in the middle when it is told to."""

import http.client
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import urlsplit

HOP: Final = frozenset({"connection", "transfer-encoding", "keep-alive"})


class Relay:
    """Passes requests on, with these headers added, until `breaks` says how they are answered instead:
    with these bytes, or (None) never.
    """

    def __init__(self, url: str, added: Mapping[str, str] | None = None) -> None:
        self._added = added or {}
        self.asked_in_vain: list[str] = []
        self._target = urlsplit(url).netloc
        self._broken = threading.Event()
        self._end = threading.Event()
        self._answer: bytes | None = None
        self._at = b""
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.relay = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "Relay":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._server.shutdown()
        self._server.server_close()

    def breaks(self, answer: bytes | None, at: bytes = b"") -> None:
        """From now on; with `at`, for requests with these bytes in them."""
        self._answer, self._at = answer, at
        self._broken.set()

    def mends(self) -> None:
        self._broken.clear()

    def handle(self, asked: "_Handler") -> None:
        body = asked.rfile.read(int(asked.headers.get("content-length") or 0))
        if not self._broken.is_set() or self._at not in body:
            return self._pass_on(asked, body)
        self.asked_in_vain.append(asked.path)
        if self._answer is None:
            self._end.wait()
            return None
        return asked.answer(200, {"content-type": "application/json"}, self._answer)

    def _pass_on(self, asked: "_Handler", body: bytes) -> None:
        connection = http.client.HTTPConnection(self._target, timeout=120)
        try:
            headers = {**dict(asked.headers.items()), **self._added}
            connection.request(asked.command, asked.path, body, headers)
            asked.stream(connection.getresponse())
        except (OSError, http.client.HTTPException):
            asked.close_connection = True  # as a server that went away
        finally:
            connection.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    relay: Relay


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: Any) -> None:
        """The test looks at `asked_in_vain`."""

    def do_POST(self) -> None:
        self.server.relay.handle(self)

    def do_GET(self) -> None:
        self.server.relay.handle(self)

    def do_DELETE(self) -> None:
        self.server.relay.handle(self)

    def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self._begin(status, {**headers, "content-length": str(len(body))})
        self.wfile.write(body)

    def stream(self, answer: http.client.HTTPResponse) -> None:
        """Piece by piece as it comes: an answer may be a feed. Its end is the end of the connection."""
        self.close_connection = True
        passed = {name: value for name, value in answer.getheaders() if name.lower() not in HOP}
        self._begin(answer.status, {**passed, "connection": "close"})
        while piece := answer.read1():
            self.wfile.write(piece)
            self.wfile.flush()

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
