"""Whose word on what an agent was told counts, and how much of it is kept."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.kernel.names import ALL, covers, refuse_loose
from beliefd.kernel.values import Id, Principal, Role, Value

MAX_CONTEXT_BYTES: Final = 1024 * 1024
MAX_CONTEXT_ITEMS: Final = 20_000

Reading = Literal["resources", "prompts"]
READ_BY: Final[dict[str, Reading]] = {"resources/read": "resources", "prompts/get": "prompts"}
"""What a gateway passes on beside results of tools, by the name under which it is told."""
ToolKind = Literal["read", "directory", "open", "egress", "write"]


class ContextPolicy(Value, frozen=True):
    """With it, facts about where values came from are found out for every call.

    `tellers` are the principals whose context counts, by id or all of `prefix/*`: of a prefix, those with the
    role `tool`. What `witnesses` report of results counts as witnessed. `own_addresses` are the user's own.
    `tools` says what tools do that their callers run and whose names do not tell, by id or all of a prefix:
    `directory` reads who is who, `open` reads what strangers write, `egress` reads at an address it is given.
    What changes nothing but files inside the user's project counts as harmless where `project` is `free`.
    `max_bytes` and `max_items` are how large one item may be, and how many a session takes. What is `closed`
    no gateway passes on, whatever its own file opens.
    """

    tellers: tuple[Id, ...] = ("gateway://*", "hook://*", "adapter://*")
    witnesses: tuple[Id, ...] = ("gateway://*",)
    own_addresses: Annotated[tuple[Id, ...], msgspec.Meta(max_length=1_000)] = ()
    tools: Annotated[dict[Id, ToolKind], msgspec.Meta(max_length=10_000)] = {}
    project: Literal["free", "judged"] = "judged"
    lexicon: Literal["all", "de", "en", "es"] = "en"
    max_bytes: Annotated[int, msgspec.Meta(ge=1, le=16 * 1024 * 1024)] = MAX_CONTEXT_BYTES
    max_items: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = MAX_CONTEXT_ITEMS
    # Not in the hash while it is not given: what was adopted before there was any keeps its hash.
    closed: Annotated[tuple[Reading, ...], msgspec.Meta(max_length=2)] | UnsetType = UNSET

    def __post_init__(self) -> None:
        refuse_loose(self.tellers, "/", "tellers")
        refuse_loose(self.witnesses, "/", "witnesses")
        refuse_loose(self.tools, "./:_", "tools")

    def may_tell(self, who: Principal) -> bool:
        return _is_among(self.tellers, who)

    def kind_of(self, tool_id: str) -> ToolKind | None:
        """What the operator says that a tool does: of the names that cover it, the longest counts."""
        found = [pattern for pattern in self.tools if covers(pattern, tool_id)]
        return self.tools[max(found, key=len)] if found else None

    @property
    def harmless(self) -> tuple[str, ...]:
        """How far a command may reach and still count as reading."""
        return ("reads", "project") if self.project == "free" else ("reads",)

    def is_witness(self, who: Principal) -> bool:
        return _is_among(self.witnesses, who)


def _is_among(patterns: tuple[str, ...], who: Principal) -> bool:
    """INVARIANT: an agent is no teller by a name that somebody gave to it, unless policy names just that."""
    return any(
        covers(pattern, who.id) and (who.role is Role.TOOL or ALL not in pattern) for pattern in patterns
    )
