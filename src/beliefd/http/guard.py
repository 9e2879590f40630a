"""Who may make requests: holders of tokens; on a server without tokens, programs of the same machine."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from beliefd.http.headers import Headers
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.steward.call import Caller
from beliefd.steward.tokens import LOCAL, Authenticator

LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost", "::1"})


def known_caller(headers: Headers, authenticator: Authenticator, origins: Sequence[str]) -> Caller | None:
    """The caller, if it is known without asking the store; refuses the pages that `caller_of` refuses."""
    if _is_from_a_page(headers) and foreign_origin(headers) not in origins:
        _refuse_foreign_pages(headers)
    authorization = headers.get("Authorization")
    if authorization is not None:
        return authenticator.recognised(authorization)
    if authenticator.is_open() and _is_loopback(headers.get("Host", "")):
        return LOCAL
    return None


async def caller_of(headers: Headers, authenticator: Authenticator, origins: Sequence[str]) -> Caller:
    """The caller; refuses web pages that are neither this server's nor allowed by policy (`origins`)."""
    known = known_caller(headers, authenticator, origins)
    if known is not None:
        return known
    authorization = headers.get("Authorization")
    if authorization is None:
        await refuse_foreign_names(headers, authenticator)
    return await authenticator.authenticate(authorization)


async def refuse_foreign_names(headers: Headers, authenticator: Authenticator) -> None:
    """INVARIANT: without tokens, nothing is answered to other names than loopback's, whatever is asked for.

    A web page can point its own name at 127.0.0.1; the Host header still carries that name.
    """
    if not _is_loopback(headers.get("Host", "")) and not await authenticator.configured():
        message = "without tokens this server answers to loopback names only"
        raise BeliefdError(Code.FORBIDDEN, message, {"path": "Host"})


def foreign_origin(headers: Headers) -> str | None:
    """The web origin of the request, if it is another than this server's own."""
    origin = headers.get("Origin")
    return None if origin is None or origin.partition("://")[2] == headers.get("Host") else origin


def _is_from_a_page(headers: Headers) -> bool:
    return "Origin" in headers or "Sec-Fetch-Site" in headers


def _refuse_foreign_pages(headers: Headers) -> None:
    """Browsers send the origin of a request along; pages of other sites are refused."""
    if (origin := foreign_origin(headers)) is not None:
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
