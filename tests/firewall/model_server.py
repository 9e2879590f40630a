"""A small OpenAI-compatible server on a real socket: it answers what the test put into its script."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HANG_UP = "hang up"
STALL = "stall"


class ModelServer(ThreadingHTTPServer):
    """Each item of `script` answers one request: a completion, `(status, headers)`, bytes, or no answer."""

    daemon_threads = True

    def __init__(self, script: list[Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is what some of these tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(json.loads(body))
        self.server.keys.append(self.headers["Authorization"])
        answer = self.server.script.pop(0)
        if self.path != "/v1/chat/completions":
            self._send(404, {}, b"{}")
        elif answer == HANG_UP:
            self.close_connection = True
        elif answer == STALL:
            self.server.released.wait(10)
        elif isinstance(answer, tuple):
            self._send(answer[0], answer[1], (self.headers["Authorization"] or "no").encode())
        elif isinstance(answer, bytes):
            self._send(200, {}, answer)
        else:
            self._send(200, {}, json.dumps(answer).encode())

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


@contextmanager
def serving(*script: Any) -> Iterator[ModelServer]:
    server = ModelServer(list(script))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def completion(text: str | None, **choice: Any) -> dict[str, Any]:
    return {
        "model": "tiny-1",
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop", **choice}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    }
