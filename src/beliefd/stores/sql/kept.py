"""Which content is kept: all who ask in one pass of the event loop are answered with one question."""

import asyncio
from collections.abc import Awaitable, Callable, Collection

from beliefd.stores.within import Within

Waiting = list[tuple[set[str], "asyncio.Future[set[str] | None]"]]
"""The names that each one asks about, and where it waits for those that are kept."""
Ask = Callable[[Collection[str], Within], Awaitable[set[str]]]


class AskedTogether:
    """Gathers names by the spaces in which they are looked for. `ask` puts the question to the database."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._waiting: dict[frozenset[str] | None, Waiting] = {}

    async def among(self, hashes: Collection[str], within: Within) -> set[str]:
        """Those under which content is kept, looked up after they were asked for."""
        names, spaces = set(hashes), None if within is None else frozenset(within)
        if (waiting := self._waiting.get(spaces)) is None:
            return await self._asked(names, spaces)
        answer: asyncio.Future[set[str] | None] = asyncio.get_running_loop().create_future()
        waiting.append((names, answer))
        kept = await answer
        # What went wrong is not shared: each one asks for itself, and has an error of its own.
        return await self._ask(names, spaces) if kept is None else kept

    async def _asked(self, names: set[str], spaces: frozenset[str] | None) -> set[str]:
        """Who comes first asks for those as well who come before the event loop is back here."""
        waiting: Waiting = []
        self._waiting[spaces] = waiting
        kept: set[str] | None = None
        try:
            await asyncio.sleep(0)
            del self._waiting[spaces]
            kept = await self._ask(names.union(*[others for others, _ in waiting]), spaces)
            return names & kept
        finally:
            if self._waiting.get(spaces) is waiting:
                del self._waiting[spaces]
            for others, answer in waiting:
                if not answer.done():
                    answer.set_result(None if kept is None else others & kept)
