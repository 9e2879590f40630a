"""Plain Python in Monty: an interpreter and a process of its own, without files, network or modules.

The code defines `model(...)` with the inputs as parameters, by name. It must be a function of them: `math` is
all that it may import, its clock stands still, so a replicate can be run again alone.
"""

import ast
import datetime
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from beliefd.experiments.plan import Floats
from beliefd.experiments.sandbox.errors import ModelFailed

MAX_SOURCE: Final = 20_000
BLOCK_SECONDS: Final = 2.0
LIMITS: Final[dict[str, Any]] = {
    "max_feed_duration_secs": BLOCK_SECONDS,
    "max_memory": 128 << 20,
    "max_recursion_depth": 200,
    "max_suspensions": 1,
    "max_total_sleep_secs": 0.0,
}
EPOCH: Final = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
# A replicate that raises is one that failed; the others go on. Time and memory end the block.
LOOP: Final = """
found = []
for row in rows:
    try:
        found.append(model(**row))
    except (TimeoutError, MemoryError):
        raise
    except Exception:
        found.append(None)
found
"""


def run_python(source: str, inputs: Mapping[str, Floats]) -> Floats:
    """The model's output for each replicate. Whatever it tries, it ends in numbers or in ModelFailed."""
    try:
        import pydantic_monty
    except ImportError:
        told = "`pydantic-monty` is not installed; `pip install 'beliefd[sandbox]'` brings it"
        raise ModelFailed(told) from None
    check_source(source)
    names = list(inputs)
    rows = [
        dict(zip(names, row, strict=True))
        for row in zip(*(inputs[name].tolist() for name in names), strict=True)
    ]
    try:
        with (
            pydantic_monty.Monty(max_processes=1, request_timeout=2 * BLOCK_SECONDS) as pool,
            pool.checkout(limits=LIMITS, os_policy={"datetime": EPOCH, "sleep": "zero"}) as session,  # type: ignore[arg-type]
        ):
            quiet = pydantic_monty.CollectString()
            session.feed_run(source, print_callback=quiet)
            found = session.feed_run(LOOP, inputs={"rows": rows}, print_callback=quiet)
    except pydantic_monty.MontyError as error:
        raise ModelFailed(f"the model was stopped: {_kind(error)}") from None
    if not isinstance(found, list) or len(found) != len(rows):
        raise ModelFailed("the model gave no output for each replicate")
    return np.asarray([_number(value) for value in found])


def check_source(source: str) -> None:
    """INVARIANT: a model is a function of its inputs, so there is nothing to import but arithmetic."""
    if len(source) > MAX_SOURCE:
        raise ModelFailed(f"a model's code has at most {MAX_SOURCE} characters")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ModelFailed("the model's code is not Python") from None
    for node in ast.walk(tree):
        imported = [name.name for name in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            imported = [node.module or ""]
        if any(name != "math" for name in imported):
            raise ModelFailed("a model may import `math` only")
    if not any(isinstance(node, ast.FunctionDef) and node.name == "model" for node in tree.body):
        raise ModelFailed("the model's code defines no function `model`")


def _kind(error: Exception) -> str:
    """The class of what was raised inside, if it is one of Python's; never its text."""
    inner = error.exception() if hasattr(error, "exception") else error
    return type(inner).__name__


def _number(value: object) -> float:
    try:
        return float(value) if isinstance(value, bool | int | float) else math.nan
    except OverflowError:
        return math.nan
