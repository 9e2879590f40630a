"""Tools that their callers run: declared by policy, known by their exact names."""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

from beliefd.kernel.canonical import digest
from beliefd.kernel.names import ALL
from beliefd.kernel.policy import Policy
from beliefd.kernel.scan.spelling import plain
from beliefd.kernel.substrate.schemas import BadSchema, Schema
from beliefd.kernel.substrate.tools import ToolDefinition
from beliefd.tools.registry import Registry

MOST_KNOWN: Final = 10_000
"""Names are strangers' texts: of what was worked out for them, so much is kept."""


class CallerTool(Struct, frozen=True):
    """A tool that its caller runs, with all that is asked of its definition per call."""

    tool_id: str
    definition: ToolDefinition
    definition_hash: str
    schema: Schema | BadSchema

    def argument_errors(self, args: object) -> tuple[str, ...]:
        if isinstance(self.schema, BadSchema):
            return (f"the schema of this tool is none: {self.schema}",)
        return self.schema.errors(args)


def caller_tool(tool_id: str, definition: ToolDefinition) -> CallerTool:
    try:
        schema: Schema | BadSchema = Schema(definition.schema)
    except BadSchema as error:
        schema = error
    told = {"tool_id": tool_id, "definition": msgspec.to_builtins(definition)}
    return CallerTool(tool_id, definition, digest(told), schema)


Offered = Mapping[tuple[str, str], CallerTool | None]
"""By catalogue and name, the tool that is pinned there; None if there is none that can be called."""


class DeclaredTools:
    """The tools of one policy, worked out when first asked for."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._known: dict[str, CallerTool | None] = {}

    def get(self, tool_id: str, registry: Registry) -> CallerTool | None:
        if tool_id not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[tool_id] = self._found(tool_id, registry)
        return self._known[tool_id]

    def _found(self, tool_id: str, registry: Registry) -> CallerTool | None:
        tools = self.policy.tools
        definition = tools.get(tool_id)
        if definition is None and tool_id != ALL and not self._looks_like_another(tool_id, registry):
            definition = tools.get(ALL)
        if tool_id == ALL or definition is None or not definition.is_run_by_caller:
            return None
        return caller_tool(tool_id, definition)

    def _looks_like_another(self, tool_id: str, registry: Registry) -> bool:
        """INVARIANT: what only looks like a tool with a rule of its own does not pass as one without."""
        look = _look_of(tool_id)
        named = (*self.policy.tools, *(one.tool_id for one in registry.all()))
        return look is None or any(look == _look_of(name) for name in named if name != ALL)


def _look_of(name: str) -> str | None:
    """A name as it may look to a person: without case, accents, blanks and foreign letters."""
    folded = plain(name)
    return None if folded is None else "".join(folded.split())


_last: DeclaredTools | None = None


def declared_tool(tool_id: str, policy: Policy, registry: Registry) -> CallerTool | None:
    """The tool of this name that policy says its caller runs. One that is registered here never is."""
    global _last  # noqa: PLW0603 - one policy is in force at a time; another one is worked out anew
    if _last is None or _last.policy is not policy:
        _last = DeclaredTools(policy)
    return _last.get(tool_id, registry)
