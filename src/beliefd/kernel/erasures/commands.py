"""What can be asked about texts beside the ledger."""

from typing import Annotated, Final

import msgspec

from beliefd.kernel.experiments.plan import Hex64
from beliefd.kernel.values import Value

MAX_ERASED: Final = 1_000
"""So many digests one erasure may name."""
Digests = Annotated[tuple[Hex64, ...], msgspec.Meta(min_length=1, max_length=MAX_ERASED)]
Grounds = Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]
"""Why something is erased. It stays for ever, so it must not repeat what is erased."""


class Erase(Value, frozen=True, tag_field="verb", tag="ERASE"):
    """Take away texts and content that this session mentions, by digest. What the ledger says stays."""

    digests: Digests
    reason: Grounds

    def __post_init__(self) -> None:
        if len(set(self.digests)) != len(self.digests):
            raise ValueError("a digest is named twice in field `digests`")


ErasureCommand = Erase
