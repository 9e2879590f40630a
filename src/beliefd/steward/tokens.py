"""Principals and their tokens. A token is shown once; only its SHA-256 is kept."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.system.commands import MakeToken, RevokeToken
from beliefd.kernel.values import DEFAULT_SPACE, MAX_ID_LENGTH, Principal, Role, Tier
from beliefd.protocol.rights import EVERYTHING, EVERYWHERE, Rights, rights_of, spaces_text
from beliefd.steward.call import Caller
from beliefd.steward.directory import (
    LOCAL_AGENT,
    LOCAL_OPERATOR,
    Directory,
    caller_of,
    facts_of,
    principal_of,
)
from beliefd.steward.environment import now
from beliefd.steward.owners import is_id, refuse_disguised, refuse_look_alike, refuse_mixed
from beliefd.steward.signin.verifier import Verifier, is_signed
from beliefd.steward.spaces import made_spaces
from beliefd.steward.write.system import SystemLedger
from beliefd.stores.base import Store, Token

LOCAL: Final = Caller(LOCAL_AGENT, EVERYTHING)
"""Whoever asks a server that knows no tokens."""


async def make_token(  # noqa: PLR0913, PLR0917 - one argument per thing that is said of it
    store: Store,
    system: SystemLedger,
    name: str,
    role: Role,
    tier: Tier | None = None,
    owner: str | None = None,
    spaces: Iterable[str] = (),
    by: Principal = LOCAL_OPERATOR,
) -> str:
    """Record a new credential and return its secret, `bd_<id>_<random>`.

    `spaces` say what it may where, as in `research=read,propose`; without any, it may what its role may.
    """
    for text, path in ((name, "name"), (owner if owner is not None else name, "owner")):
        if not text or not text.isprintable() or len(text) > MAX_ID_LENGTH // 2:
            raise invalid(f"a token's {path} is a short line of printable text", path)
        refuse_disguised(text, path)
        refuse_mixed(text, path)
    if owner not in (None, name) and is_id(owner or ""):
        raise invalid("a token's owner is a name, as in `ana`, and no other's id with `://`", "owner")
    if tier is None:
        tier = Tier.PRIVILEGE if role is Role.ADMIN else Tier.WRITE_LIMITED
    may = spaces_text(role, spaces)
    await _need_spaces(store, system, rights_of(role, may))
    token_id = secrets.token_hex(6)
    secret = f"bd_{token_id}_{secrets.token_urlsafe(32)}"
    row = Token(token_id, name, role.value, tier.name, _hash(secret), now(), owner=owner or "", spaces=may)
    others = (principal_of(one).person for one in await store.tokens())
    refuse_look_alike(principal_of(row).person, others)
    await system.record(MakeToken(token=facts_of(row)), by, row)
    return secret


async def _need_spaces(store: Store, system: SystemLedger, rights: Rights) -> None:
    made = made_spaces(await store.spaces(), await system.state())
    known = {EVERYWHERE, DEFAULT_SPACE, *(row.name for row in made)}
    if unknown := sorted(rights.by_space.keys() - known):
        raise invalid(f"no space `{unknown[0]}`; `beliefd space create {unknown[0]}` makes it", "spaces")


async def end_token(
    store: Store, system: SystemLedger, token_id: str, by: Principal = LOCAL_OPERATOR
) -> bool:
    """Revoke a token; False if there is none that is still valid."""
    rows = {row.token_id: row for row in await store.tokens()}
    row = rows.get(token_id)
    if row is None or row.revoked_at is not None:
        return False
    try:
        gone = replace(row, revoked_at=now())
        await system.record(RevokeToken(token_id=token_id), by, gone)
    except BeliefdError as error:
        if error.code is not Code.NOT_FOUND:
            raise
        # No event made it, so no event can revoke it: it is not honoured, and its row says so from now on.
        return await store.revoke_token(token_id, now())
    return True


class Authenticator:
    """Turns an Authorization header into a caller."""

    def __init__(self, directory: Directory, sign_in: Verifier | None = None) -> None:
        self._directory = directory
        self._sign_in = sign_in

    def is_open(self) -> bool:
        """Is it known, without asking the store, that no token was ever made?"""
        return self._sign_in is None and not self._directory.closed and self._directory.is_fresh()

    async def configured(self) -> bool:
        """Has any token ever been made, or can people sign in? Then nobody is let in without either."""
        if self._sign_in is None and not self._directory.closed:  # neither turns back
            await self._directory.refresh()
        return self._sign_in is not None or self._directory.closed

    async def authenticate(self, header: str | None) -> Caller:
        if header is None:
            if await self.configured():
                raise _unauthorized("this server needs `Authorization: Bearer <token>`")
            return LOCAL
        if self._sign_in is not None and (signed := _signed(header)) is not None:
            return await self._sign_in.caller(signed)
        await self._directory.refresh(force=_token_id(header) not in self._directory.tokens)
        return self._caller(header)

    @property
    def seen(self) -> object:
        """The tokens as they were read last: another object whenever they were read again."""
        return self._directory.tokens

    async def refresh(self) -> None:
        """Look at the tokens as they are now."""
        await self._directory.refresh(force=True)

    def recognised(self, header: str) -> Caller | None:
        """The same without asking the store, as long as what was read of it is fresh."""
        if self._sign_in is not None and (signed := _signed(header)) is not None:
            return self._sign_in.recognised(signed)
        if not self._directory.is_fresh() or _token_id(header) not in self._directory.tokens:
            return None
        return self._caller(header)

    def _caller(self, header: str) -> Caller:
        scheme, _, secret = header.partition(" ")
        token = self._directory.tokens.get(_token_id(header))
        # Compare even when there is nothing to compare with: the time taken tells nothing.
        known = hmac.compare_digest(_hash(secret.strip()), token.secret_hash if token else _hash(""))
        if scheme.lower() != "bearer" or token is None or not known or token.revoked_at is not None:
            raise _unauthorized("the token is not known here or has been revoked")
        caller = caller_of(token)
        if self._directory.signs_in(caller.principal.id):
            raise _unauthorized(f"`{caller.principal.id}` signs in; no token of this server speaks for them")
        return caller


def _signed(header: str) -> str | None:
    """The token in a header, if it is one that an identity provider signed."""
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" and is_signed(token) else None


def _token_id(header: str) -> str:
    return token_id_of(header.partition(" ")[2].strip())


def token_id_of(secret: str) -> str:
    return secret.split("_", 2)[1] if secret.startswith("bd_") and secret.count("_") >= 2 else ""


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _unauthorized(message: str) -> BeliefdError:
    return BeliefdError(Code.UNAUTHORIZED, message)
