"""The way to a caller: what one turn of the loop writes leaves together, and slow callers are noticed."""

import asyncio
from typing import Any, Final

CORK: Final = 64 * 1024
"""Bytes that are kept to be sent together."""
LEAST_RATE: Final = 1024
"""Bytes a second that a caller must send of a body, or take of an answer, once it has had its time."""


class Wire:
    """A transport that collects what is written, counts what was taken of it, and can be held.

    uvicorn pauses and resumes reading for the sake of one request. A wire that is held reads nothing more,
    whatever uvicorn resumes.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._kept: list[bytes] = []
        self._size = 0
        self._written = 0
        self._slow_since: tuple[float, int] | None = None
        self._ended = False
        self._paused = False
        self.held = False

    # -- writing ---------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        if not self._kept:
            self._loop.call_soon(self._flush)
        self._kept.append(data)
        self._size += len(data)
        if self._size > CORK:  # past this, the transport itself must see it to slow the writer down
            self._flush()

    def write_now(self, data: bytes) -> None:
        """Write at once: the answer is complete, and nothing more follows that it could be sent with."""
        if self._kept:
            self.write(data)
        else:
            self._send(data)

    def _flush(self) -> None:
        kept, size = self._kept, self._size
        self._kept, self._size = [], 0
        if size > CORK:  # not joined: an answer that many get at once is there once
            for data in kept:
                self._send(data)
        elif kept:
            self._send(b"".join(kept))

    def _send(self, data: bytes) -> None:
        if not (self._ended or self._transport.is_closing()):  # the other side may have closed it since
            self._written += len(data)
            self._transport.write(data)

    def end(self) -> None:
        """Nothing more will be written. What is still read keeps the last words from being lost."""
        self._flush()
        self._ended = True
        if self._transport.can_write_eof() and not self._transport.is_closing():
            self._transport.write_eof()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    @property
    def is_empty(self) -> bool:
        return not self._kept and not self.pending

    @property
    def pending(self) -> int:
        """Bytes that wait here to be taken."""
        waiting: int = self._transport.get_write_buffer_size()
        return waiting

    @property
    def taken(self) -> int:
        return self._written - self.pending

    def is_stuck(self, now: float, patience: float) -> bool:
        """Has the caller taken next to nothing, for so long, of what is there for it?"""
        pending = self.pending
        if not pending:
            self._slow_since = None
            return False
        taken = self._written - pending
        if self._slow_since is None:
            self._slow_since = (now, taken)
        since, then = self._slow_since
        if now - since < patience:
            return False
        self._slow_since = (now, taken)
        return taken - then < LEAST_RATE * (now - since)

    # -- reading ---------------------------------------------------------------------------------------

    def pause_reading(self) -> None:
        self._paused = True
        if not self.held:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._paused = False
        if not self.held:
            self._transport.resume_reading()

    def hold(self) -> None:
        if not self.held:
            self.held = True
            if not self._paused:
                self._transport.pause_reading()

    def release(self) -> None:
        if self.held:
            self.held = False
            if not self._paused:
                self._transport.resume_reading()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
