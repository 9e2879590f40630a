"""Sessions that are sealed and put away: out of the store, and back."""

from typing import Annotated

from msgspec import Meta

from beliefd.kernel.errors import Code
from beliefd.kernel.transfers.commands import SealSession, UnsealSession
from beliefd.kernel.transfers.state import MAX_SOURCE
from beliefd.kernel.values import Digest, Value
from beliefd.protocol.beliefs import ArchivedSession, BeliefSnapshot, Recorded
from beliefd.protocol.operation import (
    LINES,
    MIB,
    OPERATORS,
    SESSION,
    Answer,
    Operation,
    Parameter,
    Vocabulary,
    writes,
)

Place = Annotated[str, Meta(min_length=1, max_length=MAX_SOURCE)]


class ArchiveSession(Value, frozen=True):
    """Take a sealed ledger out of the store, whose export is kept at `place` in a file with this hash."""

    place: Place
    sha256: Digest


class BroughtBack(Answer, frozen=True):
    """An archived session that is here again, still sealed."""

    session_id: str
    events: int
    snapshot: BeliefSnapshot


class ArchiveRows(Vocabulary):
    """Sessions that are sealed and put away"""

    seal_session = writes(
        f"{SESSION}/seal",
        SealSession,
        Recorded,
        "Let nothing more be written into a session, so that it can be archived",
        errors=(Code.FORBIDDEN,),
        roles=OPERATORS,
        example={"reason": "closed since March"},
    )
    unseal_session = writes(
        f"{SESSION}/unseal",
        UnsealSession,
        Recorded,
        "Let a sealed session go on",
        errors=(Code.FORBIDDEN,),
        roles=OPERATORS,
        example={"reason": "the incident came back"},
    )
    archive_session = Operation(
        method="POST",
        path=f"{SESSION}/archive",
        body=ArchiveSession,
        answer=ArchivedSession,
        roles=OPERATORS,
        errors=(Code.CONFLICT, Code.ARCHIVE_INVALID),
        summary="Take a sealed ledger out of the store, after its export was kept elsewhere",
        example={"place": "s3://ledgers/2026/incident.jsonl", "sha256": "0" * 64},
    )
    unarchive_session = Operation(
        method="POST",
        path=f"{SESSION}/unarchive",
        answer=BroughtBack,
        roles=OPERATORS,
        body_media=LINES,
        content="JSON Lines",
        max_body=256 * MIB,
        query=(Parameter(name="place", kind=Place, summary="Where the file was found"),),
        errors=(Code.CONFLICT, Code.ARCHIVE_INVALID),
        summary="Put an archived ledger back, if it is the one that was taken out",
        example="<the lines of the archived ledger>\n",
    )
