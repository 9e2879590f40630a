"""From a signed token to a principal: who it is, by whose word, and in which role."""

import base64
import binascii
import hashlib
import logging
import re
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from beliefd.extras import install
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.values import Id, Principal
from beliefd.protocol.rights import Rights, rights_of, spaces_text
from beliefd.protocol.wire import parse
from beliefd.steward.call import Caller
from beliefd.steward.owners import owner_form
from beliefd.steward.signin.keys import KeySet
from beliefd.steward.signin.settings import Issuer, RoleRule, SignIn, load_sign_in

log = logging.getLogger("beliefd.signin")
MAX_TOKEN: Final = 16 * 1024
REMEMBERED: Final = 1024
LOOK_SECONDS: Final = 0.4
"""How often the file is looked at: with the time until feeds are judged again, that is within a second."""
REQUIRED: Final = ("exp", "iat", "iss", "aud")
_VISIBLE: Final = re.compile("[!-~]{1,200}")


class _Known(Struct, frozen=True):
    """A token that was found good, until when, and with which keys."""

    caller: Caller
    issuer: str
    until: float
    generation: int


class Verifier:
    """Judges tokens by a file of settings, which is read again when it changes."""

    def __init__(self, path: Path) -> None:
        require_library()
        self._path = path
        self._stamp = self._looked_at = float("-inf")
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._complaint = ""
        # Before it is read: what is written meanwhile is read the next time.
        stamp = path.stat().st_mtime if path.exists() else 0.0
        self._adopt(load_sign_in(path), stamp)

    def _adopt(self, settings: SignIn, stamp: float) -> None:
        self._settings = settings
        self._issuers = {one.issuer: (one, KeySet(one)) for one in settings.issuers}
        self._suspended = frozenset(settings.suspended)
        self._stamp, self._complaint = stamp, ""
        self._known.clear()

    def claims_id(self, principal_id: str) -> bool:
        """Is it an id that only an issuer gives? No other credential speaks under it."""
        return any(principal_id.startswith(one.prefix) for one, _ in self._issuers.values())

    def with_pages(self) -> dict[str, Issuer]:
        """The providers by whose own pages people sign in to the console, by their names."""
        self._look()
        return {one.name: one for one, _ in self._issuers.values() if one.client_id is not None}

    def issuers(self) -> dict[str, str]:
        """What each provider says of itself that it is, by the name that it has here."""
        self._look()
        return {one.name: one.issuer for one, _ in self._issuers.values()}

    def rights_under(self, principal_id: str) -> list[Rights]:
        """What the rules of the issuer of an id give now; nothing, if there is no such issuer."""
        self._look()
        issuer = next((one for one, _ in self._issuers.values() if principal_id.startswith(one.prefix)), None)
        return [] if issuer is None else [_rights(rule) for rule in issuer.roles]

    def is_suspended(self, principal_id: str) -> bool:
        """Does the file say, as it is now, that this account is let in no more?"""
        self._look()
        return principal_id in self._suspended

    def recognised(self, token: str) -> Caller | None:
        """Whose it is, if that was found out before and nothing has changed since."""
        if time.monotonic() - self._looked_at > LOOK_SECONDS:
            return None
        known = self._known.get(_digest(token))
        if known is None or time.time() >= known.until:
            return None
        keys = self._issuers[known.issuer][1]
        if not keys.is_fresh or keys.generation != known.generation:
            return None
        return known.caller

    async def caller(self, token: str) -> Caller:
        self._look()
        if (known := self.recognised(token)) is not None:
            return known
        issuer, keys, claims = await self._verified(token)
        caller = _caller(issuer, claims)
        if caller.principal.id in self._suspended:
            raise refused("this account is suspended here")
        until = claims["exp"] + issuer.leeway_seconds
        until = min(until, claims["iat"] + issuer.max_age_seconds + issuer.leeway_seconds)
        self._known[_digest(token)] = _Known(caller, issuer.issuer, until, keys.generation)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return caller

    def _look(self) -> None:
        """INVARIANT: what was taken out of the file counts no more; a file that is wrong changes nothing."""
        now = time.monotonic()
        if now - self._looked_at <= LOOK_SECONDS:
            return
        self._looked_at = now
        try:
            stamp = self._path.stat().st_mtime
            if stamp != self._stamp:
                self._adopt(load_sign_in(self._path), stamp)
        except OSError as error:
            self._complain(error.strerror or str(error))
        except BeliefdError as error:
            self._complain(error.message)

    def _complain(self, message: str) -> None:
        if message != self._complaint:
            log.error("%s; who could sign in before still can", message)
        self._complaint = message

    async def _verified(self, token: str) -> tuple[Issuer, KeySet, dict[str, Any]]:
        """The claims, once the signature and all that the standard asks for have been checked."""
        import jwt

        if len(token) > MAX_TOKEN:
            raise refused(f"a token may hold {MAX_TOKEN} characters at most")
        header, told = _opened(token)
        found = self._issuers.get(told["iss"]) if isinstance(told.get("iss"), str) else None
        if found is None:
            raise refused("no issuer of this token is trusted here")
        issuer, keys = found
        algorithm, key_id = header.get("alg"), header.get("kid")
        if algorithm not in issuer.algorithms:
            raise refused("it is signed in a way that is not accepted here")
        key = await keys.named(key_id if isinstance(key_id, str) else None, algorithm)
        if key is None:
            raise refused("its issuer has no key that fits")
        try:
            jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=issuer.audience,
                issuer=issuer.issuer,
                leeway=issuer.leeway_seconds,
                options={"require": list(REQUIRED)},
            )
        except jwt.PyJWTError as error:
            raise refused(_told(error)) from None
        _refuse_old(told, issuer)
        return issuer, keys, told


def require_library() -> None:
    try:
        import jwt  # noqa: F401
        from cryptography.hazmat.primitives import hashes  # noqa: F401
    except ModuleNotFoundError:
        raise invalid(f"signing in needs the extra `signin`: {install('signin')}") from None


def is_signed(token: str) -> bool:
    """Does it look like three parts with a signature, and not like a token of ours?"""
    return token.count(".") == 2 and not token.startswith("bd_")


def refused(message: str) -> BeliefdError:
    return BeliefdError(Code.UNAUTHORIZED, f"the token is not accepted: {message}")


def _opened(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and claims as strictly as any request: what two readers could read in two ways is refused."""
    try:
        head, body, _ = token.split(".")
        parts = [parse(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))) for part in (head, body)]
    except (ValueError, binascii.Error, BeliefdError):
        raise refused("it cannot be read") from None
    if not all(isinstance(part, dict) for part in parts):
        raise refused("it cannot be read")
    return parts[0], parts[1]


def _refuse_old(claims: dict[str, Any], issuer: Issuer) -> None:
    for name in ("exp", "iat"):
        if isinstance(claims[name], bool) or not isinstance(claims[name], int | float):
            raise refused(f"`{name}` is no time")
    if time.time() - claims["iat"] > issuer.max_age_seconds + issuer.leeway_seconds:
        raise refused("it was issued too long ago")


def _caller(issuer: Issuer, claims: dict[str, Any]) -> Caller:
    subject = _text(claims, issuer.subject)
    rule = next((rule for rule in issuer.roles if _fits(rule, claims)), None)
    if rule is None:
        raise BeliefdError(Code.FORBIDDEN, "you are known here, but no rule gives you a role")
    try:
        principal = msgspec.convert(
            {
                "id": msgspec.convert(issuer.prefix + subject, Id),
                "role": rule.role,
                "tier": rule.highest,
                "owner": owner_form(subject if issuer.owner is None else _text(claims, issuer.owner)),
            },
            Principal,
        )
    except msgspec.ValidationError:
        raise refused("its subject makes no id") from None
    return Caller(principal, _rights(rule))


def _rights(rule: RoleRule) -> Rights:
    return rights_of(rule.role, spaces_text(rule.role, rule.spaces))


def _text(claims: dict[str, Any], name: str) -> str:
    """INVARIANT: of two people, no reader takes one for the other: a name is visible ASCII."""
    value = _claim(claims, name)
    if not isinstance(value, str) or not _VISIBLE.fullmatch(value):
        raise refused(f"`{name}` must be a text of visible ASCII characters")
    return value


def _claim(claims: dict[str, Any], name: str) -> Any:
    """A claim by its name; by a path with dots, if there is none of that very name."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for step in name.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _fits(rule: RoleRule, claims: dict[str, Any]) -> bool:
    value = _claim(claims, rule.claim)
    return value == rule.value if isinstance(value, str) else isinstance(value, list) and rule.value in value


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()


def _told(error: Exception) -> str:
    """What is wrong in plain words; the library's own name their fields."""
    import jwt

    known: dict[type[Exception], str] = {
        jwt.ExpiredSignatureError: "it has expired",
        jwt.ImmatureSignatureError: "it is not valid yet",
        jwt.InvalidAudienceError: "it is meant for another audience",
        jwt.InvalidIssuerError: "it is from another issuer",
        jwt.InvalidIssuedAtError: "it is not valid yet",
        jwt.MissingRequiredClaimError: f"it needs the claims {', '.join(f'`{name}`' for name in REQUIRED)}",
        jwt.InvalidSignatureError: "its signature does not fit",
    }
    return next((text for kind, text in known.items() if isinstance(error, kind)), "it cannot be checked")
