"""A program that takes the messages of a webhook, for tests."""

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE_SECONDS = 60.0


class Receiver:
    """A local program that takes messages, or does not."""

    def __init__(self, port: int = 0) -> None:
        self.heard: list[tuple[dict[str, str], bytes]] = []
        self.answer: Callable[[dict[str, Any]], int] = lambda _: 204
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.heard.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(receiver.answer(json.loads(body)))
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return None

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}/hook"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def ids(self) -> list[str]:
        return [headers["webhook-id"] for headers, _ in self.heard]

    def wait(self, count: int) -> None:
        """Until so many messages have come."""
        until(lambda: len(self.heard) >= count)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)
