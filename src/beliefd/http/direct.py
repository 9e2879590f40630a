"""Verbs, bundles of claims and permits are answered directly: from the parser to the steward, without ASGI.

Only requests that wait for nothing but the steward are answered so: small ones, read completely, of a caller
who is known. All others, and all that may be wrong, go to the application. The answers are the same.
"""

import time
from asyncio import CancelledError, Future
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct

from beliefd import tracing
from beliefd.http.errors import reply_to_failure
from beliefd.http.guard import foreign_origin, known_caller
from beliefd.http.headers import Headers, check_content, notes_in, read_headers
from beliefd.http.replies import Reply
from beliefd.http.routing import decoded
from beliefd.http.surface import Surface
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.scan.guards import HARD_FAILURES
from beliefd.protocol.operations import Operation
from beliefd.protocol.wire import parse_object
from beliefd.steward.call import Call
from beliefd.steward.dispatch import admit, authorise, perform
from beliefd.steward.handlers.short_ways import HANDLED, SHORT_WAYS, ShortWay
from beliefd.steward.offload import asking

MAX_BODY: Final = 16 * 1024
"""A body of this size is parsed faster than a thread is started."""
MAX_PATH: Final = 512
KNOWN_PATHS: Final = 4096


class Verb(Struct, frozen=True):
    """An operation that waits for no more than its session, which its path names.

    Without a `way` of its own, its handler carries it out, in a task.
    """

    operation: Operation
    way: ShortWay | None
    path: dict[str, str]


class Verbs:
    """The verbs of a surface, by path."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self.find: Callable[[bytes], Verb | None] = lru_cache(KNOWN_PATHS)(self._find)

    def _find(self, url: bytes) -> Verb | None:
        """The verb that a POST to a plain path asks for; None leaves the request to the application."""
        if tracing.tracer is not None:
            return None  # the application makes spans
        if len(url) > MAX_PATH or not url.startswith(b"/") or b"?" in url or b"#" in url:
            return None
        found = self._surface.routes.find(url)
        operation = None if found is None else found[0].get("POST")
        if found is None or operation is None or operation.name not in {*SHORT_WAYS, *HANDLED}:
            return None
        try:
            return Verb(operation, SHORT_WAYS.get(operation.name), decoded(found[1]))
        except BeliefdError:
            return None

    def begin(
        self, verb: Verb, raw_headers: Iterable[tuple[bytes, bytes]] | Headers, body: bytes
    ) -> "Future[Any] | Reply | None":
        """Submit the command, or refuse it; None if only the application can answer it. Headers may have been
        read before."""
        surface, operation = self._surface, verb.operation
        if surface.draining.begun or (verb.way is None and HANDLED[operation.name] not in body):
            return None
        way = verb.way
        if way is not None and way.is_longer is not None and way.is_longer(surface.in_force.policy):
            return None
        try:
            headers = raw_headers if isinstance(raw_headers, dict) else read_headers(raw_headers)
            origins = surface.in_force.policy.security.allowed_origins
            caller = known_caller(headers, surface.authenticator, origins)
            if caller is None or "If-Match" in headers:
                return None
            surface.count_request(caller.principal)
            authorise(operation, caller.principal)
            if body:
                check_content(headers, operation.body_media)
            read = None if way is None or way.read is None else way.read(body, caller.principal)
            call = Call(
                principal=caller.principal,
                rights=caller.rights,
                path=verb.path,
                body=parse_object(body) if read is None else read,
                key=headers.get("Idempotency-Key"),
                notes=notes_in(headers),
                origin=foreign_origin(headers),
                size=len(body),
            )
            if not surface.runtime.gate.passes(operation, call):
                return None
            if way is not None:
                return way.begin(surface.submit, admit(operation, call))
            # It is carried out to its end, whoever has left.
            return surface.runtime.background.start(self._carried_out(operation, call))
        except Exception as error:
            # The application records what the firewall stops before there is a command.
            stopped = isinstance(error, BeliefdError) and error.code in HARD_FAILURES
            return None if stopped else reply_to_failure(error)

    async def _carried_out(self, operation: Operation, call: Call) -> Any:
        who = call.principal.id
        with self._surface.metrics.requests.of(who), asking(who):
            return await perform(self._surface.runtime.handlers, operation, call)

    def reply(self, verb: Verb, done: "Future[Any]") -> Reply:
        if done.cancelled():
            return reply_to_failure(CancelledError())
        # It is not raised again: it would hold this frame, and this frame what it came from.
        if isinstance(failed := done.exception(), Exception | CancelledError):
            return reply_to_failure(failed)
        try:
            answer = done.result() if verb.way is None else verb.way.answer(done.result())
            return self._surface.reply_of(verb.operation, answer)
        except Exception as error:
            return reply_to_failure(error)

    def count(self, verb: Verb, reply: Reply, started: float) -> None:
        self._surface.metrics.observe(verb.operation.name, reply.status_code, time.perf_counter() - started)
