"""What is declared about tools, as far as it tells where values may come from and go to."""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from beliefd.kernel.catalogues.state import OfferedTool
from beliefd.kernel.context.policy import ContextPolicy, ToolKind
from beliefd.kernel.origin import Lexicon, ToolInfo
from beliefd.kernel.origin.tools import Tier, as_hinted
from beliefd.kernel.substrate.tools import ToolDefinition

TIER_OF: Final[Mapping[ToolKind, Tier]] = {
    "read": "read",
    "directory": "read",
    "open": "read",
    "egress": "egress",
    "write": "write",
}
UNDECLARED: Final = ToolDefinition(executor="caller")


def info_of(tool_id: str, definition: ToolDefinition, policy: ContextPolicy) -> ToolInfo:
    """INVARIANT: a tool that its caller runs only reads if its name or the operator says so: that nobody said
    that it writes is no declaration."""
    writes = definition.tier != "READ_ONLY" or definition.mutates or bool(definition.fs_write_args)
    info = ToolInfo(
        tool_id=tool_id,
        description=definition.description,
        schema=definition.schema,
        tier=None if definition.is_run_by_caller else "read",
        destructive=True if definition.tier in ("DELETE", "PRIVILEGE") else None,
    )
    return replace(info, tier="write") if writes else as_operator_says(info, policy)


def as_operator_says(info: ToolInfo, policy: ContextPolicy) -> ToolInfo:
    said = policy.kind_of(info.tool_id)
    if said is None:
        return info
    opens = True if said == "open" else info.open_world
    return replace(info, tier=TIER_OF[said], open_world=opens, identity=said == "directory" or info.identity)


def hinted_info(tool: OfferedTool, lexicon: Lexicon, *, trusted: bool) -> ToolInfo:
    """What a tool's own server says of it, as far as that counts."""
    info = ToolInfo(
        tool_id=tool.name,
        description=tool.description,
        schema=tool.input_schema,
        open_world=tool.hints("openWorldHint"),
        destructive=tool.hints("destructiveHint"),
    )
    return as_hinted(info, tool.hints("readOnlyHint"), lexicon, trusted=trusted)


def pinned_info(
    tool: OfferedTool, named: ToolDefinition | None, policy: ContextPolicy, lexicon: Lexicon, trusted: bool
) -> ToolInfo:
    """What a tool's own server says of it, as it was pinned, and what policy says, which counts more.

    Where nobody says whether it reads or writes, its name does.
    """
    info = hinted_info(tool, lexicon, trusted=trusted)
    if named is not None and (named.tier != "READ_ONLY" or named.mutates):
        return replace(info, tier="write")
    return as_operator_says(info, policy)
