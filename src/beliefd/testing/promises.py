"""How a promise of a store becomes a test."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from beliefd.stores.base import Store


def promise(
    check: "Callable[[Any, Store], Coroutine[Any, Any, None]]",
) -> "Callable[[Promises], None]":
    """Make a test of a coroutine that takes an open store; the store is closed afterwards."""

    def test(self: "Promises") -> None:
        async def run() -> None:
            store = await self.open()
            try:
                await check(self, store)
            finally:
                await store.close()

        asyncio.run(run())

    test.__name__, test.__qualname__, test.__doc__ = check.__name__, check.__qualname__, check.__doc__
    return test


class Promises:
    """What all contracts have in common."""

    async def open(self) -> Store:
        """A store; empty when a test begins."""
        raise NotImplementedError("say how to open the store")
