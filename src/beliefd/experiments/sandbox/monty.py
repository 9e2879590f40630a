"""Plain Python in Monty: an interpreter and a process of its own, without files, network or modules.

The code defines `model(...)` with the inputs as parameters, by name. It is a function of them: `source` says
what it may be made of, and every replicate runs all of it anew, so a replicate can be run again alone.
"""

import datetime
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from beliefd.experiments.plan import Floats
from beliefd.experiments.sandbox.errors import ModelFailed
from beliefd.experiments.sandbox.source import REPLICATE, forgetful
from beliefd.extras import install

BLOCK_SECONDS: Final = 2.0
LIMITS: Final[dict[str, Any]] = {
    "max_feed_duration_secs": BLOCK_SECONDS,
    "max_memory": 128 << 20,
    "max_recursion_depth": 200,
    "max_suspensions": 1,
    "max_total_sleep_secs": 0.0,
}
# No model gets at a clock or a die. Should one do so after all, they stand still.
POLICY: Final[dict[str, Any]] = {
    "datetime": datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC),
    "sleep": "zero",
    "process_time": "zero",
    "random_start": {"seed": 0},
}
# A replicate that raises is one that failed; the others go on. Time and memory end the block.
LOOP: Final = f"""
__found = []
for __row in __rows:
    try:
        __found.append({REPLICATE}(__row))
    except (TimeoutError, MemoryError):
        raise
    except Exception:
        __found.append(None)
__found
"""


def run_python(source: str, inputs: Mapping[str, Floats]) -> Floats:
    """The model's output for each replicate. Whatever it tries, it ends in numbers or in ModelFailed."""
    try:
        import pydantic_monty
    except ImportError:
        told = f"`pydantic-monty` is not installed; {install('sandbox')}"
        raise ModelFailed(told) from None
    code = forgetful(source)
    names = list(inputs)
    rows = [
        dict(zip(names, row, strict=True))
        for row in zip(*(inputs[name].tolist() for name in names), strict=True)
    ]
    try:
        with (
            pydantic_monty.Monty(max_processes=1, request_timeout=2 * BLOCK_SECONDS) as pool,
            pool.checkout(limits=LIMITS, os_policy=POLICY) as session,  # type: ignore[arg-type]
        ):
            quiet = pydantic_monty.CollectString()
            session.feed_run(code, print_callback=quiet)
            found = session.feed_run(LOOP, inputs={"__rows": rows}, print_callback=quiet)
    except pydantic_monty.MontyError as error:
        raise ModelFailed(f"the model was stopped: {_kind(error)}") from None
    if not isinstance(found, list) or len(found) != len(rows):
        raise ModelFailed("the model gave no output for each replicate")
    return np.asarray([_number(value) for value in found])


def _kind(error: Exception) -> str:
    """The class of what was raised inside, if it is one of Python's; never its text."""
    inner = error.exception() if hasattr(error, "exception") else error
    return type(inner).__name__


def _number(value: object) -> float:
    try:
        return float(value) if isinstance(value, bool | int | float) else math.nan
    except OverflowError:
        return math.nan
