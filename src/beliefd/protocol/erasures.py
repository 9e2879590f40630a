"""Erasures: what stands beside the ledger under a digest, and what people have had taken away there."""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from beliefd.kernel.erasures.commands import MAX_ERASED, Grounds
from beliefd.kernel.errors import Code
from beliefd.kernel.experiments.plan import Hex64
from beliefd.kernel.values import Id, Value
from beliefd.protocol.operation import (
    ON_WRITING,
    OPERATORS,
    PAGE,
    SESSION,
    Answer,
    Operation,
    Vocabulary,
    reads,
)

PARTS: Final = f"{SESSION}/parts"


class ErasureRequest(Value, frozen=True):
    """What to erase: content and withheld parts by `digests`, all that these `events` withhold, or all texts
    that the session was told (`context`). `reason` stays in the ledger for ever: do not repeat there what is
    erased."""

    reason: Grounds
    digests: Annotated[tuple[Hex64, ...], Meta(max_length=MAX_ERASED)] = ()
    events: Annotated[tuple[Id, ...], Meta(max_length=MAX_ERASED)] = ()
    context: bool = False


class ErasureAnswer(Answer, frozen=True):
    """`erased` are the digests that this request has had erased, by `events`; none, if all were before.

    `swept` says whether the files of the store are rid of it, too: not, as long as somebody else reads them.
    """

    events: list[str]
    erased: list[str]
    swept: bool


class PartView(Answer, frozen=True):
    """A part of an entry that stands beside the ledger, as it is now. `value` is there while it is kept; one
    that is `absent` was not erased, and is not here either."""

    seq: int
    event_id: str
    verb: str
    path: str
    digest: str
    state: Literal["kept", "erased", "absent"]
    value: Any
    erased_by: str | None


class PartPage(Answer, frozen=True):
    """In the order of the ledger. `next` goes on, also where few of many entries withhold something."""

    items: list[PartView]
    next: str | None


class ErasureRows(Vocabulary):
    """What stands beside the ledger under a digest, and can be erased there"""

    erase = Operation(
        method="POST",
        path=f"{SESSION}/erasures",
        body=ErasureRequest,
        answer=ErasureAnswer,
        roles=OPERATORS,
        notes=True,
        errors=(Code.CONTENT_NOT_FOUND, *ON_WRITING),
        summary="Erase texts and content that a session mentions by digest; its ledger still verifies",
        example={"context": True, "reason": "asked for by the person it is about, ticket 4711"},
    )
    list_parts = reads(
        PARTS,
        PartPage,
        "What entries of a session withhold, with what it says as long as that is kept",
        query=PAGE,
        errors=(Code.SESSION_NOT_FOUND,),
    )
