"""One HTTP status per error code, for answers and for pages."""

from typing import Final

from beliefd.kernel.errors import Code

_BY_STATUS: Final[dict[int, list[Code]]] = {
    400: [Code.INVALID_REQUEST, Code.INVALID_HYPOTHESIS_ID, Code.MISSING_CLAIM_ID],
    401: [Code.UNAUTHORIZED],
    403: [Code.FORBIDDEN],
    404: [code for code in Code if code.endswith("NOT_FOUND")],
    405: [Code.METHOD_NOT_ALLOWED],
    409: [
        *(Code.CONFLICT, Code.SESSION_TERMINATED, Code.NOT_COVERED, Code.SPLIT_VIEW, Code.LOG_ROLLED_BACK),
        *(Code.LOG_KEY_UNKNOWN, Code.WITNESS_MISSING, Code.SESSION_SEALED),
    ],
    410: [Code.SESSION_ARCHIVED, Code.CONTENT_ERASED],
    413: [Code.PAYLOAD_TOO_LARGE],
    415: [Code.UNSUPPORTED_MEDIA_TYPE],
    422: [
        *(code for code in Code if code.startswith("SPECULATIVE_")),
        *(Code.HYPOTHESIS_IS_NOT_EVIDENCE, Code.NOT_WARRANTED, Code.LEDGER_BROKEN, Code.CONTENT_DAMAGED),
        *(Code.CHECKPOINT_FORGED, Code.PROOF_INVALID, Code.ARCHIVE_INVALID),
    ],
    429: [Code.RATE_LIMITED],
    500: [Code.INTERNAL],
    503: [Code.STORAGE_UNAVAILABLE, Code.TOO_BUSY, Code.TIMED_OUT],
    507: [Code.QUOTA_EXCEEDED],
}
STATUS: Final = {code: status for status, codes in _BY_STATUS.items() for code in codes}
