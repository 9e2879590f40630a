"""The change feed between processes: LISTEN and NOTIFY on one connection of its own, past any pooler.

NOTIFY takes a lock that all committing notifiers share, so appends never send it themselves: they leave their
session id here after their commit, and one task sends what has gathered over a few milliseconds.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from beliefd.stores.listeners import Listeners
from beliefd.stores.postgres.database import FAILURES

CHANNEL: Final = "beliefd_grown"
GATHER_SECONDS: Final = 0.005
LAST_WORDS_SECONDS: Final = 2.0
RETRY_SECONDS: Final = (0.05, 5.0)
MAX_PAYLOAD: Final = 7_999
ANYTHING: Final = ""


class Feed:
    """Tells `listeners` what other processes appended, and other processes what this one appended."""

    def __init__(
        self, connect: Callable[[], Awaitable[Any]], listeners: Listeners, *, listens: bool = True
    ) -> None:
        self._connect = connect
        self._listens = listens
        """A pooler takes LISTEN from one client and hands what is heard to another: through it, only tell."""
        self._listeners = listeners
        self._grown: set[str] = set()
        self._wake = asyncio.Event()
        self._said = asyncio.Event()
        self._said.set()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def grown(self, session_id: str) -> None:
        """Say that a session grew here, after its commit."""
        self._listeners.tell(session_id)
        self._grown.add(session_id)
        self._said.clear()
        self._wake.set()

    async def close(self) -> None:
        """Say what is still to be said, if the server listens, and stop."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                await self._said.wait()
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        shortest, longest = RETRY_SECONDS
        pause = shortest
        while True:
            try:
                connection = await self._connect()
                pause = shortest
                await self._serve(connection)
            except FAILURES:
                # Nothing is lost: what gathered stays, and listeners are told to look after reconnecting.
                pass
            await asyncio.sleep(pause)
            pause = min(pause * 2, longest)

    async def _serve(self, connection: Any) -> None:
        try:
            connection.add_termination_listener(lambda _: self._wake.set())
            if self._listens:
                await connection.add_listener(CHANNEL, self._ears(connection.get_server_pid()))
            # Whatever was said before we listened went unheard.
            self._listeners.tell(ANYTHING)
            while not connection.is_closed():
                await self._wake.wait()
                await asyncio.sleep(GATHER_SECONDS)
                await self._send(connection)
        finally:
            connection.terminate()

    async def _send(self, connection: Any) -> None:
        self._wake.clear()
        sending, self._grown = self._grown, set()
        if not sending:
            return
        try:
            await connection.execute("SELECT pg_notify($1, $2)", CHANNEL, payload(sending))
        except BaseException:
            self._grown |= sending
            self._wake.set()
            raise
        if not self._grown:
            self._said.set()

    def _ears(self, own: int) -> Callable[[Any, int, str, str], None]:
        def heard(_connection: Any, sender: int, _channel: str, text: str) -> None:
            if sender == own:
                return  # our own words: the listeners here were told at the commit
            for session_id in session_ids(text):
                self._listeners.tell(session_id)

        return heard


def payload(grown: set[str]) -> str:
    """The ids as JSON, or nothing at all when they do not fit: then anything may have grown."""
    text = json.dumps(sorted(grown))
    return text if len(text) <= MAX_PAYLOAD else ANYTHING


def session_ids(text: str) -> list[str]:
    try:
        return [str(session_id) for session_id in json.loads(text)]
    except (ValueError, TypeError):
        return [ANYTHING]
