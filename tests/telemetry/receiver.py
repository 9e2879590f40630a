"""A collector on loopback: keeps every span that is sent to it as OTLP over HTTP."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from msgspec import Struct


class Told(Struct, frozen=True):
    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, Any]
    failed: bool


class Collector:
    def __init__(self) -> None:
        self.spans: list[Told] = []
        self._grown = threading.Condition()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.take(gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return None

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def take(self, body: bytes) -> None:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        request = ExportTraceServiceRequest.FromString(body)
        found = [_told(one) for part in request.resource_spans for at in part.scope_spans for one in at.spans]
        with self._grown:
            self.spans += found
            self._grown.notify_all()

    def wait_for(self, name: str) -> Told:
        """The first span of this name, once it is there."""
        with self._grown:
            assert self._grown.wait_for(lambda: name in {one.name for one in self.spans}, 60), self.spans
            return next(one for one in self.spans if one.name == name)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _told(one: Any) -> Told:
    values = {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in one.attributes}
    ids = (one.trace_id.hex(), one.span_id.hex(), one.parent_span_id.hex())
    return Told(one.name, one.kind, *ids, values, one.status.code == 2)


@contextmanager
def collecting() -> Iterator[Collector]:
    made = Collector()
    try:
        yield made
    finally:
        made.close()
