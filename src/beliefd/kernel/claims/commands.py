"""What can be asked of the claim gates."""

import msgspec

from beliefd.kernel.claims.bundle import ClaimBundle, Samples
from beliefd.kernel.values import Id, Value


class SubmitClaims(Value, frozen=True, tag_field="verb", tag="SUBMIT_CLAIMS"):
    """Put a bundle of claims before the gates. `samples` are raw answers, by the id of their claim."""

    bundle: ClaimBundle
    samples: dict[Id, Samples] | msgspec.UnsetType = msgspec.UNSET


ClaimCommand = SubmitClaims
