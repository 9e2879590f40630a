"""The built-in detector by its name. What it looks for is loaded with the first text."""

from collections.abc import Sequence
from typing import Final

from beliefd.kernel.claims.threat import Threat

DETECTOR: Final = "builtin@1"


def assess(texts: Sequence[tuple[str, str]], tier: int, trail: Sequence[int] = ()) -> Threat:
    """The threat of one bundle: its texts by path, its highest tier, and the tiers that came before it."""
    from beliefd.adversarial.assessing import threat_of

    return threat_of(texts, tier, trail)
