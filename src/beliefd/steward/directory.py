"""Who is who as of now: the principals that tokens were made for, and what they still may.

A row of the store is honoured if an event of the server's own ledger made it, and as far as that says:
whoever writes to the table alone makes no token, changes none and brings none back.
"""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final, Literal

from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.system.state import KnownToken, System, TokenFacts
from beliefd.kernel.values import Principal, Role, Tier
from beliefd.protocol.rights import Right, Rights, rights_of
from beliefd.steward.call import Caller
from beliefd.steward.owners import owner_form
from beliefd.steward.signin.settings import id_prefix
from beliefd.steward.signin.verifier import Verifier
from beliefd.stores.base import Store, Token

LOCAL_AGENT: Final = Principal(id="agent://local", role=Role.AGENT, tier=Tier.PRIVILEGE.name)
LOCAL_OPERATOR: Final = Principal(id="operator://local", role=Role.ADMIN, tier=Tier.PRIVILEGE.name)
"""Whoever starts the server and opens its store: what the files beside it say is theirs."""
REFRESH_SECONDS: Final = 1.0
AHEAD_SECONDS: Final = 0.5
"""What is asked for at this age is read again beside whoever asks: else all who ask at once would wait."""
ISSUER: Final = "sign-in/"
"""Before the names of identity providers, among the keys that the server's own ledger names."""
_SCHEMES: Final = {Role.APPROVER: "human", Role.ADMIN: "human"}


def principal_of(token: Token) -> Principal:
    """Whoever has no other owner is their own: `human://ann` and `agent://ann` are both Ann's."""
    role = Role(token.role)
    _, separator, name = token.name.rpartition("://")
    principal_id = token.name if separator else f"{_SCHEMES.get(role, role.value)}://{name}"
    owner = owner_form(token.owner or name or token.name)
    return Principal(id=principal_id, role=role, tier=token.tier, owner=owner)


def facts_of(row: Token) -> TokenFacts:
    """What the server's own ledger says of a token."""
    return TokenFacts(
        token_id=row.token_id,
        name=row.name,
        role=Role(row.role),
        tier=row.tier,
        fingerprint=hashlib.sha256(row.secret_hash.encode()).hexdigest(),
        owner=row.owner or UNSET,
        spaces=row.spaces or UNSET,
    )


def caller_of(token: Token) -> Caller:
    return Caller(principal_of(token), rights_of(Role(token.role), token.spaces))


class TokenDifference(Struct, frozen=True):
    """A token that is otherwise in the store than the server's own ledger says."""

    token_id: str
    problem: Literal["planted", "changed", "revived", "missing"]

    @property
    def words(self) -> str:
        return f"token `{self.token_id}` {_WORDS[self.problem]}"


_WORDS: Final = {
    "planted": "was made by no event: it is not honoured",
    "changed": "is not what its event made: it is not honoured",
    "revived": "is revoked, but its row says otherwise: it is not honoured",
    "missing": "was made by an event, and its row is gone",
}


def token_differences(rows: Iterable[Token], system: System) -> list[TokenDifference]:
    by_id = {row.token_id: row for row in rows}
    found = []
    for token_id in sorted(by_id.keys() | set(system.tokens)):
        problem = _problem(by_id.get(token_id), system.tokens.get(token_id))
        if problem is not None:
            found.append(TokenDifference(token_id, problem))
    return found


def _problem(
    row: Token | None, known: KnownToken | None
) -> Literal["planted", "changed", "revived", "missing"] | None:
    if row is None:
        return "missing"
    if known is None:
        return "planted"
    if not _is_made_by(row, known):
        return "changed"
    return "revived" if known.revoked_at is not None and row.revoked_at is None else None


def _is_made_by(row: Token, known: KnownToken) -> bool:
    try:
        return facts_of(row) == known.token
    except ValueError:  # a role that there is not
        return False


def honoured(rows: Iterable[Token], system: System) -> dict[str, Token]:
    """INVARIANT: a token is what its event says, and revoked if either the event or the row says so."""
    found: dict[str, Token] = {}
    for row in rows:
        known = system.tokens.get(row.token_id)
        if known is not None and _is_made_by(row, known):
            found[row.token_id] = replace(row, revoked_at=row.revoked_at or known.revoked_at)
    return found


class Directory:
    """The tokens of a store. What is known of them is at most a second old.

    `closed` says that nobody is let in without one. INVARIANT: it never turns back to False: neither an
    emptied table nor another store under a running server opens it.
    """

    def __init__(
        self,
        store: Store,
        system: Callable[[], Awaitable[System | None]],
        sign_in: Verifier | None = None,
    ) -> None:
        self._store = store
        self._system = system
        self._sign_in = sign_in
        self.tokens: dict[str, Token] = {}
        self.closed = False
        self._revoked: dict[str, str] = {}
        self._unclaimed: list[Token] = []
        self._issued: frozenset[str] = frozenset()
        self._read_at = float("-inf")
        self._ahead: asyncio.Task[None] | None = None

    def is_stale(self) -> bool:
        return time.monotonic() - self._read_at > REFRESH_SECONDS

    def is_fresh(self) -> bool:
        """Can it be relied upon right now? If it soon cannot, it is read again meanwhile."""
        age = time.monotonic() - self._read_at
        if AHEAD_SECONDS < age <= REFRESH_SECONDS and (self._ahead is None or self._ahead.done()):
            self._ahead = asyncio.get_running_loop().create_task(self._refresh_ahead())
        return age <= REFRESH_SECONDS

    async def _refresh_ahead(self) -> None:
        with suppress(Exception):  # whoever asks when it is stale is told
            await self.refresh(force=True)

    async def refresh(self, force: bool = False) -> None:
        if force or self.is_stale():
            rows = await self._store.tokens()
            system = await self._system()
            self.closed = self.closed or bool(rows) or (system is not None and bool(system.tokens))
            # Without a ledger nothing says who made the rows that are there: a server begins one for them,
            # and lets nobody in by them before.
            self.tokens = {} if system is None else self._still_revoked(honoured(rows, system))
            self._unclaimed = rows if system is None else []
            self._issued = issued_prefixes(system)
            self._read_at = time.monotonic()

    def _still_revoked(self, found: dict[str, Token]) -> dict[str, Token]:
        """INVARIANT: a revocation that was seen stays, also if an earlier store takes this one's place."""
        self._revoked |= {name: row.revoked_at for name, row in found.items() if row.revoked_at is not None}
        return {
            name: replace(row, revoked_at=self._revoked.get(name, row.revoked_at))
            for name, row in found.items()
        }

    async def standings(
        self, asked: Mapping[str, frozenset[Right]], space: str | None, *, fresh: bool = True
    ) -> dict[str, Principal | None]:
        """What those may now whom a token was made for: the most that a valid one says which gives any of the
        rights asked for in this space, or None if none does. Where no right is asked for, each valid one will
        do. Of whoever signs in it is known if they may no more, which is None, too: they are suspended, their
        issuer is not trusted here, or none of its rules gives such a right. Of others nothing is known. What
        is only shown may be a second old."""
        await self.refresh(force=fresh)
        found: dict[str, Principal | None] = {}
        for token in (*self.tokens.values(), *self._unclaimed):
            principal = principal_of(token)
            if principal.id not in asked or self.signs_in(principal.id):
                continue
            before = found.setdefault(principal.id, None)
            held = rights_of(Role(token.role), token.spaces)
            counts = token.revoked_at is None and gives(held, asked[principal.id], space)
            if counts and (before is None or Tier[before.tier] < Tier[principal.tier]):
                found[principal.id] = principal
        gone = (name for name, rights in asked.items() if not self._may_sign_in(name, rights, space))
        return found | dict.fromkeys(gone)

    def signs_in(self, principal_id: str) -> bool:
        """Is it the id of somebody whom an issuer vouches for: one of this process, or of any server on this
        store before? INVARIANT: a token under such an id lets nobody in, and says nothing of who signs in."""
        ours = self._sign_in is not None and self._sign_in.claims_id(principal_id)
        return ours or any(principal_id.startswith(prefix) for prefix in self._issued)

    def _may_sign_in(self, principal_id: str, rights: frozenset[Right], space: str | None) -> bool:
        """INVARIANT: whoever an issuer vouched for counts where that issuer is trusted, and nowhere else."""
        if self._sign_in is None:
            return not self.signs_in(principal_id)
        if self._sign_in.is_suspended(principal_id):
            return False
        if not self.signs_in(principal_id):
            return True
        return any(gives(held, rights, space) for held in self._sign_in.rights_under(principal_id))


def issued_prefixes(system: System | None) -> frozenset[str]:
    """The beginnings of all ids that issuers gave on this store, as its own ledger says."""
    names = () if system is None else system.keys
    return frozenset(id_prefix(name.removeprefix(ISSUER)) for name in names if name.startswith(ISSUER))


def gives(held: Rights, rights: frozenset[Right], space: str | None) -> bool:
    if not rights:
        return True
    return any(held.everywhere(right) if space is None else held.may(right, space) for right in rights)
