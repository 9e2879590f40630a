"""Context: what an agent was told and what its tools gave back, told by whom policy names."""

from typing import Any, Final

from msgspec import UNSET, UnsetType

from beliefd.kernel.context.commands import ANNOUNCEMENT, AddContext, ContextKind
from beliefd.kernel.errors import Code
from beliefd.kernel.labels import Label
from beliefd.kernel.values import Id, Object, Value
from beliefd.protocol.operation import ON_WRITING, PAGE, SESSION, Answer, Operation, Vocabulary, reads

CONTEXT: Final = f"{SESSION}/context"


class ContextRequest(Value, frozen=True):
    """What the user or the system said, an address of the user's own, or what a tool gave back.

    `structured` is a result in a structure, `args` what the tool was asked; with `call_id` that is known. An
    `announcement` has a `join_key` and no text: a call with that key is about to be made from this session.
    """

    kind: ContextKind
    text: str = ""
    structured: Any | UnsetType = UNSET
    tool_id: Id | None = None
    args: Object = {}
    call_id: Id | None = None
    join_key: Id | None = None
    error: bool = False

    def __post_init__(self) -> None:
        said = self.text != "" or self.structured is not UNSET
        if self.kind == ANNOUNCEMENT:
            if self.join_key is None or said or self.args:
                raise ValueError("an announcement has a `join_key`, and neither text nor arguments")
        elif self.kind != "result":
            if not self.text or self.structured is not UNSET or self.args:
                raise ValueError(f"context of kind `{self.kind}` is a `text`, and nothing else")
        elif self.tool_id is None and self.call_id is None:
            raise ValueError("a result names its tool: give `tool_id` or `call_id`")


class ContextAnswer(Answer, frozen=True):
    """Where what was told stands."""

    context_id: str
    seq: int


class ContextView(Answer, frozen=True):
    """What was told, without its text: that is under `content`, while it is `kept`.

    A result without `content` stands in the ledger, with the call that it came of.
    """

    number: int
    context_id: str
    kind: ContextKind
    label: Label
    told_by: str
    content: str | None
    size: int
    kept: bool
    tool_id: str | None
    call_id: str | None
    join_key: str | None
    error: bool


class ContextPage(Answer, frozen=True):
    """What a session was told, oldest first."""

    items: list[ContextView]
    next: str | None = None


class JoinAnswer(Answer, frozen=True):
    """The session that a call was announced from."""

    session_id: str


class ContextRows(Vocabulary):
    """What an agent was told and what its tools gave back"""

    add_context = Operation(
        method="POST",
        path=CONTEXT,
        body=ContextRequest,
        answer=ContextAnswer,
        status=201,
        if_match=True,
        idempotency_key=True,
        notes=True,
        errors=(Code.NOT_FOUND, *ON_WRITING),
        command=AddContext,
        summary="Tell what the agent was told, what a tool gave back, or which call is about to be made",
        beside=True,
        example={"kind": "user", "text": "Send the minutes to anna@example.com"},
    )
    list_context = reads(CONTEXT, ContextPage, "What a session was told, by digest", query=PAGE)
    show_join = reads(
        "/v1/joins/{join_key}",
        JoinAnswer,
        "The session from which a call with this key was announced, by the caller's own owner, minutes ago",
        beside=True,
        errors=(Code.NOT_FOUND,),
    )
