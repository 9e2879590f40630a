"""Which host of an address is connected to: the first that takes writes, whatever the others do.

asyncpg tries the hosts of an address one after the other within one time-out, so that one which takes
connections and never speaks (frozen, or behind a cut cable) uses all of it up. Here they are asked side by
side, and each connection is known by its host: to give one host up costs none of the others.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

import asyncpg

from beliefd.stores.postgres.database import FAILURES

CONNECT_SECONDS: Final = 10.0
HOST_SECONDS: Final = 3.0
"""So long one of several hosts may take to connect; alone, it may take the whole time."""
HEAD_START: Final = 0.3
"""So long the host that was connected last is asked alone: while all is well, no other one is bothered."""
AGAIN_SECONDS: Final = 0.25


def addresses(url: str) -> list[str]:
    """One address per host of the url, in its order."""
    scheme, _, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    user, at, hosts = place.rpartition("@")
    return [f"{scheme}://{user}{at}{host}{slash}{path}" for host in hosts.split(",")]


class Hosts:
    """Connects to the hosts of one address, and knows which connection leads to which."""

    def __init__(self, url: str) -> None:
        self._order = addresses(url)
        self._connected: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

    @property
    def are_several(self) -> bool:
        return len(self._order) > 1

    async def connect(self, **options: Any) -> Any:
        """A connection to the first that gives one and takes writes, or what one of them said."""
        if not self.are_several:
            return await _connection(options, CONNECT_SECONDS, self._order[0])
        if "target_session_attrs" not in self._order[0]:
            options["target_session_attrs"] = "read-write"
        race = _Race(self._order, partial(_connection, options, HOST_SECONDS))
        address, connection = await race.won()
        self._connected[connection] = address
        self._order = sorted(self._order, key=lambda one: one != address)
        return connection

    def abandon(self, silent: Any) -> None:
        """The host of this connection does not speak any more: whoever waits for it is told at once.

        INVARIANT: connections to other hosts stay. By the time that one is given up, others may have found
        the new leader.
        """
        host = self._connected[silent]
        self._order = sorted(self._order, key=lambda one: one == host)
        for connection, address in list(self._connected.items()):
            if address == host:
                connection.terminate()


async def _connection(options: dict[str, Any], seconds: float, address: str) -> Any:
    async with asyncio.timeout(seconds):
        return await asyncpg.connect(address, timeout=CONNECT_SECONDS, **options)


_Found = tuple[str, Any]


class _Race:
    """One question to several hosts, the likeliest first: who gives a connection that takes writes?

    Whoever says no is asked again for as long as another one is silent: a standby may lead by then.
    """

    def __init__(self, order: Sequence[str], connect: Callable[[str], Awaitable[Any]]) -> None:
        self._order = order
        self._connect = connect
        self._unheard = set(order)
        self._refused = asyncio.Event()

    async def won(self) -> _Found:
        """The host and its connection; all that others still give is closed."""
        tasks = {asyncio.ensure_future(self._ask(address)) for address in self._order}
        left, failures = set(tasks), list[BaseException]()
        try:
            while left:
                done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    if (failure := task.exception()) is None:
                        tasks.remove(task)
                        return task.result()
                    failures.append(failure)
        finally:
            for task in tasks:
                task.cancel()
                task.add_done_callback(_let_go)
        # One that answered knows more than those that did not.
        raise next((one for one in failures if not isinstance(one, OSError)), failures[-1])

    async def _ask(self, address: str) -> _Found:
        if address != self._order[0]:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HEAD_START):
                    await self._refused.wait()
        while True:
            try:
                return address, await self._connect(address)
            except FAILURES:
                self._unheard.discard(address)
                self._refused.set()
                if not self._unheard:
                    raise
            await asyncio.sleep(AGAIN_SECONDS)


def _let_go(task: "asyncio.Future[_Found]") -> None:
    if not task.cancelled() and task.exception() is None:
        task.result()[1].terminate()


EVERY_SECONDS: Final = 1.0
PATIENCE_SECONDS: Final = 4.0


class Pulse:
    """Asks the host that is connected, again and again, for a sign of life. Only where there are others: one
    that does not answer is given up, with all that waits for it."""

    def __init__(self, hosts: Hosts, connect: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self._hosts = hosts
        self._connect = connect
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(*FAILURES):  # whoever needs a connection finds out, too
                await self._listen(await self._connect())
            await asyncio.sleep(EVERY_SECONDS)

    async def _listen(self, connection: Any) -> None:
        try:
            while True:
                try:
                    async with asyncio.timeout(PATIENCE_SECONDS):
                        await connection.fetchval("SELECT 1")
                except TimeoutError:
                    self._hosts.abandon(connection)
                    return
                await asyncio.sleep(EVERY_SECONDS)
        finally:
            connection.terminate()
