"""Verbs that are answered without ASGI: one under way, and the opening lines of its answer."""

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from beliefd.http.direct import Verb, Verbs
from beliefd.http.replies import Reply

if TYPE_CHECKING:
    from beliefd.http.protocol import Protocol


class Exchange:
    """A verb under way. It stands where uvicorn keeps its cycle, with the attributes that uvicorn reads."""

    __slots__ = (
        "_protocol",
        "_started",
        "_verb",
        "_verbs",
        "disconnected",
        "keep_alive",
        "response_complete",
        "response_started",
    )
    message_event: Final = asyncio.Event()
    """uvicorn sets it when the connection is lost; nothing here waits for it."""

    def __init__(self, protocol: "Protocol", verbs: Verbs, verb: Verb) -> None:
        self._protocol = protocol
        self._verbs = verbs
        self._verb = verb
        self._started = time.perf_counter()
        self.disconnected = False
        self.keep_alive = True
        self.response_started = False
        self.response_complete = False

    def answer(self, done: "asyncio.Future[Any]") -> None:
        self.send(self._verbs.reply(self._verb, done))

    def send(self, reply: Reply) -> None:
        self._verbs.count(self._verb, reply, self._started)
        self.response_started = self.response_complete = True
        if not self.disconnected:
            self._protocol.answer(reply, self.keep_alive)


class Opening:
    """The status line and the server's own headers, joined once per date that they carry."""

    def __init__(self) -> None:
        self._headers: list[tuple[bytes, bytes]] = []
        self._made: dict[int, bytes] = {}

    def of(self, status: int, headers: list[tuple[bytes, bytes]]) -> bytes:
        if headers is not self._headers:
            self._headers, self._made = headers, {}
        made = self._made.get(status)
        if made is None:
            lines = [b"%s: %s\r\n" % header for header in headers]
            made = self._made[status] = b"".join((STATUS_LINE[status], *lines))
        return made


opening: Final = Opening()
