"""Where the kernel writes down a call for constraints to read, and from when on times are counted."""

from datetime import UTC, datetime
from typing import Final

from beliefd.kernel.substrate.predicates import CALL

TOOL: Final = f"{CALL}.tool_id"
ARGS: Final = f"{CALL}.args"
NOW: Final = f"{CALL}.now"
AGENT: Final = f"{CALL}.agent_id"
ROLE, MODE = f"{CALL}.role", f"{CALL}.mode"
AGENT_TIER, TOOL_TIER, MUTATES = f"{CALL}.agent_tier", f"{CALL}.tier", f"{CALL}.mutates"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
