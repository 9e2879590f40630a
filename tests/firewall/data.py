"""Numbers as a machine measures them: noise without a pattern, so that every check can pass."""

import random
from typing import Any

_noise = random.Random(41)
WAITS = [round(_noise.gauss(40.0, 0.4), 2) for _ in range(60)]
"""How long a wait takes, in milliseconds."""


def prediction(value: float = 40.0, tolerance: float = 2.0, **more: Any) -> dict[str, Any]:
    """That a wait takes so long, give or take so much."""
    criterion = {"region": "tolerance", "value": value, "tolerance": tolerance}
    return {"quantity": "wait", "unit": "ms", "criterion": criterion, **more}
