"""Where in a document something is: kept as links while walking, written out when something is found."""

import json
import re
from typing import Any, Final


class PathStep(str):
    """A step that is written as it is, such as `{}`; all other texts are names of fields."""

    __slots__ = ()


Place = tuple[Any, Any] | None
"""The place of the container and the step from there; None for the document itself."""

ROOT: Final[Place] = None
IN_JSON: Final = PathStep("{}")
IN_BROKEN_JSON: Final = PathStep("{?}")
IN_KEY: Final = PathStep("~")
IN_SET: Final = PathStep("[*]")

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_SHOWN: Final = 64


def written(place: Place) -> str:
    """The path to a place, from `$`."""
    steps = []
    while place is not None:
        place, step = place
        steps.append(_step(step))
    return "$" + "".join(reversed(steps))


def _step(step: object) -> str:
    if isinstance(step, PathStep):
        return str(step)
    if type(step) is int:
        return f"[{step}]"
    text = step if isinstance(step, str) else repr(step)
    if _NAME.fullmatch(text):
        return f".{text}"
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    # Only ASCII: a path must show what was hidden in a key, not hide it again.
    return f"[{json.dumps(shown)}]"
