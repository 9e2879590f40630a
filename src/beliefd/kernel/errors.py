"""Stable error codes and the one shape in which a refusal travels (belief-server 3.2)."""

from enum import StrEnum
from typing import Any

import msgspec


class Code(StrEnum):
    """Every code a caller can meet. Names are part of the protocol and never change meaning."""

    SESSION_NOT_FOUND = "SESSION_NOT_FOUND"
    SESSION_TERMINATED = "SESSION_TERMINATED"
    SESSION_SEALED = "SESSION_SEALED"
    SESSION_ARCHIVED = "SESSION_ARCHIVED"
    ARCHIVE_INVALID = "ARCHIVE_INVALID"
    INVALID_HYPOTHESIS_ID = "INVALID_HYPOTHESIS_ID"
    OBLIGATION_NOT_FOUND = "OBLIGATION_NOT_FOUND"
    APPROVAL_NOT_FOUND = "APPROVAL_NOT_FOUND"
    BUNDLE_NOT_FOUND = "BUNDLE_NOT_FOUND"
    OBSERVATION_NOT_FOUND = "OBSERVATION_NOT_FOUND"
    MEASUREMENT_NOT_FOUND = "MEASUREMENT_NOT_FOUND"
    EXPERIMENT_NOT_FOUND = "EXPERIMENT_NOT_FOUND"
    RUN_NOT_FOUND = "RUN_NOT_FOUND"
    EVIDENCE_NOT_FOUND = "EVIDENCE_NOT_FOUND"
    INTENT_NOT_FOUND = "INTENT_NOT_FOUND"
    PROPOSITION_NOT_FOUND = "PROPOSITION_NOT_FOUND"
    CONTENT_NOT_FOUND = "CONTENT_NOT_FOUND"
    CONTENT_DAMAGED = "CONTENT_DAMAGED"
    CONTENT_ERASED = "CONTENT_ERASED"
    QUOTA_EXCEEDED = "QUOTA_EXCEEDED"
    RATE_LIMITED = "RATE_LIMITED"
    TOO_BUSY = "TOO_BUSY"
    TIMED_OUT = "TIMED_OUT"
    MISSING_CLAIM_ID = "MISSING_CLAIM_ID"
    SPECULATIVE_EVIDENCE = "SPECULATIVE_EVIDENCE"
    SPECULATIVE_RESIDUE = "SPECULATIVE_RESIDUE"
    SPECULATIVE_PROPOSAL = "SPECULATIVE_PROPOSAL"
    SPECULATIVE_ASSERTION = "SPECULATIVE_ASSERTION"
    HYPOTHESIS_IS_NOT_EVIDENCE = "HYPOTHESIS_IS_NOT_EVIDENCE"
    NOT_WARRANTED = "NOT_WARRANTED"
    CONFLICT = "CONFLICT"
    INVALID_REQUEST = "INVALID_REQUEST"
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
    UNSUPPORTED_MEDIA_TYPE = "UNSUPPORTED_MEDIA_TYPE"
    UNAUTHORIZED = "UNAUTHORIZED"
    FORBIDDEN = "FORBIDDEN"
    NOT_FOUND = "NOT_FOUND"
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    LEDGER_BROKEN = "LEDGER_BROKEN"
    NOT_COVERED = "NOT_COVERED"
    CHECKPOINT_FORGED = "CHECKPOINT_FORGED"
    PROOF_INVALID = "PROOF_INVALID"
    SPLIT_VIEW = "SPLIT_VIEW"
    LOG_ROLLED_BACK = "LOG_ROLLED_BACK"
    LOG_KEY_UNKNOWN = "LOG_KEY_UNKNOWN"
    WITNESS_MISSING = "WITNESS_MISSING"
    STORAGE_UNAVAILABLE = "STORAGE_UNAVAILABLE"
    INTERNAL = "INTERNAL"


class ErrorBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """`{code, message, details}`; `details.path` points at the bad field where there is one."""

    code: Code
    message: str
    details: dict[str, Any] | None = None


class ErrorShape(msgspec.Struct, frozen=True):
    """The whole body of every error answer."""

    error: ErrorBody


class BeliefdError(Exception):
    """What client and embedded library raise when the server answers with an error."""

    def __init__(self, code: Code, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.details = details

    @property
    def body(self) -> ErrorShape:
        return ErrorShape(ErrorBody(self.code, self.message, self.details))


def invalid(message: str, path: str | None = None) -> BeliefdError:
    """A request that cannot be read as a command; it is answered, not recorded."""
    return BeliefdError(Code.INVALID_REQUEST, message, {"path": path} if path else None)
