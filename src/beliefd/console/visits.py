"""Who is signed in: a cookie names a visit, and the visit holds the credential, as long as the process."""

import secrets
import time
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from beliefd.kernel.values import Principal, Role, Tier
from beliefd.protocol.rights import EVERYTHING
from beliefd.steward.call import Caller
from beliefd.steward.tokens import Authenticator

COOKIE: Final = "beliefd_visit"
NAME_LENGTH: Final = 64
LONGEST_SECONDS: Final = 12 * 3600
LINK_SECONDS: Final = 3600
MOST: Final = 1_000
EACH: Final = 20
"""Visits of one principal at once: one more ends the oldest of its own."""
LOCAL_PERSON: Final = Caller(
    Principal(id="human://local", role=Role.APPROVER, tier=Tier.PRIVILEGE.name), EVERYTHING
)
"""Whoever opens the link that the server printed: not the agent of the same machine, so they may approve."""


class Visit(Struct, frozen=True):
    """`authorization` is the credential that was given; None for the link of a server without tokens."""

    authorization: str | None
    until: float
    principal_id: str = ""


class Visits:
    """INVARIANT: a visit is no authority. Its credential is judged again with every request."""

    def __init__(self, authenticator: Authenticator, clock: Callable[[], float] = time.monotonic) -> None:
        self._authenticator = authenticator
        self._clock = clock
        self._open: dict[str, Visit] = {}
        self._links: dict[str, Visit] = {}

    def link(self, token: str | None = None) -> str:
        """A key that signs one person in, once: the holder of a token, or whoever sits at this machine."""
        key = secrets.token_urlsafe(24)
        self._links[key] = Visit(None if token is None else f"Bearer {token}", self._clock() + LINK_SECONDS)
        return key

    async def need_tokens(self) -> bool:
        return await self._authenticator.configured()

    async def sign_in(self, token: str) -> str:
        """The cookie of a new visit; refuses a token that is not known here."""
        authorization = f"Bearer {token.strip()}"
        caller = await self._authenticator.authenticate(authorization)
        return self._begin(authorization, caller)

    async def sign_in_by_link(self, key: str) -> str | None:
        """The same for a printed link; None if it was used, is too old, or signs nobody in any more."""
        found = self._links.pop(key, None)
        caller = None if found is None else await self._judged(found)
        if found is None or caller is None:
            return None
        return self._begin(found.authorization, caller)

    def _begin(self, authorization: str | None, caller: Caller) -> str:
        now, principal_id = self._clock(), caller.principal.id
        self._open = {name: one for name, one in self._open.items() if one.until > now}
        own = [name for name, one in self._open.items() if one.principal_id == principal_id]
        # INVARIANT: who signs in again and again ends visits of its own, and not those of others.
        for name in own[: len(own) - EACH + 1] if len(own) >= EACH else ():
            del self._open[name]
        while len(self._open) >= MOST:
            del self._open[next(iter(self._open))]
        cookie = secrets.token_urlsafe(32)
        self._open[cookie] = Visit(authorization, now + LONGEST_SECONDS, principal_id)
        return cookie

    def end(self, cookie: str | None) -> None:
        if cookie is not None:
            self._open.pop(cookie, None)

    async def caller(self, cookie: str | None) -> Caller | None:
        """Who it is, as of now; None if nobody is signed in. Refuses whoever was revoked since."""
        visit = None if cookie is None else self._open.get(cookie)
        return None if visit is None else await self._judged(visit)

    async def _judged(self, visit: Visit) -> Caller | None:
        if visit.until <= self._clock():
            return None
        if visit.authorization is not None:
            return await self._authenticator.authenticate(visit.authorization)
        return None if await self.need_tokens() else LOCAL_PERSON


def cookie_name(server: Any) -> str:
    """With the port that the server listens on: browsers send cookies of a host to all of its ports, and two
    servers on one host must not sign each other's people out."""
    port = server[1] if server else None
    return COOKIE if port is None else f"{COOKIE}_{port}"


def cookie_in(header: str, name: str) -> str | None:
    """The name of the visit, if a request carries one. Cookies of others, however odd, do not matter."""
    for part in header.split(";"):
        key, _, value = part.partition("=")
        if key.strip() == name and len(value) <= NAME_LENGTH:
            return value.strip()
    return None


def set_cookie(name: str, value: str, *, secure: bool) -> str:
    """INVARIANT: no script reads it, and no other site's page sends it."""
    ending = "; Max-Age=0" if not value else f"; Max-Age={LONGEST_SECONDS}"
    return f"{name}={value}; Path=/; HttpOnly; SameSite=Strict{ending}{'; Secure' if secure else ''}"


def begun_cookie(name: str, value: str, *, secure: bool) -> str:
    """What a browser keeps while its person is at a provider's page: it comes back from another site."""
    return f"{name}={value}; Path=/sign-in; HttpOnly; SameSite=Lax; Max-Age=600{'; Secure' if secure else ''}"
