"""Witnesses for tests: a real one, and one that answers as it is told to."""

import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import uvicorn

from beliefd.http.witness import Witness, witness_app
from beliefd.ledger.notes import SigningKey, VerifierKey
from tests.support.postgres import free_port

Answer = Callable[[bytes], tuple[int, bytes]]


class WitnessServer:
    """`with WitnessServer(key, logs, folder) as url`."""

    def __init__(
        self, key: SigningKey, logs: Sequence[VerifierKey], seen: Path, port: int | None = None
    ) -> None:
        self.port = port or free_port()
        app = witness_app(Witness(key, logs, seen))
        self._server = uvicorn.Server(uvicorn.Config(app, port=self.port, log_level="critical"))
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        deadline = time.monotonic() + 60
        while not self._server.started:
            assert time.monotonic() < deadline, "the witness does not start"
            time.sleep(0.01)
        return f"http://127.0.0.1:{self.port}"

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(60)


class Liar:
    """`with Liar(answer) as url`: what it hears is in `heard`, what it says is up to `answer`."""

    def __init__(self, answer: Answer) -> None:
        self.heard: list[bytes] = []
        liar = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                liar.heard.append(body)
                status, told = answer(body)
                self.send_response(status)
                self.send_header("content-length", str(len(told)))
                self.end_headers()
                self.wfile.write(told)

            def log_message(self, *_: Any) -> None:
                return None

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> str:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
