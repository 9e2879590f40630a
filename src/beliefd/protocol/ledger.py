"""The ledger: read it, verify it, ask it why, take it elsewhere."""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from beliefd.kernel.beliefs.commands import Citation, Merge
from beliefd.kernel.beliefs.state import Status
from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.errors import Code
from beliefd.kernel.labels import Label
from beliefd.kernel.transfers.state import Foreign
from beliefd.kernel.values import Head, Id, Object, Value
from beliefd.protocol.beliefs import BeliefSnapshot, BrokenLedger, Eliminated, RestsOn
from beliefd.protocol.operation import (
    LINES,
    MIB,
    OF_SPACE,
    ON_WRITING,
    OPERATORS,
    SESSION,
    SPACE,
    Answer,
    Operation,
    Parameter,
    Vocabulary,
    asks,
    reads,
)

AUDIT_PAGE = 10_000
"""An audit answer holds at most this many entries; `next` says where to go on."""
CONCLUSIONS_PAGE = 100
"""So many accepted conclusions a counterfactual weighs in one answer; `conclusions_next` goes on."""
SOLE_SPEAKERS = 100
SOLE_NAMES = 100
"""Of those on whom a conclusion hangs alone so many are listed, each with so many hypotheses."""
InLedger = Annotated[str, Meta(pattern=r"^[0-9]{1,15}\.[0-9]{1,9}$")]
"""A `seq`, and how much of what its entry says was told."""
AfterEntry = Annotated[str, Meta(pattern=r"^[^,]{1,256},[0-9]{1,15}$")]
"""A session, and a `seq` in it."""
# Only days that there are: what the document allows is what the server takes.
_DAY = (
    "([1-9][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    "|02-(0[1-9]|1[0-9]|2[0-8]))|([1-9][0-9](0[48]|[2468][048]|[13579][26])|2000)-02-29)"
)
_HOUR = "([01][0-9]|2[0-3]):[0-5][0-9]"
# A `+` in an address is a blank, unless it is written as `%2B`.
DayOrTime = Annotated[
    str, Meta(pattern=f"^{_DAY}(T{_HOUR}:[0-5][0-9]([.][0-9]{{1,6}})?(Z|[+ -]{_HOUR}))?$(?!\\n)")
]
"""A day in UTC, or a time with its offset."""
DAY_OR_TIME = "a day as in `2026-01-31`, or a time with `Z` or an offset as in `2026-01-31T14:00:00+02:00`"
Named = Annotated[tuple[Id, ...], Meta(max_length=1_000)]


class Without(Value, frozen=True):
    """Whose eliminations to imagine away: of sources, of principals, or all that are attested."""

    source_ids: Named = ()
    principals: Named = ()
    attested: bool = False


class AskCounterfactual(Value, frozen=True):
    """`conclusions_after` is `conclusions_next` of the answer before."""

    without: Without
    conclusions_after: Id | None = None


class AuditPage(Answer, frozen=True):
    """`next` is the event id to continue from (`since_event_id`) when there is more."""

    events: list[dict[str, Any]]
    next: str | None


class AuditFound(Answer, frozen=True):
    """Entries that were found, session by session, each in its order. `looked_at` is how many were read for
    that; `next` goes on, also where an answer without a hit had looked at as many as one answer may.
    `archived` is how many sessions are archived, 1,000 at most: their ledgers are not searched here. `broken`
    are the sessions whose ledgers do not verify: they are not searched either, and hide no others."""

    events: list[dict[str, Any]]
    next: str | None
    looked_at: int
    archived: int = 0
    broken: list[BrokenLedger] = []


class FirstBad(Answer, frozen=True):
    """The first event of a ledger that does not hold, and why."""

    seq: int
    event_id: str | None
    reason: str


class Verified(Answer, frozen=True):
    """Whether a ledger holds, event by event.

    Of the parts that entries withhold, `erased` were erased as an event says; `absent` are neither erased nor
    here. Without them everything is recomputed but for what the door read in them.
    """

    ok: bool
    checked: int
    first_bad: FirstBad | None
    head: Head | None
    withheld: int = 0
    erased: int = 0
    absent: int = 0


class Testimony(Answer, frozen=True):
    """One event that spoke against a hypothesis; `applied` marks the one that eliminated it.

    `actor` is the principal who spoke; it is null for what was merged before merges told it. `label` says
    whether somebody else has witnessed what the elimination rests on, `cites` what that is. `unsaid` is why
    a merged elimination has no `justification` here: it was nested too deep for a merge, policy keeps such
    texts beside the ledger, or merges did not tell it yet. It stands in the ledger of the replica.
    """

    __test__ = False  # its name begins like that of a test, and it is none

    event_id: str
    seq: int
    ts: str
    source_id: str
    observation_id: str
    justification: Object
    applied: bool
    actor: str | None
    label: Label
    cites: list[Citation]
    merged_from: str | None = None
    unsaid: Literal["too_deep", "withheld", "untold"] | None = None


UNSAID: Final[dict[str, str]] = {
    "too_deep": "its justification was nested too deep for a merge; the replica has it",
    "withheld": "its justification is kept beside the ledger; the replica has it",
    "untold": "merges did not take justifications over yet; the replica has it",
}

TriedKind = Literal["elimination_refused", "prediction", "experiment", "claim"]


class Tried(Answer, frozen=True):
    """Something that named a hypothesis and did not eliminate it: what it was, by whom, and what it came to.

    `id` is that of the observation, the proposition, the experiment or the claim.
    """

    kind: TriedKind
    id: str
    event_id: str
    seq: int
    ts: str
    actor: str
    came_to: str
    details: Object


class Why(Answer, frozen=True):
    """Why a hypothesis was eliminated, or why it still stands: who spoke against it, and what was `tried`.

    An answer holds some megabytes; `next` is the cursor of what follows in the ledger. What stands at or
    before the head of `foreign` was said elsewhere.
    """

    hypothesis: str
    survives: bool
    events: list[Testimony]
    tried: list[Tried]
    next: str | None = None
    foreign: Foreign | None = None


class ConclusionBasis(Answer, frozen=True):
    """How one accepted conclusion fares in the counterfactual, and which sources and principals it hangs on
    alone: the first 100 by name, each with its first 100 hypotheses. The counts are of all hypotheses, and
    `n_sole_sources` and `n_sole_principals` of all that it hangs on alone. `rests_on` is what the session
    rested on when it was accepted."""

    conclusion_id: str
    event_id: str
    accepted_without: bool
    n_survivors_then: int
    n_survivors_without: int
    rests_on_removed: bool
    sole_sources: dict[str, list[str]]
    sole_source_counts: dict[str, int]
    n_sole_sources: int
    sole_principals: dict[str, list[str]]
    sole_principal_counts: dict[str, int]
    n_sole_principals: int
    rests_on: RestsOn


class Counterfactual(Answer, frozen=True):
    """`restored` has the first names, `conclusions` one page; `n_restored` and `n_conclusions` are exact."""

    without_source_ids: list[str]
    without_principals: list[str]
    without_attested: bool
    survivors: list[str]
    n_survivors: int
    restored: list[str]
    n_restored: int
    status: Status
    rests_on: RestsOn
    conclusions: list[ConclusionBasis]
    n_conclusions: int
    conclusions_next: str | None


class Imported(Answer, frozen=True):
    """A ledger that was verified and taken in."""

    session_id: str
    events: int
    snapshot: BeliefSnapshot


class LedgerRows(Vocabulary):
    """What happened, why, and whether it can be believed"""

    audit_trace = reads(
        f"{SESSION}/audit",
        AuditPage,
        "The ledger, entry by entry",
        query=(
            Parameter(
                name="limit",
                kind=Annotated[int, Meta(ge=1, le=AUDIT_PAGE)],
                default=AUDIT_PAGE,
                summary="How many entries per page",
            ),
            Parameter(name="since_event_id", kind=Id, summary="Only entries after this one"),
            Parameter(
                name="after",
                kind=Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)],
                summary="Only entries after the one with this `seq`",
            ),
        ),
    )
    search_audit = reads(
        "/v1/audit",
        AuditFound,
        "Search the ledgers of all sessions that the caller may see: by who, by tool, by time, by words",
        query=(
            Parameter(name="cursor", kind=AfterEntry, summary="`next` of the page before"),
            Parameter(
                name="limit",
                kind=Annotated[int, Meta(ge=1, le=500)],
                default=50,
                summary="How many entries per page",
            ),
            Parameter(name="session", kind=Id, summary="Only entries of this session"),
            Parameter(name="actor", kind=Id, summary="Only what was done by somebody whose id contains this"),
            Parameter(name="tool", kind=Id, summary="Only what names this tool"),
            Parameter(name="verb", kind=Id, summary="Only entries of this verb"),
            Parameter(name="text", kind=Id, summary="Only entries that contain these words, in any case"),
            Parameter(
                name="since",
                kind=DayOrTime,
                summary="Only entries of this time or later, or from this day (`2026-01-31`, in UTC) on",
                fits=DAY_OR_TIME,
            ),
            Parameter(
                name="until",
                kind=DayOrTime,
                summary="Only entries of this time or earlier; this day (`2026-01-31`, in UTC) is included",
                fits=DAY_OR_TIME,
            ),
            OF_SPACE,
        ),
        errors=(Code.SESSION_NOT_FOUND,),
    )
    verify = reads(
        f"{SESSION}/audit/verify", Verified, "Recompute the whole chain and name the first bad event"
    )
    export = reads(
        f"{SESSION}/audit/export",
        bytes,
        "The ledger as JSON Lines, ready for any verifier",
        media=LINES,
        query=(
            Parameter(
                name="parts",
                kind=Literal["kept"],
                summary="With what its entries withhold, as far as that is kept; without it, if left out",
            ),
        ),
        stream="A header line, then one entry per line",
    )
    events = reads(
        f"{SESSION}/events",
        bytes,
        "Live feed of entries; resumes from Last-Event-ID",
        media="text/event-stream",
        stream="Server-sent events: `id` is the entry's seq, `event` is `audit`, `data` the entry",
    )
    why = reads(
        f"{SESSION}/why/{{hypothesis}}",
        Why,
        "Which observations spoke against a hypothesis, and what else was tried on it",
        slashed=True,
        query=(
            Parameter(name="cursor", kind=InLedger, summary="`next` of the page before"),
            Parameter(
                name="limit",
                kind=Annotated[int, Meta(ge=1, le=10_000)],
                summary="How many at most that spoke or were tried; without it, some megabytes of them",
            ),
            Parameter(name="source_id", kind=Id, summary="Only what this source said"),
            Parameter(
                name="principal",
                kind=Id,
                summary="Only what this principal said or tried, under any source; of evidence, who designed"
                " its test, too",
            ),
        ),
        errors=(Code.INVALID_HYPOTHESIS_ID,),
    )
    counterfactual = asks(
        f"{SESSION}/counterfactual",
        AskCounterfactual,
        Counterfactual,
        "What would survive had some sources or principals never spoken",
        example={"without": {"source_ids": ["human://ana"]}},
    )
    merge = Operation(
        method="POST",
        path=f"{SESSION}/merge",
        answer=Eliminated,
        roles=OPERATORS,
        body_media=LINES,
        content="JSON Lines",
        max_body=256 * MIB,
        notes=True,
        errors=ON_WRITING,
        command=Merge,
        summary="Take over the eliminations of a replica that was apart",
        example="<the lines of an exported replica of this session>\n",
    )
    import_ledger = Operation(
        method="POST",
        path="/v1/ledgers",
        answer=Imported,
        status=201,
        roles=OPERATORS,
        body_media=LINES,
        content="JSON Lines",
        max_body=256 * MIB,
        query=(
            Parameter(
                name="source",
                kind=Id,
                summary="Where the file came from, in your own words; it stands in the server's own ledger",
            ),
            SPACE,
        ),
        errors=(Code.CONFLICT, Code.NOT_FOUND),
        summary="Verify an exported ledger and take it in",
        example="<the lines of an exported ledger>\n",
    )
