"""What browsers send: forms of this server's own pages, and places on it to go to."""

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qsl, quote, urlsplit

from starlette.requests import Request

from beliefd.kernel.errors import BeliefdError, Code

MAX_FORM: Final = 1024 * 1024
"""Bytes of a form of somebody who is signed in; an edit is the longest."""
MAX_SIGN_IN: Final = 8 * 1024
MAX_FIELDS: Final = 200
FORM_TYPE: Final = "application/x-www-form-urlencoded"
HOME: Final = "/inbox"
OWN_PLACE: Final = re.compile(
    r"/(?:inbox|sessions|propositions|policy|audit|access|content)(?:[/?][!-\[\]-~]{0,2000})?"
)
"""Printable ASCII without a backslash, which browsers take for a slash."""


async def form_of(request: Request, most: int, hold: Callable[[int], None] | None = None) -> dict[str, str]:
    """The fields of a form. INVARIANT: no page of another origin sends one."""
    refuse_other_origins(request)
    given = request.headers.get("content-type")
    if given is not None:
        _check_type(given)
    body = bytearray()
    async for chunk in request.stream():
        if len(body) + len(chunk) > most:
            raise BeliefdError(Code.PAYLOAD_TOO_LARGE, f"this form may hold {most} bytes at most")
        if hold is not None:
            hold(len(body) + len(chunk))
        body += chunk
    if body:
        _check_type(given or "")
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise BeliefdError(Code.INVALID_REQUEST, "this is no form") from None
    fields = dict(pairs)
    # Whoever reads along may take the first of two for what counts, and we the last.
    if len(fields) < len(pairs):
        raise BeliefdError(Code.INVALID_REQUEST, "every field of a form is sent once")
    return fields


def _check_type(given: str) -> None:
    """What is declared as something else, or as nothing, is no form of ours."""
    if given.partition(";")[0].strip().lower() != FORM_TYPE:
        raise BeliefdError(
            Code.UNSUPPORTED_MEDIA_TYPE, f"expected Content-Type `{FORM_TYPE}`", {"path": "Content-Type"}
        )


def refuse_other_origins(request: Request) -> None:
    """Browsers say where a form comes from: by comparing scheme, host and port themselves, and by name."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    named = origin is not None and _parts(origin) == (request.url.scheme, request.headers.get("host", ""))
    # A proxy may take TLS off: where the browser has compared the scheme, the host's name is enough.
    compared = site == "same-origin" and (
        origin is None or _parts(origin)[1] == request.headers.get("host", "")
    )
    if not (compared if site is not None else named):
        raise BeliefdError(Code.FORBIDDEN, "forms are taken from this server's own pages only")


def _parts(origin: str) -> tuple[str, str | None]:
    try:
        found = urlsplit(origin)
    except ValueError:
        return "", None
    return found.scheme, found.netloc


def number(text: str) -> int:
    """What an address counts from; whatever is no such number is the beginning."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def asked_place(request: Request) -> str:
    """Where somebody wanted to go before they signed in, if that is a page of ours."""
    wanted = request.query_params.get("next", HOME)
    return wanted if OWN_PLACE.fullmatch(wanted) else HOME


def sign_in_place(request: Request) -> str:
    """Where to sign in, and to come back from."""
    if request.method not in ("GET", "HEAD"):
        return f"/sign-in?next={quote(HOME, safe='')}"
    query = request.scope["query_string"].decode("latin-1")
    here = request.scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
    return f"/sign-in?next={quote(here if OWN_PLACE.fullmatch(here) else HOME, safe='')}"
