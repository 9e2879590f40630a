"""Catalogues: the tools that other servers offer, pinned as they were first seen."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from beliefd.kernel.catalogues.state import OfferedTool
from beliefd.kernel.errors import Code
from beliefd.kernel.values import Id, TierName, Upstream, Value
from beliefd.protocol.operation import OF_SPACE, ON_WRITING, Answer, Operation, Vocabulary, reads

CATALOGUE: Final = "/v1/catalogues/{upstream}"


class CatalogueRequest(Value, frozen=True):
    """All tools that an upstream offers now. It is kept in the caller's space, unless `space` says which."""

    tools: Annotated[tuple[OfferedTool, ...], Meta(max_length=1_000)]
    space: Id | None = None


class WaitingTool(Answer, frozen=True):
    """A tool that cannot be called: it is `changed`, `new`, or a person has `rejected` what it is now."""

    name: str
    approval_id: str
    what: Literal["changed", "new", "rejected"]


class OfferedTools(Answer, frozen=True):
    """`pinned` can be called, `waiting` cannot. `gone` are pinned and not offered any more."""

    upstream: str
    session_id: str
    pinned: list[str]
    waiting: list[WaitingTool]
    gone: list[str]


class PinnedTool(Answer, frozen=True):
    """A tool as it is pinned. `tier` is the one that counts."""

    name: str
    tool: OfferedTool
    definition_hash: str
    pinned_at: str
    tier: TierName
    mutates: bool


class CatalogueView(Answer, frozen=True):
    """Tools of another server: those that were taken in, and those that wait for a person."""

    upstream: str
    session_id: str
    tools: list[PinnedTool]
    waiting: list[WaitingTool]


class CatalogueRows(Vocabulary):
    """The tools that other servers offer, pinned as they were first seen"""

    pin_tools = Operation(
        method="POST",
        path=CATALOGUE,
        path_kinds={"upstream": Upstream},
        body=CatalogueRequest,
        answer=OfferedTools,
        notes=True,
        errors=(Code.NOT_FOUND, *ON_WRITING),
        summary="Pin what is new in a catalogue; what changed waits for a person, and cannot be called",
        beside=True,
        example={
            "tools": [
                {
                    "name": "read_file",
                    "description": "Read a file",
                    "input_schema": {"type": "object", "required": ["path"]},
                    "annotations": {"readOnlyHint": True},
                }
            ]
        },
    )
    show_catalogue = reads(
        CATALOGUE,
        CatalogueView,
        "The pinned tools of a catalogue, and those that wait for a person",
        path_kinds={"upstream": Upstream},
        query=(OF_SPACE,),
        errors=(Code.NOT_FOUND,),
    )
