"""Principals and their tokens. A token is shown once; only its SHA-256 is kept."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from typing import Final

from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.values import DEFAULT_SPACE, MAX_ID_LENGTH, Principal, Role, Tier
from beliefd.protocol.rights import EVERYTHING, EVERYWHERE, Rights, rights_of, spaces_text
from beliefd.steward.call import Caller
from beliefd.steward.directory import Directory, caller_of
from beliefd.steward.environment import now
from beliefd.stores.base import Store, Token

LOCAL_AGENT: Final = Principal(id="agent://local", role=Role.AGENT, tier=Tier.PRIVILEGE.name)
LOCAL_OPERATOR: Final = Principal(id="operator://local", role=Role.ADMIN, tier=Tier.PRIVILEGE.name)

LOCAL: Final = Caller(LOCAL_AGENT, EVERYTHING)
"""Whoever asks a server that knows no tokens."""


async def create_token(
    store: Store,
    name: str,
    role: Role,
    tier: Tier | None = None,
    owner: str | None = None,
    spaces: Iterable[str] = (),
) -> str:
    """Store a new credential and return its secret, `bd_<id>_<random>`.

    `spaces` say what it may where, as in `research=read,propose`; without any, it may what its role may.
    """
    for text, path in ((name, "name"), (owner if owner is not None else name, "owner")):
        if not text or not text.isprintable() or len(text) > MAX_ID_LENGTH // 2:
            raise invalid(f"a token's {path} is a short line of printable text", path)
    if tier is None:
        tier = Tier.PRIVILEGE if role is Role.ADMIN else Tier.WRITE_LIMITED
    may = spaces_text(role, spaces)
    await _need_spaces(store, rights_of(role, may))
    token_id = secrets.token_hex(6)
    secret = f"bd_{token_id}_{secrets.token_urlsafe(32)}"
    token = Token(token_id, name, role.value, tier.name, _hash(secret), now(), owner=owner or "", spaces=may)
    await store.add_token(token)
    return secret


async def _need_spaces(store: Store, rights: Rights) -> None:
    known = {EVERYWHERE, DEFAULT_SPACE, *(row.name for row in await store.spaces())}
    if unknown := sorted(rights.by_space.keys() - known):
        raise invalid(f"no space `{unknown[0]}`; `beliefd space create {unknown[0]}` makes it", "spaces")


class Authenticator:
    """Turns an Authorization header into a caller."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def is_open(self) -> bool:
        """Is it known, without asking the store, that no token was ever made?"""
        return not self._directory.tokens and not self._directory.is_stale()

    async def configured(self) -> bool:
        """Has any token ever been made? From then on, nobody is let in without one."""
        await self._directory.refresh()
        return bool(self._directory.tokens)

    async def authenticate(self, header: str | None) -> Caller:
        if header is None:
            if await self.configured():
                raise _unauthorized("this server needs `Authorization: Bearer <token>`")
            return LOCAL
        await self._directory.refresh(force=_token_id(header) not in self._directory.tokens)
        return self._caller(header)

    def recognised(self, header: str) -> Caller | None:
        """The same without asking the store, as long as what was read of it is fresh."""
        if self._directory.is_stale() or _token_id(header) not in self._directory.tokens:
            return None
        return self._caller(header)

    def _caller(self, header: str) -> Caller:
        scheme, _, secret = header.partition(" ")
        token = self._directory.tokens.get(_token_id(header))
        # Compare even when there is nothing to compare with: the time taken tells nothing.
        known = hmac.compare_digest(_hash(secret.strip()), token.secret_hash if token else _hash(""))
        if scheme.lower() != "bearer" or token is None or not known or token.revoked_at is not None:
            raise _unauthorized("the token is not known here or has been revoked")
        return caller_of(token)


def _token_id(header: str) -> str:
    return token_id_of(header.partition(" ")[2].strip())


def token_id_of(secret: str) -> str:
    return secret.split("_", 2)[1] if secret.startswith("bd_") and secret.count("_") >= 2 else ""


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _unauthorized(message: str) -> BeliefdError:
    return BeliefdError(Code.UNAUTHORIZED, message)
