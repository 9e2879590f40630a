"""One error shape on the wire, and the status that goes with each code."""

from typing import Final

import msgspec
from starlette.responses import Response

from beliefd.kernel.errors import BeliefdError, Code

STATUS: Final[dict[Code, int]] = {
    Code.INVALID_REQUEST: 400,
    Code.INVALID_HYPOTHESIS_ID: 400,
    Code.UNAUTHORIZED: 401,
    Code.FORBIDDEN: 403,
    Code.SESSION_NOT_FOUND: 404,
    Code.OBLIGATION_NOT_FOUND: 404,
    Code.APPROVAL_NOT_FOUND: 404,
    Code.BUNDLE_NOT_FOUND: 404,
    Code.NOT_FOUND: 404,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.CONFLICT: 409,
    Code.SESSION_TERMINATED: 409,
    Code.PAYLOAD_TOO_LARGE: 413,
    Code.LEDGER_BROKEN: 422,
    Code.INTERNAL: 500,
    Code.STORAGE_UNAVAILABLE: 503,
}


def error_response(error: BeliefdError, headers: dict[str, str] | None = None) -> Response:
    headers = dict(headers or {})
    if error.code is Code.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(
        msgspec.json.encode(error.body),
        status_code=STATUS[error.code],
        media_type="application/json",
        headers=headers,
    )
