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


CLAIMS: Final = 10


def bundle() -> dict[str, Any]:
    """As many claims that pass all gates."""
    pointer = {
        "source": "https://metrics.example/pool?at=14:02",
        "source_confidence": 0.95,
        "evidence_hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "retrieved_at": "2026-01-05T14:02:00Z",
    }
    return {
        "origin_agent": "agent://local",
        "claims": [
            {
                "statement": f"host {number} of the checkout service holds {number * 13} idle connections",
                "claim_type": "FACT",
                "evidence_pointers": [pointer],
                "uncertainty": {
                    "method": "semantic_entropy",
                    "value": 0.15,
                    "interpretation": "answers agree",
                },
                "risk_tier": "READ_ONLY",
                "if_wrong_cost": "a healthy host is looked at once more",
            }
            for number in range(CLAIMS)
        ],
    }
