"""What both sides are given to do: the same hypotheses, the same observations, the same justification."""

from hashlib import sha256
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


DISTINCT: Final = 512
"""So many bundles differ before they come again: more sources and times than anybody remembers."""


def distinct(number: int) -> dict[str, Any]:
    """The same with statements, sources, hashes, times and numbers of its own: no cache knows any of them."""
    made = bundle()
    made["claims"] = [_own(claim, number * CLAIMS + place) for place, claim in enumerate(made["claims"])]
    return made


def _own(claim: dict[str, Any], number: int) -> dict[str, Any]:
    minutes, hours = number % 60, number // 60 % 24
    at = f"{hours:02}:{minutes:02}"
    pointer = {
        "source": f"https://metrics.example/pool/{number}?at={at}",
        "source_confidence": (900 + number % 99) / 1001,
        "evidence_hash": sha256(str(number).encode()).hexdigest(),
        "retrieved_at": f"2026-01-{1 + number // 1440:02}T{at}:{number % 59:02}Z",
    }
    return {
        **claim,
        "statement": f"host {number} of the checkout service holds {number * 13 % 997} idle connections",
        "evidence_pointers": [pointer],
        "uncertainty": {
            "method": "semantic_entropy",
            "value": (1 + number % 300) / 1009,
            "interpretation": f"answers {number} agree",
        },
        "if_wrong_cost": f"healthy host {number} is looked at once more",
    }


def bundles(alike: bool) -> list[dict[str, Any]]:
    """What is submitted, one after the other and again."""
    return [bundle()] if alike else [distinct(number) for number in range(DISTINCT)]
