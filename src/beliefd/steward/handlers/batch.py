"""Handler of many verbs in one request: one JSON object per line in, one answer per line out, in order."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator
from io import BytesIO
from itertools import islice
from typing import Any, Final

import msgspec

from beliefd.kernel.commands import Command
from beliefd.kernel.errors import BeliefdError, invalid
from beliefd.protocol.wire import bind, convert, parse_object
from beliefd.steward.call import Call
from beliefd.steward.handlers.beliefs import VERBS, answer_to
from beliefd.steward.offload import offload
from beliefd.steward.write.positions import existing_head
from beliefd.steward.write.submitting import Submit
from beliefd.steward.write.turn import Outcome
from beliefd.stores.base import Store

KINDS: Final = {str(one.body.__struct_config__.tag): one.body for one in VERBS.values()}
WINDOW: Final = 512
"""So many lines are submitted before the first of them is answered: they share their commits."""
PARSE_IN_THREAD: Final = 256 * 1024
CHUNK: Final = 64 * 1024

_Queued = BeliefdError | Awaitable[Outcome]


class BatchHandlers:
    """Many verbs, decided in order."""

    def __init__(self, store: Store, submit: Submit) -> None:
        self._store = store
        self._submit = submit

    async def batch(self, call: Call) -> AsyncGenerator[bytes, None]:
        """Decide the lines in order and answer them in order, many per chunk.

        A line that cannot be read answers with its error; the others are not held up by it. If the caller
        goes away, the lines that were submitted are carried out and the rest is not: always a prefix.
        """
        session_id = call.session_id
        await existing_head(self._store, session_id)
        for window in _windows(call.body):
            large = sum(len(line) for _, line in window) > PARSE_IN_THREAD
            commands = await offload(large, _read, window, session_id)
            queued: list[_Queued] = [
                one if isinstance(one, BeliefdError) else self._submit(session_id, one, call.principal)
                for one in commands
            ]
            try:
                async for chunk in _answers(queued):
                    yield chunk
            finally:
                _forget(queued)


def _windows(body: bytes) -> Iterator[list[tuple[int, bytes]]]:
    """The lines that say something, with their numbers, so many at a time."""
    numbered = ((number, line) for number, line in enumerate(BytesIO(body), 1) if line.strip())
    while window := list(islice(numbered, WINDOW)):
        yield window


def _read(window: list[tuple[int, bytes]], session_id: str) -> list[Command | BeliefdError]:
    read: list[Command | BeliefdError] = []
    for number, line in window:
        try:
            read.append(_command(line, session_id))
        except BeliefdError as error:
            read.append(BeliefdError(error.code, error.message, {**(error.details or {}), "line": number}))
    return read


def _command(line: bytes, session_id: str) -> Command:
    value = parse_object(line)
    verb = value.get("verb")
    kind = KINDS.get(verb) if isinstance(verb, str) else None
    if kind is None:
        known = ", ".join(f"`{name}`" for name in KINDS)
        raise invalid(f"a line needs `verb`, one of {known}", "$.verb")
    command: Command = convert(bind(value, {"session_id": session_id}), kind)
    return command


async def _answers(queued: list[_Queued]) -> AsyncIterator[bytes]:
    chunk = bytearray()
    for item in queued:
        chunk += msgspec.json.encode(await _answer(item)) + b"\n"
        if len(chunk) > CHUNK:
            yield bytes(chunk)
            chunk.clear()
    yield bytes(chunk)


async def _answer(item: _Queued) -> Any:
    if isinstance(item, BeliefdError):
        return item.body
    try:
        return answer_to(await item)
    except BeliefdError as error:
        return error.body


def _forget(queued: list[_Queued]) -> None:
    """Nobody is left to hear these answers; without this, asyncio would complain about each."""
    for item in queued:
        if isinstance(item, asyncio.Future):
            item.add_done_callback(lambda done: done.cancelled() or done.exception())
