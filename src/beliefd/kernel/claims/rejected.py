"""Words that a person rejected before: who says them again is not stopped by that, but everybody is told."""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import UNSET, UnsetType

from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.claims.findings import ClaimFindings, RejectedBefore
from beliefd.kernel.measurements.state import gist_digest
from beliefd.kernel.state import Session
from beliefd.kernel.values import Value

MOST_TOLD: Final = 200
"""How much of a person's reason is repeated."""


class RejectedWords(Value, frozen=True):
    """Words that a person rejected in a session, by their digest."""

    words: str
    rejection: RejectedBefore


def rejected_before(
    bundle: ClaimBundle, session: Session | None, findings: ClaimFindings
) -> dict[str, RejectedBefore]:
    """By claim, the last time that its words were rejected: here, or else in another session."""
    elsewhere = findings.rejected or {}
    here = {} if session is None else session.approvals.rejected_words
    if findings.rejected is UNSET or not (here or elsewhere):
        return {}
    found: dict[str, RejectedBefore] = {}
    for claim in bundle.claims:
        words = gist_digest(claim.statement)
        name = here.get(words)
        before = elsewhere.get(words)
        if name is not None and session is not None:
            before = rejection(session.approvals.by_id[name])
        if before is not None:
            found[claim.id or ""] = before
    return found


def rejection(approval: Approval) -> RejectedBefore:
    """Who rejected an item, when and why."""
    word = approval.approvals[-1]
    return RejectedBefore(by=word.approver, at=word.timestamp, reason=word.reason[:MOST_TOLD])


def all_rejected(session: Session, words: Iterable[str] | None = None) -> Iterator[RejectedWords]:
    """What was rejected in a session, or of these words what was."""
    known = session.approvals.rejected_words
    for one in known if words is None else words:
        yield RejectedWords(words=one, rejection=rejection(session.approvals.by_id[known[one]]))


def words_of(bundle: ClaimBundle, findings: ClaimFindings) -> tuple[str, ...] | UnsetType:
    """The digests of all that a bundle says, for the case that it is rejected."""
    if findings.rejected is UNSET:
        return UNSET
    return tuple(dict.fromkeys(gist_digest(claim.statement) for claim in bundle.claims))
