"""What can be asked of the claim gates."""

from typing import Annotated

import msgspec

from beliefd.kernel.claims.bundle import MAX_CLAIMS, ClaimBundle, Samples
from beliefd.kernel.claims.endings import Why
from beliefd.kernel.values import Id, Value


class SubmitClaims(Value, frozen=True, tag_field="verb", tag="SUBMIT_CLAIMS"):
    """Put a bundle of claims before the gates. `samples` are raw answers, by the id of their claim."""

    bundle: ClaimBundle
    samples: dict[Id, Samples] | msgspec.UnsetType = msgspec.UNSET


class RetractClaims(Value, frozen=True, tag_field="verb", tag="RETRACT_CLAIMS"):
    """Take back claims that were published; without `claim_ids`, all of the bundle that still stand."""

    bundle_id: Id
    reason: Why
    claim_ids: Annotated[tuple[Id, ...], msgspec.Meta(max_length=MAX_CLAIMS)] = ()

    def __post_init__(self) -> None:
        if len(set(self.claim_ids)) != len(self.claim_ids):
            raise ValueError("a claim is named twice in field `claim_ids`")


ClaimCommand = SubmitClaims | RetractClaims
