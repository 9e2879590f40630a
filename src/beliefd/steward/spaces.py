"""In which space a session is, and which spaces there are."""

from typing import Final

from beliefd.kernel.values import DEFAULT_SPACE
from beliefd.stores.base import Store

MOST_SESSIONS: Final = 100_000
"""So many sessions are remembered with their space; then they are asked for again."""


class Spaces:
    """In which space a session is. It never changes, so whoever asked once knows."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, str] = {}

    def known(self, session_id: str) -> str | None:
        return self._known.get(session_id)

    async def of(self, session_id: str) -> str | None:
        """None if there is no such session."""
        space = self._known.get(session_id)
        if space is None and (space := await self._store.space_of(session_id)) is not None:
            self.learn(session_id, space)
        return space

    def learn(self, session_id: str, space: str) -> None:
        if len(self._known) >= MOST_SESSIONS:
            self._known.clear()
        self._known[session_id] = space

    async def only(self, session_id: str) -> tuple[str, ...]:
        """The space of a session, as what a question is about."""
        space = self._known.get(session_id) or await self.of(session_id)
        return () if space is None else (space,)

    async def exists(self, name: str) -> bool:
        return name == DEFAULT_SPACE or any(row.name == name for row in await self._store.spaces())
