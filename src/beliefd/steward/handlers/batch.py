"""Many verbs in one request: one JSON object a line in, one answer a line out, in order."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator
from io import BytesIO
from itertools import islice
from typing import Any, Final

import msgspec

from beliefd.kernel.commands import Command
from beliefd.kernel.errors import BeliefdError, invalid
from beliefd.protocol.operations import BY_NAME
from beliefd.protocol.wire import bind, convert, parse_object
from beliefd.steward.dispatch import Call, answer_to
from beliefd.steward.write.positions import session_not_found
from beliefd.steward.write.steward import Outcome, Steward

VERBS: Final[dict[str, type]] = {
    str(kind.__struct_config__.tag): kind
    for kind in (
        BY_NAME[name].body
        for name in (
            "eliminate",
            "enter_obligation",
            "request_exit",
            "declare_conclusion",
            "request_termination",
        )
    )
}


WINDOW: Final = 512
"""So many lines are submitted before the first of them is answered: they share their commits."""
PARSE_IN_THREAD: Final = 256 * 1024
CHUNK: Final = 64 * 1024

_Waiting = BeliefdError | Awaitable[Outcome]


async def run_batch(steward: Steward, call: Call) -> AsyncGenerator[bytes, None]:
    """Decide the lines in order and answer them in order, many to a chunk.

    A line that cannot be read answers with its error; the others are not held up by it. If the caller goes
    away, the lines that were submitted are carried out and the rest is not: always a prefix.
    """
    if await steward.store.head(call.session_id) is None:
        raise session_not_found(call.session_id)
    for window in _windows(call.body):
        large = sum(len(line) for _, line in window) > PARSE_IN_THREAD
        commands = (
            await asyncio.to_thread(_read, window, call.session_id)
            if large
            else _read(window, call.session_id)
        )
        waiting = [_submit(steward, call, command) for command in commands]
        try:
            async for chunk in _answers(waiting):
                yield chunk
        finally:
            _forget(waiting)


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
    kind = VERBS.get(verb) if isinstance(verb, str) else None
    if kind is None:
        known = ", ".join(f"`{name}`" for name in VERBS)
        raise invalid(f"a line needs `verb`, one of {known}", "$.verb")
    command: Command = convert(bind(value, {"session_id": session_id}), kind)
    return command


def _submit(steward: Steward, call: Call, command: Command | BeliefdError) -> _Waiting:
    if isinstance(command, BeliefdError):
        return command
    return steward.submit(call.session_id, command, call.principal)


async def _answers(waiting: list[_Waiting]) -> AsyncIterator[bytes]:
    chunk = bytearray()
    for item in waiting:
        chunk += msgspec.json.encode(await _answer(item)) + b"\n"
        if len(chunk) > CHUNK:
            yield bytes(chunk)
            chunk.clear()
    yield bytes(chunk)


async def _answer(item: _Waiting) -> Any:
    if isinstance(item, BeliefdError):
        return item.body
    try:
        return answer_to(await item)
    except BeliefdError as error:
        return error.body


def _forget(waiting: list[_Waiting]) -> None:
    """Nobody is left to hear these answers; without this, asyncio would complain about each."""
    for item in waiting:
        if isinstance(item, asyncio.Future):
            item.add_done_callback(lambda done: done.cancelled() or done.exception())
