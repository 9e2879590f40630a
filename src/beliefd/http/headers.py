"""The headers that the server acts on, each read once and strictly."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final
from urllib.parse import unquote_to_bytes

from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.values import MAX_NOTES

HEEDED: Final = {
    name.lower().encode(): name
    for name in (
        "Audit-Notes",
        "Authorization",
        "Content-Encoding",
        "Content-Length",
        "Content-Type",
        "Expect",
        "Host",
        "Idempotency-Key",
        "If-Match",
        "If-None-Match",
        "Last-Event-ID",
        "Origin",
        "Sec-Fetch-Site",
    )
}
LISTS: Final = frozenset({"If-Match", "If-None-Match"})
JSON: Final = "application/json"
LINES: Final = frozenset(
    {"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"}
)

Headers = dict[str, str]


def read_headers(raw: Iterable[tuple[bytes, bytes]]) -> Headers:
    headers: Headers = {}
    for name, value in raw:
        known = HEEDED.get(name)
        if known is None:
            continue
        if known not in headers:
            headers[known] = value.decode("latin-1")
        elif known in LISTS:
            headers[known] += f", {value.decode('latin-1')}"
        else:
            # Which of the two counts is not defined, and a proxy may choose the other one.
            raise invalid(f"header {known} is given twice", known)
    return headers


_MORE: Final = "%[89AB][0-9A-F]"
_ENCODED: Final = (
    "%[0-7][0-9A-F]",
    f"%(C[2-9A-F]|D[0-9A-F]){_MORE}",
    f"%(E0%[AB][0-9A-F]|E[1-9A-CEF]{_MORE}|ED%[89][0-9A-F]){_MORE}",
    f"%(F0%[9AB][0-9A-F]|F[1-3]{_MORE}|F4%8[0-9A-F]){_MORE}{_MORE}",
)
_CHARACTER: Final = f"([!-$&-~]|{'|'.join(_ENCODED)})"
NOTES_PATTERN: Final = f"^{_CHARACTER}(([ \\t]|{_CHARACTER}){{0,{MAX_NOTES - 2}}}{_CHARACTER})?$"
"""One to so many characters of UTF-8, of which all but printable ASCII is percent-encoded."""


_STRAY: Final = re.compile("%(?![0-9A-Fa-f]{2})")


def notes_in(headers: Headers) -> str | None:
    """The caller's notes: UTF-8, in which any byte may be percent-encoded, and `%` must be."""
    written = headers.get("Audit-Notes")
    if written is None:
        return None
    if _STRAY.search(written):
        raise invalid("Audit-Notes has a `%` that begins no encoded byte; write it as `%25`", "Audit-Notes")
    try:
        return unquote_to_bytes(written.encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise invalid("Audit-Notes is not UTF-8", "Audit-Notes") from None


# Quoted as in HTTP, or bare as people type it; anything else names no event.
_TAG = re.compile(r'\*|(W/)?"[!#-+\--~]{1,512}"|[0-9A-Za-z._:-]{1,512}')


def expected_heads(if_match: str) -> list[str]:
    """The event ids that If-Match names. A weak tag never matches, so it stays as it is, prefix included."""
    tags = [tag for tag in (item.strip() for item in if_match.split(",")) if tag]
    if not tags or not all(_TAG.fullmatch(tag) for tag in tags):
        raise invalid(
            'If-Match needs `*` or the event id of the head, as in `If-Match: "<event id>"`', "If-Match"
        )
    return [tag if tag.startswith("W/") else tag.strip('"') for tag in tags]


def is_known(if_none_match: str | None, etag: str) -> bool:
    """Does the caller have this version already? For reading, weak tags match as strong ones do."""
    if if_none_match is None:
        return False
    tags = [item.strip() for item in if_none_match.split(",")]
    return "*" in tags or any(tag.removeprefix("W/") == etag for tag in tags)


def check_content(headers: Headers, media: str) -> None:
    """Refuse a body whose headers declare another type; one without a type is read as the expected one."""
    _check_content(headers.get("Content-Type"), headers.get("Content-Encoding"), media)


UNSAID = "application/x-www-form-urlencoded"
"""What curl and Python's urllib declare for every body when they are given no type."""


@lru_cache(256)
def _check_content(given: str | None, encoding: str | None, media: str) -> None:
    if encoding is not None and encoding.strip().lower() != "identity":
        message = f"Content-Encoding `{encoding[:64]}` is not supported; send the body without encoding"
        raise BeliefdError(Code.UNSUPPORTED_MEDIA_TYPE, message, {"path": "Content-Encoding"})
    if given is None:
        return
    essence, *parameters = (part.strip().lower() for part in given.split(";"))
    charsets = {part.partition("=")[2].strip('"') for part in parameters if part.startswith("charset=")}
    if not _fits(essence, media) or charsets - {"utf-8", "utf8"}:
        message = f"expected Content-Type `{media}` in UTF-8, got `{given[:64]}`"
        raise BeliefdError(Code.UNSUPPORTED_MEDIA_TYPE, message, {"path": "Content-Type"})


def _fits(essence: str, media: str) -> bool:
    if essence in (media, UNSAID):
        return True
    if media == JSON:
        return essence == JSON or (essence.startswith("application/") and essence.endswith("+json"))
    return essence in LINES
