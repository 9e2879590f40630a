"""Which host of an address is connected to: one that answers, and the one that answered last before others.

asyncpg tries the hosts of an address one after the other within one time-out, so that one which takes
connections and never speaks (frozen, or behind a cut cable) uses all of it up.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, Final
from weakref import WeakSet

import asyncpg

from beliefd.stores.postgres.database import FAILURES

CONNECT_SECONDS: Final = 10.0
HOST_SECONDS: Final = 3.0
"""So long one of several hosts may take to connect; alone, it may take the whole time."""


def addresses(url: str) -> list[str]:
    """One address per host of the url, in its order."""
    scheme, _, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    user, at, hosts = place.rpartition("@")
    return [f"{scheme}://{user}{at}{host}{slash}{path}" for host in hosts.split(",")]


class Hosts:
    """Connects to the hosts of one address, and knows what is connected."""

    def __init__(self, url: str) -> None:
        self._order = addresses(url)
        self.connections: WeakSet[Any] = WeakSet()

    @property
    def are_several(self) -> bool:
        return len(self._order) > 1

    async def connect(self, **options: Any) -> Any:
        """A connection to the first that gives one and takes writes, or what the last said."""
        failure: BaseException = TimeoutError()
        if self.are_several and "target_session_attrs" not in self._order[0]:
            options["target_session_attrs"] = "read-write"
        for address in list(self._order):
            try:
                async with asyncio.timeout(HOST_SECONDS if self.are_several else CONNECT_SECONDS):
                    connection = await asyncpg.connect(address, timeout=CONNECT_SECONDS, **options)
            except FAILURES as error:
                failure = error
                self._put_last(address)
            else:
                self.connections.add(connection)
                return connection
        raise failure

    def abandon(self) -> None:
        """The host that is connected does not speak any more: whoever waits for it is told at once."""
        self._put_last(self._order[0])
        for connection in list(self.connections):
            connection.terminate()

    def _put_last(self, address: str) -> None:
        self._order.remove(address)
        self._order.append(address)


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
                    self._hosts.abandon()
                    return
                await asyncio.sleep(EVERY_SECONDS)
        finally:
            connection.terminate()
