"""Signing in by a provider's own page: OpenID Connect's authorization code flow, with PKCE."""

import asyncio
import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.steward.signin.keys import Unreadable, fetch, json_object
from beliefd.steward.signin.settings import Issuer, refuse_open_way

MOST: Final = 1_000
WITHIN_SECONDS: Final = 600.0
MAX_SECRET: Final = 4_096
NAMES_ITSELF: Final = "authorization_response_iss_parameter_supported"
"""Of a provider that says this of itself, `iss` is never left out where somebody comes back."""


class Begun(Struct, frozen=True):
    """Somebody who was sent to a provider. `bound` is what their browser keeps, so that nobody else comes
    back in their place."""

    issuer: Issuer
    bound: str
    verifier: str
    nonce: str
    redirect_uri: str
    place: str
    until: float


class ProviderPages:
    """Who is on their way to a provider and back; nothing of it outlives the process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: dict[str, Begun] = {}

    async def begin(self, issuer: Issuer, redirect_uri: str, place: str) -> tuple[str, str]:
        """Where to send somebody, and what their browser is to keep."""
        endpoint = _text(await _discovered(issuer), "authorization_endpoint")
        now = self._clock()
        self._begun = {name: one for name, one in self._begun.items() if one.until > now}
        while len(self._begun) >= MOST:
            del self._begun[next(iter(self._begun))]
        state, bound, verifier, nonce = (secrets.token_urlsafe(32) for _ in range(4))
        back = issuer.redirect_uri or redirect_uri
        self._begun[state] = Begun(issuer, bound, verifier, nonce, back, place, now + WITHIN_SECONDS)
        asked = {
            "response_type": "code",
            "scope": "openid email profile",
            "client_id": issuer.client_id or "",
            "redirect_uri": back,
            "state": state,
            "nonce": nonce,
            "code_challenge": _digest(verifier),
            "code_challenge_method": "S256",
        }
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}", bound

    async def finish(self, told: Mapping[str, str], bound: str | None) -> tuple[str, str]:
        """The token that the provider signed, and where its holder wanted to go; `told` is what they came
        back with.

        INVARIANT: once, in time, in the browser that began it, from the provider that it was begun with, and
        for the token that was asked for.
        """
        begun = self._begun.pop(told.get("state", ""), None)
        if begun is None or begun.until <= self._clock() or not _same(begun.bound, bound or ""):
            raise _refused("it was not begun in this browser, or too long ago")
        issuer = begun.issuer
        if "error" in told:
            raise _refused("the provider says that it failed")
        discovered = await _discovered(issuer)
        named = issuer.issuer if discovered.get(NAMES_ITSELF) is not True else None
        if told.get("iss", named) != issuer.issuer:
            raise _refused("another provider has answered than the one that was asked")
        form = {
            "grant_type": "authorization_code",
            "code": told.get("code", ""),
            "redirect_uri": begun.redirect_uri,
            "client_id": issuer.client_id or "",
            "code_verifier": begun.verifier,
        }
        if issuer.client_secret_file is not None:
            form["client_secret"] = await asyncio.to_thread(_secret, Path(issuer.client_secret_file))
        token = _text(await _asked(_text(discovered, "token_endpoint"), form), "id_token")
        claims = _claims(token)
        if not _same(begun.nonce, str(claims.get("nonce", ""))):
            raise _refused("the provider's token is not the one that was asked for")
        if claims.get("azp", issuer.client_id) != issuer.client_id:
            raise _refused("the provider's token was made for another client")
        return token, begun.place


async def _discovered(issuer: Issuer) -> dict[str, Any]:
    told = await _asked(issuer.issuer.rstrip("/") + "/.well-known/openid-configuration")
    if told.get("issuer") != issuer.issuer:
        raise _refused("the provider calls itself otherwise")
    return told


async def _asked(url: str, form: dict[str, str] | None = None) -> dict[str, Any]:
    try:
        refuse_open_way(url, "issuer")
        return json_object(await fetch(url, form))
    except (Unreadable, ValueError):
        raise _refused("the provider did not answer as it should") from None


def _text(told: dict[str, Any], name: str) -> str:
    value = told.get(name)
    if not isinstance(value, str):
        raise _refused(f"the provider names no `{name}`")
    return value


def _claims(token: str) -> dict[str, Any]:
    """The claims, unchecked: who signed them is judged with every request."""
    try:
        body = token.split(".")[1]
        return json_object(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (IndexError, ValueError, Unreadable):
        raise _refused("the provider's token cannot be read") from None


def _secret(path: Path) -> str:
    try:
        return path.read_text()[:MAX_SECRET].strip()
    except OSError:
        raise _refused("the secret of the client cannot be read") from None


def _same(kept: str, told: str) -> bool:
    return hmac.compare_digest(kept.encode(), told.encode(errors="replace"))


def _digest(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _refused(why: str) -> BeliefdError:
    return BeliefdError(Code.UNAUTHORIZED, f"nobody was signed in: {why}")
