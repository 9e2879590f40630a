"""What is found out before context is taken: is its text kept, and whose session is it."""

from typing import Final

from beliefd.kernel.context.commands import AddContext
from beliefd.kernel.context.findings import ContextFindings
from beliefd.kernel.values import Principal
from beliefd.ledger.envelope import read
from beliefd.steward.owners import owner_form
from beliefd.stores.base import Store
from beliefd.stores.within import Within

MOST_SESSIONS: Final = 100_000
"""So many sessions are remembered with who opened them; then they are looked at again."""


class Openers:
    """Who opened a session. It never changes, so whoever looked once knows."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, Principal] = {}

    async def of(self, session_id: str) -> Principal | None:
        known = self._known.get(session_id)
        if known is None and (first := await self._store.entries(session_id, limit=1)):
            if len(self._known) >= MOST_SESSIONS:
                self._known.clear()
            known = self._known[session_id] = read(first[0].record).actor
        return known

    async def findings(
        self, session_id: str, command: AddContext, who: Principal, within: Within
    ) -> ContextFindings | None:
        """INVARIANT: nobody tells anything in a session whose opener is not known."""
        opener = await self.of(session_id)
        kept = command.content is not None and command.content in await self._store.kept_content(
            {command.content}, within
        )
        if opener is not None and owner_form(opener.person) == owner_form(who.person):
            return None if command.content is None else ContextFindings(kept=kept)
        return ContextFindings(kept=kept, opened_by="nobody" if opener is None else opener.id)
