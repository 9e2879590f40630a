"""One loopback server per test process; every run of a client has its own conversation, told by its path."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple
from uuid import uuid4

from clients.harness.model import anthropic, chat, gemini, responses
from clients.harness.model.wire import Reply, document
from clients.harness.script import Answer, Request, Script, Speller, answer, plain


class Api(NamedTuple):
    read: Callable[[str, Mapping[str, Any]], Request]
    write: Callable[[Request, Answer], Reply]


APIS: Final = {
    "/messages": Api(anthropic.read, anthropic.write),
    "/responses": Api(responses.read, responses.write),
    "/chat/completions": Api(chat.read, chat.write),
    ":generateContent": Api(gemini.read, gemini.write),
    ":streamGenerateContent": Api(gemini.read, gemini.write),
    ":countTokens": Api(gemini.read, gemini.write),
}
"""By how the path ends."""


@dataclass
class Conversation:
    """A script, and all that a client sent while it was played."""

    id: str
    url: str
    script: Script
    spell: Speller
    requests: list[Request] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """What went wrong in the model itself: a test that goes on would show nothing."""

    def reply(self, path: str, body: Mapping[str, Any]) -> Reply:
        for ending, api in APIS.items():
            if path.endswith(ending):
                request = api.read(path, body)
                self.requests.append(request)
                return api.write(request, answer(self.id, self.script, self.spell, request))
        return document({"input_tokens": 10})


class Model:
    def __init__(self) -> None:
        self._conversations: dict[str, Conversation] = {}
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.model = self
        self._url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> "Model":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @contextmanager
    def playing(
        self, script: Script, spell: Speller = plain, goes_on: str | None = None
    ) -> Iterator[Conversation]:
        """Answer from this script; a conversation that goes on keeps its name, by which calls are known."""
        name = goes_on or uuid4().hex[:12]
        conversation = Conversation(name, f"{self._url}/{name}", script, spell)
        self._conversations[name] = conversation
        try:
            yield conversation
        finally:
            del self._conversations[name]

    def find(self, path: str) -> Conversation | None:
        return self._conversations.get(path.split("/")[1])


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    model: Model


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: Any) -> None:
        """The conversation holds what was asked."""

    def do_HEAD(self) -> None:
        self._send(200, Reply(b""))

    def do_GET(self) -> None:
        self._send(200, document({"data": [{"id": "scripted", "object": "model"}], "models": []}))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        conversation = self.server.model.find(path)
        if conversation is None:
            return self._send(404, document({"error": "nobody plays a script here any longer"}))
        try:
            reply = conversation.reply(path, json.loads(body or b"{}"))
        except Exception as why:
            conversation.failures.append(f"{path}: {why!r} on {body[:2000]!r}")
            return self._send(400, document({"error": {"type": "scripted_model", "message": repr(why)}}))
        return self._send(200, reply)

    def _send(self, status: int, reply: Reply) -> None:
        self.send_response(status)
        self.send_header("content-type", reply.kind)
        self.send_header("content-length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)
