"""What both sides are given to do: the same hypotheses, the same observations, the same justification."""

from typing import Any, Final

CALLERS: Final = 64
HYPOTHESES: Final = [f"cause-{number:03}" for number in range(100)]
SOURCE: Final = "oracle://probe"
JUSTIFICATION: Final[dict[str, Any]] = {
    "because": "the replica answers within its usual time",
    "probe": "replica_latency",
    "value": 0.25,
}


def hypothesis(number: int) -> str:
    """The one that observation `number` speaks against: all fall early, most observations come later."""
    return HYPOTHESES[number % len(HYPOTHESES)]
