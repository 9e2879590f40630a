"""An upstream that is a command: its own process group, few variables, bounded messages, ended as a whole."""

import asyncio
import logging
import os
import re
import signal
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from beliefd.mcp.config import BASE_VARIABLES, Limits, Upstream
from beliefd.mcp.frames import Frame, frame_in, write_line
from beliefd.mcp.requests import Requests

log = logging.getLogger("beliefd.mcp")
Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]

CHUNK: Final = 64 * 1024
GRACE_SECONDS: Final = 2.0
POLL_SECONDS: Final = 0.02
LEADER_SECONDS: Final = 0.1
KEPT_ENDS: Final = 256
"""Of a message that is too large, its first and last bytes are kept: its id is in one of them."""
_ID_FIRST: Final = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,')
_ID_LAST: Final = re.compile(rb',\s*"id"\s*:\s*(\d{1,15})\s*\}\s*$')
TOO_LARGE: Final = -32_098
"""The code of the error that stands for an answer that was too large, or was none that can be read."""


def child_environment(names: tuple[str, ...], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """INVARIANT: a child gets what is named and nothing else: the secrets of a shell are not a tool's."""
    return {name: environment[name] for name in (*BASE_VARIABLES, *names) if name in environment}


class Lines:
    """Cuts a stream of bytes into messages of bounded size; what is larger is replaced by an error."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rest = bytearray()
        self._dropped = 0
        self._head = b""

    def fed(self, chunk: bytes) -> Iterator[bytes]:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            self._take(line)
            yield self._finished()
        self._take(rest)

    def _take(self, part: bytes) -> None:
        if self._dropped or len(self._rest) + len(part) > self._most:
            if not self._dropped:
                self._head = bytes((self._rest + part)[:KEPT_ENDS])
            self._dropped += len(self._rest) + len(part) if not self._dropped else len(part)
            self._rest = (self._rest + part)[-KEPT_ENDS:]
            return
        self._rest += part

    def _finished(self) -> bytes:
        line = bytes(self._rest)
        if self._dropped:
            line = self._error_for(line)
        self._rest.clear()
        self._dropped = 0
        return line

    def _error_for(self, tail: bytes) -> bytes:
        """What stands for the message: an error under its id, if one of its ends tells that; else nothing."""
        log.warning("a message of %d bytes was dropped: at most %d are taken", self._dropped, self._most)
        return _error_under(self._head, tail, f"the answer has more than {self._most} bytes")


def _error_under(head: bytes, tail: bytes, words: str) -> bytes:
    found = _ID_FIRST.search(head) or _ID_LAST.search(tail)
    if found is None:
        return b""
    error = b'{"code":%d,"message":"%s"}' % (TOO_LARGE, words.encode())
    return b'{"jsonrpc":"2.0","id":%s,"error":%s}' % (found[1], error)


def instead_of(line: bytes) -> Frame | None:
    """What stands for an answer that is no JSON (`NaN`, half a letter): nobody need wait for a better one."""
    if b'"method"' in line[:KEPT_ENDS]:
        return None
    return frame_in(_error_under(line[:KEPT_ENDS], line[-KEPT_ENDS:], "the answer is no JSON"))


def divert(reader: asyncio.StreamReader, most: int, takes: Callable[[bytes], bool]) -> None:
    """Hand messages to `takes` as they arrive. Whoever reads gets those that it does not take.

    A reader is woken by a task switch; what is ours does not wait for that.
    """
    lines, kept = Lines(most), reader.feed_data

    def feed_data(chunk: bytes) -> None:
        for line in lines.fed(chunk):
            if not takes(line):
                kept(line + b"\n")

    reader.feed_data = feed_data  # type: ignore[method-assign,assignment]


class Budget:
    """So many per second; what comes beyond that is dropped and counted."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._second = 0
        self._used = 0

    def allows(self) -> bool:
        second = int(time.monotonic())
        if second != self._second:
            if self._used > self._per_second:
                log.warning("%d messages of an upstream were dropped", self._used - self._per_second)
            self._second, self._used = second, 0
        self._used += 1
        return self._used <= self._per_second


def parsed(line: bytes, budget: Budget) -> SessionMessage | None:
    """A message; None for what is none, and for notifications and requests beyond the budget."""
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        if line.strip() and budget.allows():
            log.warning("an upstream wrote what is no message: %r", line[:KEPT_ENDS])
        return None
    if isinstance(message, types.JSONRPCNotification | types.JSONRPCRequest) and not budget.allows():
        return None
    return SessionMessage(message)


@asynccontextmanager
async def running(
    upstream: Upstream, limits: Limits, ended: Callable[[], None], requests: Requests
) -> AsyncGenerator[Streams, None]:
    """Start the command and give the streams of its messages; at the end its whole process group is ended.

    `requests` are those of ours that go beside these streams.

    `ended` is called when nothing more will come.
    """
    process = await asyncio.create_subprocess_exec(
        *upstream.command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=child_environment(upstream.environment),
        cwd=upstream.directory,
        start_new_session=True,
    )
    incoming, read = anyio.create_memory_object_stream[Incoming](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    left = asyncio.create_task(_leave_together(process))
    tasks = [
        asyncio.create_task(_read(process, incoming, limits, requests)),
        asyncio.create_task(_write(process, outgoing, incoming, requests)),
    ]
    assert process.stdin is not None  # noqa: S101 - it is a pipe
    requests.open(process.stdin)
    try:
        for task in tasks:
            task.add_done_callback(lambda _: ended())
        yield read, write
    finally:
        requests.close()
        with anyio.CancelScope(shield=True):
            await _end(process, left)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for stream in (incoming, read, write, outgoing):
                stream.close()


async def _read(
    process: asyncio.subprocess.Process,
    incoming: MemoryObjectSendStream[Incoming],
    limits: Limits,
    requests: Requests,
) -> None:
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    lines, budget = Lines(limits.message_bytes), Budget(limits.notifications_per_second)

    def takes(line: bytes) -> bool:
        frame = frame_in(line) or instead_of(line)
        return frame is not None and requests.takes(frame, budget.allows)

    divert(process.stdout, limits.message_bytes, takes)
    async with incoming:
        while chunk := await process.stdout.read(CHUNK):
            for line in lines.fed(chunk):
                message = parsed(line, budget)
                if message is None:
                    continue
                try:
                    await incoming.send(message)
                except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                    return
    requests.close()


async def _write(
    process: asyncio.subprocess.Process,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[Incoming],
    requests: Requests,
) -> None:
    assert process.stdin is not None  # noqa: S101 - it is a pipe
    try:
        async with outgoing:
            async for message in outgoing:
                requests.learn(message.message)
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                write_line(process.stdin, text.encode())
                await process.stdin.drain()
    except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        incoming.close()  # whoever waits for an answer learns that none will come


async def _end(process: asyncio.subprocess.Process, left: "asyncio.Task[None]") -> None:
    """Close its input, give it time to leave, then end what is left of its group."""
    if process.stdin is not None:
        process.stdin.close()
    await asyncio.wait({left}, timeout=GRACE_SECONDS)
    if not left.done():
        await _end_group(process.pid)
        await left
    transport: Any = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()  # who has left the group may still hold the other end of a pipe


async def _leave_together(process: asyncio.subprocess.Process) -> None:
    """INVARIANT: when the leader has left, what it started goes at once: the group is still its own."""
    # `wait` would wait for its pipes too, which whoever it has started may hold.
    while process.returncode is None:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(LEADER_SECONDS)
    await _end_group(process.pid)


async def _end_group(group: int) -> None:
    """Ask them to leave, then make them."""
    if not _signal_group(group, signal.SIGTERM):
        return
    until = time.monotonic() + GRACE_SECONDS
    while _is_alive(group) and time.monotonic() < until:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(POLL_SECONDS)
    _signal_group(group, signal.SIGKILL)


def _signal_group(group: int, number: int) -> bool:
    """Is there still somebody in the group? The leader's pid is its id, also after the leader has gone."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_alive(group: int) -> bool:
    """Does one of the group still run? Where nobody collects orphans, the dead stay in it."""
    if not _signal_group(group, 0):
        return False
    processes = Path("/proc")
    if not (processes / "self" / "stat").exists():
        return True
    return any(_runs_in(group, stat) for stat in processes.glob("[0-9]*/stat"))


def _runs_in(group: int, stat: Path) -> bool:
    try:
        state, _, member_of, *_ = stat.read_text(errors="replace").rpartition(")")[2].split()
    except (OSError, ValueError):
        return False
    return int(member_of) == group and state not in ("Z", "X")
