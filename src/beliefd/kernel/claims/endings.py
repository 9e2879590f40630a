"""What no longer stands of a published bundle: claims that were retracted, or that another bundle corrects.

INVARIANT: a claim ends once. What was corrected is not retracted after that (its correction is), and what was
retracted is not corrected: nothing is left of it that could be put right.
"""

from typing import Annotated, Final, Literal

import msgspec

from beliefd.kernel.values import ERASABLE, Id, Value

MAX_STEPS: Final = 100
"""So many corrections may follow on each other; who has needed more does not know what to say."""
MAX_REASON: Final = 2_000
Why = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_REASON, extra=ERASABLE)]


class Corrects(Value, frozen=True):
    """The published bundle that a bundle corrects, or one claim of it."""

    bundle_id: Id
    claim_id: Id | msgspec.UnsetType = msgspec.UNSET


class Ended(Value, frozen=True, omit_defaults=True):
    """Claims of one bundle that ended together. `standing` is how many others of that bundle still stand.

    `correction` is the bundle that says it better, and `step` how many corrections that one rests on.
    """

    how: Literal["retracted", "corrected"]
    bundle_id: str
    claim_ids: tuple[str, ...]
    standing: int
    by: str
    at: str
    reason: str = ""
    correction: str = ""
    step: int = 0


class PublishedBundle(Value, frozen=True):
    """What is known of a published bundle: who proposed it, and what its claims are called."""

    proposers: tuple[str, ...]
    claim_ids: tuple[str, ...]


class RetractionFindings(Value, frozen=True, tag_field="of", tag="retraction"):
    """The bundle that is to be retracted, looked up in the ledger; UNSET if it is not published."""

    published: PublishedBundle | msgspec.UnsetType = msgspec.UNSET


def claim_key(bundle_id: str, claim_id: str) -> str:
    """What a claim is found under. Neither id can hold a line feed, so no two claims share a key."""
    return f"{bundle_id}\n{claim_id}"


def words_for(one: Ended) -> str:
    """How it ended, as a reader is told."""
    if one.how == "corrected":
        return f"corrected by bundle `{one.correction}` at {one.at}"
    return f"retracted by {one.by} at {one.at}: {one.reason}"
