"""The dense side of a proposal: a vector that comes with a change, is kept, and is shown again.

No rule reads it. What its numbers mean is known to who made them.
"""

from collections.abc import Iterable
from typing import Annotated, Final

import msgspec

from beliefd.kernel import patterns
from beliefd.kernel.canonical import digest
from beliefd.kernel.values import Id, Role, Value

MAX_DIMS: Final = 4_096
MAX_DIMS_OF_PROPOSAL: Final = 16_384
"""All vectors of one proposal together: an entry of the ledger holds them."""
ATTACHED_BY: Final = frozenset({Role.AGENT, Role.ENCODER})
"""Who may send vectors along: those who think in them."""

Dims = Annotated[int, msgspec.Meta(ge=1, le=MAX_DIMS)]
Sha256 = Annotated[str, msgspec.Meta(pattern=patterns.SHA256)]


class DeltaVector(Value, frozen=True):
    """A vector as it was sent. `digest` is the SHA-256 of the canonical form of `values`.

    INVARIANT: what does not fit its digest is refused when it is read, so that no rule has to look at it.
    """

    digest: Sha256
    dims: Dims
    values: Annotated[tuple[float, ...], msgspec.Meta(min_length=1, max_length=MAX_DIMS)]

    def __post_init__(self) -> None:
        if self.dims != len(self.values):
            raise ValueError(f"{len(self.values)} numbers are no {self.dims}, in field `dims`")
        if (found := digest(self.values)) != self.digest:
            raise ValueError(f"the digest of the values is `{found}`, in field `digest`")


class VectorRef(Value, frozen=True):
    """A vector by its digest. The event `event_id` holds the proposal that it came with."""

    digest: str
    dims: int
    event_id: Id


def vector(values: Iterable[float]) -> DeltaVector:
    """These numbers, ready to be sent along."""
    given = tuple(map(float, values))
    return DeltaVector(digest=digest(given), dims=len(given), values=given)


def ref(vector: DeltaVector, event_id: str) -> VectorRef:
    return VectorRef(digest=vector.digest, dims=vector.dims, event_id=event_id)
