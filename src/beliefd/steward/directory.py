"""Who is who as of now: the principals that tokens were made for, and what they still may."""

import time
from collections.abc import Iterable
from typing import Final

from beliefd.kernel.values import Principal, Role, Tier
from beliefd.stores.base import Store, Token

REFRESH_SECONDS: Final = 1.0
_SCHEMES: Final = {Role.APPROVER: "human", Role.ADMIN: "human"}


def principal_of(token: Token) -> Principal:
    """Whoever has no other owner is their own: `human://ann` and `agent://ann` are both Ann's."""
    role = Role(token.role)
    _, separator, name = token.name.rpartition("://")
    principal_id = token.name if separator else f"{_SCHEMES.get(role, role.value)}://{name}"
    return Principal(id=principal_id, role=role, tier=token.tier, owner=token.owner or name or token.name)


class Directory:
    """The tokens of a store. What is known of them is at most a second old."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.tokens: dict[str, Token] = {}
        self._read_at = float("-inf")

    def is_stale(self) -> bool:
        return time.monotonic() - self._read_at > REFRESH_SECONDS

    async def refresh(self, force: bool = False) -> None:
        if force or self.is_stale():
            self.tokens = {token.token_id: token for token in await self._store.tokens()}
            self._read_at = time.monotonic()

    async def standings(self, ids: Iterable[str], *, fresh: bool = True) -> dict[str, Principal | None]:
        """What those may now whom a token was made for: the most that a valid one says, or None if all of
        theirs are revoked. Of others, nothing is known here. What is only shown may be a second old."""
        await self.refresh(force=fresh)
        wanted = set(ids)
        found: dict[str, Principal | None] = {}
        for token in self.tokens.values():
            principal = principal_of(token)
            if principal.id not in wanted:
                continue
            before = found.setdefault(principal.id, None)
            if token.revoked_at is None and (before is None or Tier[before.tier] < Tier[principal.tier]):
                found[principal.id] = principal
        return found
