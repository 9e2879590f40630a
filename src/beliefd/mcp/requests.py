"""Our own requests to an upstream, beside those of the SDK, which hears nothing of them; here, on its pipe.

Calls of tools go this way: the SDK's takes several tasks and four validations for each.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, REQUEST_TIMEOUT, JSONRPCMessage, JSONRPCRequest
from msgspec import Struct

from beliefd import tracing
from beliefd.mcp.frames import CALL, CANCELLED, PROGRESS, UNREADABLE, Frame, Told, write_line, written

log = logging.getLogger("beliefd.mcp")
FIRST: Final = 1_000_000_000
"""Our ids begin here: the SDK counts its own from one."""
UNDER: Final = "progressToken"
TIMED_OUT: Final = "it has timed out"
ABANDONED: Final = "the caller cancelled it"


class _Error(Struct, frozen=True):
    code: int
    message: str
    data: Any = None


class _Asked(Struct, frozen=True):
    """A request that waits for its answer."""

    answer: asyncio.Future[Any]
    progress: ProgressFnT | None


class Requests:
    """The requests to one upstream that wait for their answers."""

    def __init__(self) -> None:
        self._asked: dict[int, _Asked] = {}
        self._numbers = itertools.count(FIRST)
        self._pipe: asyncio.StreamWriter | None = None
        self._envelope: dict[str, Any] = {}
        self._telling: set[asyncio.Future[None]] = set()

    def open(self, pipe: asyncio.StreamWriter) -> None:
        self._pipe = pipe

    def close(self) -> None:
        """INVARIANT: who waits learns that no answer will come."""
        self._pipe = None
        for asked in self._asked.values():
            if not asked.answer.done():
                asked.answer.set_exception(closed())

    def learn(self, message: JSONRPCMessage) -> None:
        """What the SDK says of us with every request: the newer revisions want it with each."""
        if isinstance(message, JSONRPCRequest) and message.params is not None:
            told = message.params.get("_meta") or {}
            self._envelope = {name: one for name, one in told.items() if name not in (UNDER, *tracing.NAMES)}

    async def call(
        self, name: str, arguments: dict[str, Any], seconds: float, progress: ProgressFnT | None
    ) -> Any:
        """INVARIANT: one message goes out. If nobody waits for its answer any more, that is told."""
        if self._pipe is None:
            raise closed()
        with self.waiting(progress) as (number, answer):
            params = {"name": name, "arguments": arguments}
            if meta := {**self._envelope, **meta_of(number, progress)}:
                params["_meta"] = meta
            try:
                write_line(self._pipe, written(id=number, method=CALL, params=params))
                async with asyncio.timeout(seconds):
                    await self._pipe.drain()
                    return await answer
            except TimeoutError:
                self._cancel(number, TIMED_OUT)
                raise timed_out(seconds) from None
            except OSError:
                raise closed() from None
            except asyncio.CancelledError:
                self._cancel(number, ABANDONED)
                raise

    @contextmanager
    def waiting(self, progress: ProgressFnT | None) -> "Iterator[tuple[int, asyncio.Future[Any]]]":
        """A request that waits inside: its id, and what becomes of it once `takes` has its answer."""
        number = next(self._numbers)
        asked = self._asked[number] = _Asked(asyncio.get_running_loop().create_future(), progress)
        try:
            yield number, asked.answer
        finally:
            del self._asked[number]

    def _cancel(self, number: int, reason: str) -> None:
        if self._pipe is not None:
            write_line(self._pipe, written(method=CANCELLED, params={"requestId": number, "reason": reason}))

    def takes(self, frame: Frame, allows: Callable[[], bool]) -> bool:
        """Is this message about a request of ours? Then whoever made it is told."""
        if frame.method == PROGRESS:
            return self._hears(frame, allows)
        if frame.method or not isinstance(frame.id, int) or frame.id < FIRST:
            return False
        asked = self._asked.get(frame.id)
        if asked is not None and not asked.answer.done():
            _settle(asked.answer, frame)
        return True  # an answer that comes too late is nobody else's

    def _hears(self, frame: Frame, allows: Callable[[], bool]) -> bool:
        try:
            told = msgspec.json.decode(frame.params, type=Told)
        except UNREADABLE:
            return False
        asked = self._asked.get(told.progress_token) if isinstance(told.progress_token, int) else None
        if asked is None or asked.progress is None:
            return False
        if allows():
            telling = asyncio.ensure_future(_tell(asked.progress, told))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)
        return True


async def _tell(progress: ProgressFnT, told: Told) -> None:
    try:
        await progress(told.progress, told.total, told.message)
    except Exception as error:
        log.info("progress was not passed on: %s", error)


def _settle(answer: "asyncio.Future[Any]", frame: Frame) -> None:
    try:
        answer.set_result(result_in(frame))
    except MCPError as error:
        answer.set_exception(error)


def result_in(frame: Frame) -> Any:
    """The result that an answer holds; raises the error that it is instead."""
    try:
        if not bytes(frame.error):
            return msgspec.json.decode(frame.result)
        told = msgspec.json.decode(frame.error, type=_Error)
    except UNREADABLE:
        raise MCPError(INTERNAL_ERROR, "its answer is no result") from None
    raise MCPError(told.code, told.message, told.data)


def meta_of(number: int, progress: ProgressFnT | None) -> dict[str, Any]:
    """What we say in the `_meta` of a request: what it belongs to, and whether progress is wanted."""
    return {**tracing.outgoing(), **({} if progress is None else {UNDER: number})}


def closed() -> MCPError:
    return MCPError(CONNECTION_CLOSED, "Connection closed")


def timed_out(seconds: float) -> MCPError:
    return MCPError(REQUEST_TIMEOUT, f"the request timed out after {seconds:g} seconds")
