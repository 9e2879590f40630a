"""Tools of a server that is attacked: one that takes its time, and one that does not."""

import time
from typing import Final

from beliefd.tools import tool

SECONDS: Final = {"type": "number", "minimum": 0, "maximum": 60}
PATIENCE_MS: Final = 3_600_000


@tool(
    "bench.hang",
    schema={
        "type": "object",
        "properties": {"seconds": SECONDS},
        "required": ["seconds"],
        "additionalProperties": False,
    },
    tier="READ_ONLY",
    timeout_ms=PATIENCE_MS,
)
def hang(seconds: float) -> str:
    """Answer late."""
    time.sleep(seconds)
    return "late"


@tool("bench.echo", schema={"type": "object", "additionalProperties": False}, tier="READ_ONLY")
def echo() -> str:
    """Answer at once."""
    return "at once"
