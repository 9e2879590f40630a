"""One error shape on the wire, and one status per code."""

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from typing import Final

import msgspec
from starlette.requests import ClientDisconnect

from beliefd.http.replies import Answered, RawHeaders, Reply
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.steward.failures import translated

log = logging.getLogger("beliefd.http")

STATUS: Final[dict[Code, int]] = {
    Code.INVALID_REQUEST: 400,
    Code.INVALID_HYPOTHESIS_ID: 400,
    Code.MISSING_CLAIM_ID: 400,
    Code.UNAUTHORIZED: 401,
    Code.FORBIDDEN: 403,
    Code.SESSION_NOT_FOUND: 404,
    Code.OBLIGATION_NOT_FOUND: 404,
    Code.APPROVAL_NOT_FOUND: 404,
    Code.BUNDLE_NOT_FOUND: 404,
    Code.EXPERIMENT_NOT_FOUND: 404,
    Code.RUN_NOT_FOUND: 404,
    Code.EVIDENCE_NOT_FOUND: 404,
    Code.INTENT_NOT_FOUND: 404,
    Code.PROPOSITION_NOT_FOUND: 404,
    Code.NOT_FOUND: 404,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.CONFLICT: 409,
    Code.SESSION_TERMINATED: 409,
    Code.PAYLOAD_TOO_LARGE: 413,
    Code.UNSUPPORTED_MEDIA_TYPE: 415,
    Code.SPECULATIVE_EVIDENCE: 422,
    Code.SPECULATIVE_RESIDUE: 422,
    Code.SPECULATIVE_PROPOSAL: 422,
    Code.SPECULATIVE_ASSERTION: 422,
    Code.HYPOTHESIS_IS_NOT_EVIDENCE: 422,
    Code.NOT_WARRANTED: 422,
    Code.LEDGER_BROKEN: 422,
    Code.INTERNAL: 500,
    Code.STORAGE_UNAVAILABLE: 503,
}
CLIENT_GONE: Final = 499


def error_reply(error: BeliefdError, headers: RawHeaders | None = None) -> Reply:
    headers = list(headers or [])
    if error.code is Code.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    return Reply(STATUS[error.code], msgspec.json.encode(error.body), headers=headers)


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
