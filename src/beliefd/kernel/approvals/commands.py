"""What people, proposers and time can say about what waits for a person."""

from typing import Annotated, Literal

import msgspec

from beliefd.kernel.claims.bundle import MAX_CLAIMS, Claim, refuse_many_pointers, refuse_shared_ids
from beliefd.kernel.intents.state import EpistemicStatus
from beliefd.kernel.values import Id, Remark, TierName, Value


class DecideApproval(Value, frozen=True, tag_field="verb", tag="DECIDE_APPROVAL"):
    """Approve, reject or edit what waits. `content_hash` names exactly what was looked at.

    `to_status` goes with an edit of a write intent: another, weaker status. DEFERRED asks for more evidence,
    SEEN takes what is for information off the list.
    """

    approval_id: Id
    decision: Literal["APPROVED", "REJECTED", "MODIFIED", "DEFERRED", "SEEN"]
    content_hash: Id
    reason: Remark = ""
    claims: Annotated[tuple[Claim, ...], msgspec.Meta(max_length=MAX_CLAIMS)] = ()
    to_status: EpistemicStatus | None = None

    def __post_init__(self) -> None:
        refuse_many_pointers(self.claims)
        refuse_shared_ids(self.claims)


class WithdrawApproval(Value, frozen=True, tag_field="verb", tag="WITHDRAW_APPROVAL"):
    """Take back what one proposed and nobody has decided yet."""

    approval_id: Id
    reason: Remark = ""


class ExpireApproval(Value, frozen=True, tag_field="verb", tag="EXPIRE_APPROVAL"):
    """Tell the kernel that an approval's time is up; what follows is policy."""

    approval_id: Id


class GiveGrant(Value, frozen=True, tag_field="verb", tag="GIVE_GRANT"):
    """Consent in advance, for one principal, up to MODIFY, for a while and a number of times."""

    principal: Id
    tiers: Annotated[tuple[TierName, ...], msgspec.Meta(min_length=1)]
    expires_in_seconds: Annotated[int, msgspec.Meta(ge=1, le=30 * 24 * 3600)]
    max_uses: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100


class RevokeGrant(Value, frozen=True, tag_field="verb", tag="REVOKE_GRANT"):
    """End a standing grant at once."""

    grant_id: Id


ApprovalCommand = DecideApproval | WithdrawApproval | ExpireApproval | GiveGrant | RevokeGrant
