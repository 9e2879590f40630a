"""Who may speak at all: tokens, and on a laptop without tokens, only this machine's own programs."""

from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from beliefd.http.headers import Headers
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import Principal
from beliefd.steward.tokens import Authenticator

LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost", "::1"})


async def principal_of(headers: Headers, authenticator: Authenticator) -> Principal:
    _refuse_foreign_pages(headers)
    authorization = headers.get("Authorization")
    foreign = authorization is None and not _is_loopback(headers.get("Host", ""))
    if foreign and not await authenticator.configured():
        # A web page can point its own name at 127.0.0.1; the Host header still carries that name.
        message = "without tokens this server answers to loopback names only"
        raise BeliefdError(Code.FORBIDDEN, message, {"path": "Host"})
    return await authenticator.authenticate(authorization)


def _refuse_foreign_pages(headers: Headers) -> None:
    """A browser says where a request comes from; pages of other sites have no business here."""
    origin = headers.get("Origin")
    if origin is not None and origin.partition("://")[2] != headers.get("Host"):
        message = f"requests from `{origin[:64]}` are not accepted"
        raise BeliefdError(Code.FORBIDDEN, message, {"path": "Origin"})
    if headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"):
        message = "requests from other sites are not accepted"
        raise BeliefdError(Code.FORBIDDEN, message, {"path": "Sec-Fetch-Site"})


@lru_cache(64)
def _is_loopback(host: str) -> bool:
    try:
        return urlsplit(f"//{host}").hostname in LOOPBACK_NAMES
    except ValueError:
        return False
