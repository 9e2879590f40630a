"""One error shape on the wire, and one status per code."""

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from typing import Final

import msgspec
from starlette.requests import ClientDisconnect

from beliefd.http.replies import Answered, RawHeaders, Reply
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.protocol.statuses import STATUS
from beliefd.steward.failures import translated
from beliefd.steward.offload import RETRY_SECONDS

log = logging.getLogger("beliefd.http")

CLIENT_GONE: Final = 499
PASSING: Final = frozenset({429, 503})
"""The same request may be answered later."""


def error_reply(error: BeliefdError, headers: RawHeaders | None = None) -> Reply:
    headers = list(headers or [])
    if error.code is Code.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    headers += retry_headers(error)
    return Reply(STATUS[error.code], msgspec.json.encode(error.body), headers=headers)


def retry_headers(error: BeliefdError) -> RawHeaders:
    """When to try again: where the error says so, and wherever its status promises that it is worth it."""
    passing = RETRY_SECONDS if STATUS[error.code] in PASSING else None
    seconds = (error.details or {}).get("retry_after", passing)
    return [] if seconds is None else [(b"retry-after", b"%d" % seconds)]


def not_offered(method: str, offered: Iterable[str]) -> Reply:
    allowed = set(offered)
    if "GET" in allowed:
        allowed.add("HEAD")
    listed = ", ".join(sorted(allowed))
    error = BeliefdError(Code.METHOD_NOT_ALLOWED, f"`{method}` is not offered here; offered: {listed}")
    return error_reply(error, [(b"allow", listed.encode())])


def no_such_path() -> Reply:
    return error_reply(BeliefdError(Code.NOT_FOUND, "no such path; GET /openapi.json lists them all"))


def defect() -> Reply:
    return error_reply(BeliefdError(Code.INTERNAL, "an unexpected error; it has been logged"))


async def answer_or_error(work: Awaitable[Answered]) -> Answered:
    """INVARIANT: whatever fails inside, the caller sees one error shape and never a stack trace."""
    try:
        return await work
    except (Exception, asyncio.CancelledError) as error:
        return reply_to_failure(error)


def reply_to_failure(error: Exception | asyncio.CancelledError) -> Reply:
    told = translated(error)
    if isinstance(told, BeliefdError):
        return error_reply(told)
    if isinstance(error, asyncio.CancelledError):
        # Only the end of the server cancels a request, and by then it may have been carried out.
        message = "the server is stopping; it is not known whether this was carried out"
        return error_reply(BeliefdError(Code.STORAGE_UNAVAILABLE, message))
    if isinstance(error, ClientDisconnect):
        return Reply(CLIENT_GONE)  # nobody reads it; the metrics count it
    log.error("defect while answering a request", exc_info=error)
    return defect()
