"""A stand-in for the engine, until it is there: one origin per value, by plain text search."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import UNSET

from beliefd.kernel.values import Id, Object, Value


class Lexicon(Value, frozen=True):
    pass


class ToolInfo(Value, frozen=True):
    tool_id: Id
    description: str = ""
    schema: Object = {}
    tier: Literal["read", "egress", "write"] | None = None
    open_world: bool | None = None
    destructive: bool | None = None
    identity: bool = False


class ContextItem(Value, frozen=True):
    kind: Literal["system", "user", "own_address", "result"]
    text: str = ""
    structured: Any = UNSET
    tool_id: Id | None = None
    args: Object = {}
    call_id: Id | None = None
    error: bool = False


class Sinks(Value, frozen=True):
    worst: str = "none"


class CallFacts(Value, frozen=True):
    tier: str
    sinks: Sinks = Sinks()
    reasons: tuple[str, ...] = ()


class Session:
    def __init__(self, lexicon: Lexicon) -> None:
        self.items: list[ContextItem] = []

    def tell(self, item: ContextItem) -> None:
        self.items.append(item)

    def facts(self, tool: ToolInfo, args: Object, catalogue: Mapping[Id, ToolInfo]) -> CallFacts:
        worst, reasons = "none", []
        for name, value in args.items():
            kinds = {one.kind for one in self.items if str(value) in one.text}
            origin = "user" if "user" in kinds else ("text" if "result" in kinds else "model")
            if origin != "user":
                worst = origin
                reasons.append(f"`{name}` `{value}` is from {origin}")
        return CallFacts(tier=tool.tier or "write", sinks=Sinks(worst=worst), reasons=tuple(reasons))

    def refused(self, facts: CallFacts) -> None: ...


def judge(facts: CallFacts) -> tuple[str, str, str]:
    return ("allow", "1", "") if facts.tier == "read" else ("ask", "4", "")
