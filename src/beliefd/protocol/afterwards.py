"""What became of a bundle since it was judged: what of it ended, what it puts right, who has agreed."""

from collections.abc import Iterable
from typing import Literal

from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.claims.bundle import ClaimBundle, GateOverride, HumanApproval
from beliefd.kernel.claims.endings import words_for
from beliefd.kernel.claims.gates.human import GATE as HUMAN
from beliefd.kernel.claims.state import Claims
from beliefd.protocol.operation import Answer


class EndedClaim(Answer, frozen=True):
    """How a claim ended. `text` says it in words; `correction` is the bundle that corrects it.

    `correction_stands` is false if nothing of that bundle stands any more either.
    """

    how: Literal["retracted", "corrected"]
    by: str
    at: str
    reason: str
    text: str
    audit_event_id: str
    correction: str | None = None
    correction_stands: bool | None = None


class Correction(Answer, frozen=True):
    """What a bundle corrects. `ended` says how that has ended: by this bundle, or otherwise before."""

    bundle_id: str
    claim_id: str | None = None
    ended: EndedClaim | None = None


class AgreementProgress(Answer, frozen=True):
    """How many people must agree, and who has."""

    required: int
    given: list[HumanApproval]

    @property
    def text(self) -> str:
        who = ", ".join(f"{one.approver} at {one.timestamp}" for one in self.given)
        return f"{len(self.given)} of {self.required} approved" + (f": {who}" if who else "")


def ended_claims(claims: Claims, bundle: ClaimBundle) -> dict[str, EndedClaim]:
    """The claims of a bundle that do not stand any more, by id."""
    if bundle.id is None or claims.ending(bundle.id) is None:
        return {}
    names = (claim.id or "" for claim in bundle.claims)
    found = {name: ended_claim(claims, bundle.id, name) for name in names}
    return {name: one for name, one in found.items() if one is not None}


def ended_claim(claims: Claims, bundle_id: str, claim_id: str | None) -> EndedClaim | None:
    one = claims.ending(bundle_id, claim_id)
    if one is None:
        return None
    last = claims.ending(one.correction) if one.correction else None
    stands = last is None or last.standing > 0
    text = words_for(one) + ("" if stands else ", of which nothing stands any more")
    return EndedClaim(
        how=one.how,
        by=one.by,
        at=one.at,
        reason=one.reason,
        text=text,
        audit_event_id=claims.ended_by(bundle_id, claim_id),
        correction=one.correction or None,
        correction_stands=stands if one.correction else None,
    )


def correction_of(claims: Claims, bundle: ClaimBundle) -> Correction | None:
    if not bundle.corrects:
        return None
    name, claim = bundle.corrects.bundle_id, bundle.corrects.claim_id or None
    return Correction(bundle_id=name, claim_id=claim, ended=ended_claim(claims, name, claim))


def progress_of(
    approval: Approval | None, required: int | None = None, counted: Iterable[HumanApproval] | None = None
) -> AgreementProgress | None:
    """Who has agreed to what waits. As long as it waits, one more must, whatever it was opened with.

    `required` and `counted` are how many must agree today and whose yes counts, where that is known.
    """
    if approval is None or approval.status != "pending" or approval.rule.nobody:
        return None
    given = list(approval.approvals if counted is None else counted)
    return AgreementProgress(required=max(required or approval.rule.required, len(given) + 1), given=given)


def overridden_in(approval: Approval) -> list[GateOverride]:
    """The gates that people let something pass: on the way to this item, and by saying yes to it."""
    found = list(approval.overridden or ())
    if approval.status == "approved" and approval.gate != HUMAN and approval.results:
        by = tuple(word.approver for word in approval.approvals)
        found.append(GateOverride(gate=approval.gate, by=by))
    return found
