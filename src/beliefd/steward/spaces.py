"""In which space a session is, and which spaces there are."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from msgspec.structs import replace

from beliefd.kernel.system.state import System
from beliefd.kernel.values import DEFAULT_SPACE
from beliefd.stores.base import SpaceRow, Store

MOST_SESSIONS: Final = 100_000
"""So many sessions are remembered with their space; then they are asked for again."""


def made_spaces(rows: Iterable[SpaceRow], system: System | None) -> list[SpaceRow]:
    """INVARIANT: a space is there because an event made it, and whose it is, the event says. Only a store
    without a ledger of its own goes by its rows."""
    if system is None:
        return list(rows)
    return [replace(row, created_by=system.spaces[row.name]) for row in rows if row.name in system.spaces]


class Spaces:
    """In which space a session is. It never changes, so whoever asked once knows."""

    def __init__(self, store: Store, system: Callable[[], Awaitable[System | None]]) -> None:
        self._store = store
        self._system = system
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
        if name == DEFAULT_SPACE:
            return True
        return any(row.name == name for row in made_spaces(await self._store.spaces(), await self._system()))
