"""Who may speak at all: tokens, and on a laptop without tokens, only this machine's own programs."""

from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import Principal
from beliefd.steward.tokens import Authenticator

LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost", "::1"})


async def principal_of(request: Request, authenticator: Authenticator) -> Principal:
    _refuse_foreign_pages(request)
    header = request.headers.get("authorization")
    if header is None and _host(request) not in LOOPBACK_NAMES and not await authenticator.configured():
        # A web page can point its own name at 127.0.0.1; the Host header still carries that name.
        raise BeliefdError(Code.FORBIDDEN, "without tokens this server answers to loopback names only")
    return await authenticator.authenticate(header)


def _refuse_foreign_pages(request: Request) -> None:
    """A browser says where a request comes from; pages of other sites have no business here."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise BeliefdError(Code.FORBIDDEN, f"requests from `{origin[:64]}` are not accepted")
    if request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        raise BeliefdError(Code.FORBIDDEN, "requests from other sites are not accepted")


def _host(request: Request) -> str | None:
    return urlsplit(f"//{request.headers.get('host', '')}").hostname
