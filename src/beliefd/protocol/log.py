"""The log: one tree over the hashes of all events of a server, and what it shows to outsiders."""

from typing import Annotated

from msgspec import Meta

from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.errors import Code, ErrorBody
from beliefd.kernel.values import Id, Value
from beliefd.protocol.operation import OPERATORS, SESSION, Answer, Operation, Parameter, Vocabulary, reads
from beliefd.protocol.rights import Right

Size = Annotated[int, Meta(ge=1, le=MAX_SAFE_INTEGER)]
NoteText = Annotated[str, Meta(min_length=1, max_length=100_000)]


class SignCheckpoint(Value, frozen=True):
    """Nothing needs to be said: everything that was recorded until now is covered."""


class Cosign(Value, frozen=True):
    """`note` is a checkpoint of this log with the signatures of witnesses under it."""

    note: NoteText


class AskedWitness(Answer, frozen=True):
    """A witness that this server submits checkpoints to, at `url`: the size that it has cosigned last, as far
    as this server knows, and what has come of the newest one otherwise."""

    url: str
    size: int | None = None
    failure: ErrorBody | None = None


class AnchorView(Answer, frozen=True):
    """A place that this server writes checkpoints to: the size of the last that reached it, and why no newer
    one has. Events up to that size are covered by an anchored checkpoint."""

    place: str
    size: int | None = None
    failure: str | None = None


class LogView(Answer, frozen=True):
    """`size` is how many events have a leaf, `covered` how many of them the newest checkpoint covers.

    `keys` are the public keys that checkpoints were signed with, the newest last: who has one of them from
    elsewhere can check that they are the log's own. `signed` is the newest checkpoint whoever has cosigned
    it: for witnesses. `asked_witnesses` are those that this server asks by itself, `anchors` the places that
    it writes checkpoints to.
    """

    origin: str | None
    size: int
    covered: int
    keys: list[str]
    witnesses: list[str]
    signed: str | None
    asked_witnesses: list[AskedWitness] = []
    anchors: list[AnchorView] = []


class Witnessed(Answer, frozen=True):
    """Who else has signed a checkpoint, and when they saw it."""

    key: str
    at: int


class CheckpointView(Answer, frozen=True):
    """`note` is the checkpoint itself, as a signed note: that is what outsiders keep and check."""

    origin: str
    size: int
    root: str
    note: str
    signed_at: str
    witnessed: list[Witnessed]


class ConsistencyProof(Answer, frozen=True):
    """Shows that the log of `to_size` begins with the log of `from_size`. Hashes are hexadecimal."""

    from_size: int
    to_size: int
    path: list[str]


class InclusionProof(Answer, frozen=True):
    """Shows that an event is leaf number `index` of the log of a size, and with that all events before it in
    its session, which it is chained to.

    `checkpoint` is the signed note of that size; it is null if none of that size was signed.
    """

    format: str
    session_id: str
    event_id: str
    seq: int
    hash: str
    index: int
    size: int
    root: str
    path: list[str]
    checkpoint: str | None


class LogRows(Vocabulary):
    """One tree over all events of a server, for those who do not trust it"""

    log_state = reads("/v1/log", LogView, "How long the log is, what is covered, and the keys that sign it")
    log_checkpoint = reads(
        "/v1/log/checkpoint",
        CheckpointView,
        "The newest signed checkpoint; with required witnesses, the newest that they have cosigned",
        errors=(Code.NOT_FOUND, Code.WITNESS_MISSING),
    )
    log_consistency = reads(
        "/v1/log/consistency",
        ConsistencyProof,
        "A proof that the log has only been added to between two sizes",
        query=(
            Parameter(name="from", kind=Size, summary="The size of the earlier checkpoint", required=True),
            Parameter(name="to", kind=Size, summary="That of the later one; the newest when left out"),
        ),
        errors=(Code.LOG_ROLLED_BACK, Code.NOT_FOUND, Code.WITNESS_MISSING),
    )
    audit_proof = reads(
        f"{SESSION}/audit/proof",
        InclusionProof,
        "A proof that an event, and all before it in its session, are in the log",
        query=(
            Parameter(
                name="event_id", kind=Id, summary="Which event; the last that is covered when left out"
            ),
            Parameter(name="size", kind=Size, summary="Of which checkpoint; the newest when left out"),
        ),
        errors=(Code.NOT_COVERED, Code.LOG_ROLLED_BACK, Code.NOT_FOUND, Code.WITNESS_MISSING),
    )
    sign_checkpoint = Operation(
        method="POST",
        path="/v1/log/checkpoint",
        body=SignCheckpoint,
        answer=CheckpointView,
        roles=OPERATORS,
        errors=(Code.LOG_KEY_UNKNOWN, Code.LOG_ROLLED_BACK, Code.SPLIT_VIEW),
        summary="Sign a checkpoint over everything that was recorded until now",
        example={},
    )
    add_cosignatures = Operation(
        method="POST",
        path="/v1/log/cosignatures",
        body=Cosign,
        answer=CheckpointView,
        right=Right.READ,
        errors=(Code.CHECKPOINT_FORGED, Code.NOT_FOUND),
        summary="Add the signatures of witnesses to a checkpoint of this log",
        example={"note": "<a checkpoint with a witness's signature under it>\n"},
    )
