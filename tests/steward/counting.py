"""A store that counts the entries that it hands out."""

from collections.abc import Callable

from beliefd.ledger.envelope import Sealed
from beliefd.stores.base import Store


class Counting:
    """A store that counts what it hands out."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.read = 0

    async def entries(
        self, session_id: str, after: int = 0, limit: int | None = None, max_bytes: int | None = None
    ) -> list[Sealed]:
        found = await self._store.entries(session_id, after, limit, max_bytes)
        self.read += len(found)
        return found

    async def replay(
        self, session_id: str, after: int, upto: int, take: Callable[[list[bytes]], None]
    ) -> None:
        self.read += max(upto - after, 0)
        await self._store.replay(session_id, after, upto, take)

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)
