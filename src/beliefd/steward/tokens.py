"""Principals and their tokens. A token is shown once; only its SHA-256 is kept."""

import hashlib
import hmac
import secrets
from typing import Final

from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.values import MAX_ID_LENGTH, Principal, Role, Tier
from beliefd.steward.directory import Directory, principal_of
from beliefd.steward.environment import now
from beliefd.steward.signin.verifier import Verifier, is_signed
from beliefd.stores.base import Store, Token

LOCAL_AGENT: Final = Principal(id="agent://local", role=Role.AGENT, tier=Tier.PRIVILEGE.name)
LOCAL_OPERATOR: Final = Principal(id="operator://local", role=Role.ADMIN, tier=Tier.PRIVILEGE.name)


async def create_token(
    store: Store, name: str, role: Role, tier: Tier | None = None, owner: str | None = None
) -> str:
    """Store a new credential and return its secret, `bd_<id>_<random>`."""
    for text, path in ((name, "name"), (owner if owner is not None else name, "owner")):
        if not text or not text.isprintable() or len(text) > MAX_ID_LENGTH // 2:
            raise invalid(f"a token's {path} is a short line of printable text", path)
    if tier is None:
        tier = Tier.PRIVILEGE if role is Role.ADMIN else Tier.WRITE_LIMITED
    token_id = secrets.token_hex(6)
    secret = f"bd_{token_id}_{secrets.token_urlsafe(32)}"
    token = Token(token_id, name, role.value, tier.name, _hash(secret), now(), owner=owner or "")
    await store.add_token(token)
    return secret


class Authenticator:
    """Turns an Authorization header into a principal."""

    def __init__(self, directory: Directory, sign_in: Verifier | None = None) -> None:
        self._directory = directory
        self._sign_in = sign_in

    def is_open(self) -> bool:
        """Is it known, without asking the store, that no token was ever made?"""
        return self._sign_in is None and not self._directory.tokens and not self._directory.is_stale()

    async def configured(self) -> bool:
        """Has any token ever been made, or can people sign in? Then nobody is let in without either."""
        await self._directory.refresh()
        return self._sign_in is not None or bool(self._directory.tokens)

    async def authenticate(self, header: str | None) -> Principal:
        if header is None:
            if await self.configured():
                raise _unauthorized("this server needs `Authorization: Bearer <token>`")
            return LOCAL_AGENT
        if self._sign_in is not None and (signed := _signed(header)) is not None:
            return await self._sign_in.principal(signed)
        await self._directory.refresh(force=_token_id(header) not in self._directory.tokens)
        return self._principal(header)

    async def refresh(self) -> None:
        """Look at the tokens as they are now."""
        await self._directory.refresh(force=True)

    def recognised(self, header: str) -> Principal | None:
        """The same without asking the store, as long as what was read of it is fresh."""
        if self._sign_in is not None and (signed := _signed(header)) is not None:
            return self._sign_in.recognised(signed)
        if self._directory.is_stale() or _token_id(header) not in self._directory.tokens:
            return None
        return self._principal(header)

    def _principal(self, header: str) -> Principal:
        scheme, _, secret = header.partition(" ")
        token = self._directory.tokens.get(_token_id(header))
        # Compare even when there is nothing to compare with: the time taken tells nothing.
        known = hmac.compare_digest(_hash(secret.strip()), token.secret_hash if token else _hash(""))
        if scheme.lower() != "bearer" or token is None or not known or token.revoked_at is not None:
            raise _unauthorized("the token is not known here or has been revoked")
        principal = principal_of(token)
        if self._sign_in is not None and self._sign_in.claims_id(principal.id):
            raise _unauthorized(f"`{principal.id}` signs in; no token of this server speaks for them")
        return principal


def _signed(header: str) -> str | None:
    """The token in a header, if it is one that an identity provider signed."""
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" and is_signed(token) else None


def _token_id(header: str) -> str:
    secret = header.partition(" ")[2].strip()
    return secret.split("_", 2)[1] if secret.startswith("bd_") and secret.count("_") >= 2 else ""


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _unauthorized(message: str) -> BeliefdError:
    return BeliefdError(Code.UNAUTHORIZED, message)
