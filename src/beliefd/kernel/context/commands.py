"""What can be asked about context."""

from typing import Final, Literal

from beliefd.kernel.experiments.plan import Hex64
from beliefd.kernel.values import Count, Id, Value

ContextKind = Literal["user", "system", "own_address", "result", "announcement"]
ANNOUNCEMENT: Final = "announcement"


class AddContext(Value, frozen=True, tag_field="verb", tag="ADD_CONTEXT"):
    """Something that the agent was told or that a tool gave back. Its text is `content`, beside the ledger.

    An announcement has no text: a call with this `join_key` is about to be made from this session.
    """

    kind: ContextKind
    content: Hex64 | None = None
    size: Count = 0
    tool_id: Id | None = None
    call_id: Id | None = None
    join_key: Id | None = None
    error: bool = False

    def __post_init__(self) -> None:
        if self.kind == ANNOUNCEMENT:
            if self.join_key is None or self.content is not None:
                raise ValueError("an announcement has a `join_key` and no text")
        elif self.content is None:
            raise ValueError(f"context of kind `{self.kind}` has a text")
        if self.kind == "result" and self.tool_id is None and self.call_id is None:
            raise ValueError("a result names its tool: give `tool_id` or `call_id`")


ContextCommand = AddContext
