"""The graph: a projection of all ledgers on propositions, their evidence, and what ties them together."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from beliefd.kernel.approvals.events import ApprovalClosed, ApprovalDecided
from beliefd.kernel.canonical import canonical
from beliefd.kernel.claims.rejected import RejectedWords, all_rejected
from beliefd.kernel.events import Event
from beliefd.kernel.experiments.events import EvidenceLinked, ExperimentDesigned, RunRecorded, RunStarted
from beliefd.kernel.experiments.state import Evidence, Experiment, Run, TestedData, tries_key
from beliefd.kernel.intents.events import IntentStaged
from beliefd.kernel.intents.state import Intent, Proposition
from beliefd.kernel.observations.rules import TYPED
from beliefd.kernel.parts import Growing
from beliefd.kernel.speculation.events import ClaimSpeculated, Speculated
from beliefd.kernel.speculation.state import SpeculativeClaim, SpeculativeHypothesis
from beliefd.kernel.state import Session
from beliefd.kernel.transfers.events import LedgerReceived
from beliefd.kernel.transfers.folds import as_one_counts
from beliefd.kernel.transfers.state import Foreign
from beliefd.knowledge import schema as say
from beliefd.knowledge.graph import NOTHING, GraphRows, LinkRow, NodeRow, merged
from beliefd.ledger.envelope import UNREADABLE

Artifact = (
    Proposition
    | Experiment
    | Run
    | TestedData
    | RejectedWords
    | Evidence
    | Intent
    | SpeculativeHypothesis
    | SpeculativeClaim
)
TOUCHING: Final = frozenset(
    {
        Speculated,
        ClaimSpeculated,
        ExperimentDesigned,
        RunStarted,
        RunRecorded,
        EvidenceLinked,
        IntentStaged,
        ApprovalDecided,
        ApprovalClosed,
        LedgerReceived,
    }
)
NEEDLES: Final = tuple(
    f'"kind":"{kind.__struct_config__.tag}"'.encode() for kind in sorted(TOUCHING, key=str)
)
"""One of these stands in every record that may change the graph."""
UNLINKED: Final = "unlinked"
SPECULATIVE: Final = "speculative"
_TYPES: Final[dict[str, type[Any]]] = {
    say.PROPOSITION: Proposition,
    say.EXPERIMENT: Experiment,
    say.RUN: Run,
    say.TESTED_DATA: TestedData,
    say.REJECTED_WORDS: RejectedWords,
    **dict.fromkeys(say.EVIDENCE_KINDS, Evidence),
    say.INTENT: Intent,
    say.SPECULATIVE_HYPOTHESIS: SpeculativeHypothesis,
    say.SPECULATIVE_CLAIM: SpeculativeClaim,
}
_HELD: Final[dict[str, Callable[[Session], Growing[Any]]]] = {
    say.PROPOSITION: lambda session: session.intents.propositions,
    say.EXPERIMENT: lambda session: session.experiments.by_id,
    say.RUN: lambda session: session.experiments.runs,
    **dict.fromkeys(say.EVIDENCE_KINDS, lambda session: session.experiments.evidence),
    say.INTENT: lambda session: session.intents.by_id,
    **dict.fromkeys(say.SPECULATIVE_KINDS, lambda session: session.speculation.ideas),
}


def graph_rows(event: Event, session: Session, foreign: Foreign | None = None) -> GraphRows:
    """The rows that an event changes, as they stand in the state after it. Where it came from is told for a
    copy that nobody compares with the ledgers: what counts for nothing here is not said in it."""
    touched = [as_one_counts(one, foreign) for one in _touched(event, session)]
    if not touched:
        return NOTHING
    parts = [_rows(session, one) for one in touched]
    # Once a proposition is there, what was done about its claim before can be linked to it.
    fresh = {one.claim_id for one in touched if isinstance(one, Proposition)}
    if fresh:
        parts += [
            GraphRows(links=tuple(_links(session, one)))
            for one in _grounded(session)
            if fresh & _claims_of(one)
        ]
    return merged([_session_rows(session), *parts])


def all_rows(session: Session) -> GraphRows:
    """Every row of a session, as its events left them."""
    parts = [_rows(session, one) for one in _artifacts(session)]
    return merged([_session_rows(session), *parts]) if parts else NOTHING


def _touched(event: Event, session: Session) -> Iterator[Artifact]:
    if isinstance(event, Speculated):
        yield from event.hypotheses
    elif isinstance(event, ClaimSpeculated):
        yield event.claim
    elif isinstance(event, ExperimentDesigned):
        yield event.experiment
        yield from _tested(
            session, (tries_key(one, event.experiment.designed_by) for one in event.experiment.bodies)
        )
    elif isinstance(event, RunStarted | RunRecorded):
        yield session.experiments.by_id[event.run.experiment_id]
        yield event.run
        if isinstance(event, RunRecorded):
            yield from event.propositions
            yield from (event.evidence,) if event.evidence is not None else ()
    elif isinstance(event, EvidenceLinked):
        yield from event.propositions
        yield event.evidence
    elif isinstance(event, LedgerReceived):
        yield from session.experiments.by_id.values()
        yield from session.experiments.evidence.values()
    elif isinstance(event, IntentStaged):
        yield from event.propositions
        yield from (one for one in (event.superseded, event.intent) if one is not None)
    elif isinstance(event, ApprovalDecided | ApprovalClosed):
        yield from event.propositions if isinstance(event, ApprovalDecided) else ()
        yield from event.intents
        if isinstance(event, ApprovalDecided) and event.approval.status == "rejected":
            yield from all_rejected(session, event.approval.words or ())


def _grounded(session: Session) -> Iterator[Artifact]:
    yield from session.intents.propositions.values()
    yield from session.experiments.by_id.values()
    yield from session.experiments.runs.values()
    yield from session.experiments.evidence.values()
    yield from _tested(session, session.experiments.tries)
    yield from session.intents.by_id.values()
    yield from all_rejected(session)


def _tested(session: Session, keys: Iterable[str]) -> Iterator[TestedData]:
    """What somebody typed is not the data of another session: there it would be other numbers."""
    tries = session.experiments.tries
    return (TestedData(key=key, tries=tries[key]) for key in keys if not key.startswith(TYPED))


def _artifacts(session: Session) -> Iterator[Artifact]:
    yield from _grounded(session)
    yield from session.speculation.ideas.values()


def artifact_of(session: Session, kind: str, name: str) -> Artifact | None:
    """What the node of this kind and name stands for, as the events left it; None if no event made one."""
    tried, rejected = session.experiments.tries, session.approvals.rejected_words
    if kind == say.TESTED_DATA:
        return next(_tested(session, [name] if name in tried else []), None)
    if kind == say.REJECTED_WORDS:
        return next(all_rejected(session, [name] if name in rejected else []), None)
    one: Artifact | None = _HELD[kind](session).get(name)
    return one if one is not None and _found_by(session, one)[0] == kind else None


def says_so(session: Session, one: Artifact, row: NodeRow) -> bool:
    """Is a row what the events made? An earlier version may have written fewer members of it."""
    kind, name, claim_id, status = _found_by(session, one)
    if (row.kind, row.id, row.claim_id, row.status) != (kind, name, claim_id, status):
        return False
    try:
        return bool(read_artifact(row) == one)
    except UNREADABLE:
        return False


def read_artifact(row: NodeRow) -> Artifact:
    """Raises one of UNREADABLE for what is none."""
    found: Artifact = msgspec.json.decode(row.document, type=_TYPES[row.kind])
    return found


def speaks(piece: Evidence) -> bool:
    """Does it stand for or against its claim? A run that failed, and one that nobody may count, do not."""
    return piece.role is not None or bool(piece.revision and piece.success)


def _claims_of(one: Artifact) -> set[str | None]:
    if isinstance(one, Intent):
        return {one.change.claim_id, one.change.new_claim_id}
    if isinstance(one, Proposition):
        return {one.claim_id, one.forked_from}
    return set() if isinstance(one, Run | TestedData | RejectedWords) else {one.claim_id}


def _rows(session: Session, one: Artifact) -> GraphRows:
    return GraphRows((_node(session, one),), tuple(_links(session, one)))


def _session_rows(session: Session) -> GraphRows:
    about = {"session_id": session.session_id, "ontology": msgspec.to_builtins(session.ontology)}
    return GraphRows(
        (NodeRow(say.SESSION, session.session_id, session.session_id, "", "", canonical(about)),)
    )


def _found_by(session: Session, one: Artifact) -> tuple[str, str, str, str]:
    """Kind, id, claim and status of a node."""
    if isinstance(one, Proposition):
        shown = say.QUARANTINED if one.quarantined else one.status
        return (say.PROPOSITION, one.claim_id, one.claim_id, shown)
    if isinstance(one, Experiment):
        status = "designed" if one.run_id is None else "run"
        return (say.EXPERIMENT, one.experiment_id, one.claim_id, status)
    if isinstance(one, Run):
        claim_id = session.experiments.by_id[one.experiment_id].claim_id
        return (say.RUN, one.run_id, claim_id, one.status)
    if isinstance(one, TestedData):
        return (say.TESTED_DATA, one.key, one.key, str(one.tries))
    if isinstance(one, RejectedWords):
        return (say.REJECTED_WORDS, one.words, one.words, "rejected")
    if isinstance(one, Evidence):
        return (one.kind, one.evidence_id, one.claim_id, one.role or UNLINKED)
    if isinstance(one, Intent):
        return (say.INTENT, one.intent_id, one.change.claim_id, one.state)
    if isinstance(one, SpeculativeHypothesis):
        return (say.SPECULATIVE_HYPOTHESIS, one.hypothesis_id, one.claim_id, SPECULATIVE)
    return (say.SPECULATIVE_CLAIM, one.intent_id, one.claim_id, SPECULATIVE)


def _node(session: Session, one: Artifact) -> NodeRow:
    kind, name, claim_id, status = _found_by(session, one)
    return NodeRow(kind, session.session_id, name, claim_id, status, canonical(msgspec.to_builtins(one)))


def _links(session: Session, one: Artifact) -> Iterable[LinkRow]:
    """Every link in which the artifact plays the first role, or hangs on its session."""
    here = _Linker(session)
    if isinstance(one, Proposition):
        yield here.link(say.SESSION_HAS_PROPOSITION, say.SESSION, session.session_id, one.claim_id)
        yield from here.to_propositions(
            say.PROPOSITION_FORKED_FROM, say.PROPOSITION, one.claim_id, one.forked_from
        )
    elif isinstance(one, Experiment):
        yield from here.to_propositions(
            say.EXPERIMENT_TESTS_PROPOSITION, say.EXPERIMENT, one.experiment_id, one.claim_id
        )
    elif isinstance(one, TestedData | RejectedWords):
        return
    elif isinstance(one, Run):
        yield here.link(say.RUN_OF_EXPERIMENT, say.RUN, one.run_id, one.experiment_id)
    elif isinstance(one, Evidence):
        yield here.link(say.EVIDENCE_FROM_RUN, one.kind, one.evidence_id, one.execution_id)
        if speaks(one):
            yield from here.to_propositions(
                say.EVIDENCE_FOR_PROPOSITION, one.kind, one.evidence_id, one.claim_id
            )
    elif isinstance(one, Intent):
        yield from _intent_links(here, one)
    elif isinstance(one, SpeculativeHypothesis):
        yield here.link(
            say.SESSION_HAS_SPECULATIVE_HYPOTHESIS, say.SESSION, session.session_id, one.hypothesis_id
        )
        # Tried once, when it was noted: a proposition that comes later does not look back at ideas.
        if one.targets_proposition:
            yield here.link(
                say.HYPOTHESIS_TARGETS_PROPOSITION,
                say.SPECULATIVE_HYPOTHESIS,
                one.hypothesis_id,
                one.claim_id,
            )
    else:
        yield here.link(say.SESSION_HAS_SPECULATIVE_CLAIM, say.SESSION, session.session_id, one.intent_id)


def _intent_links(here: "_Linker", one: Intent) -> Iterator[LinkRow]:
    change = one.change
    claims = (change.claim_id, change.new_claim_id)
    yield from here.to_propositions(say.INTENT_CHANGES_PROPOSITION, say.INTENT, one.intent_id, *claims)
    for name in change.evidence_ids:
        piece: Evidence | None = here.session.experiments.evidence.get(name)
        if piece is not None:
            yield here.link(say.INTENT_RESTS_ON_EVIDENCE, say.INTENT, one.intent_id, name, piece.kind)
    if one.supersedes is not None and one.supersedes in here.session.intents.by_id:
        yield here.link(say.INTENT_SUPERSEDES, say.INTENT, one.intent_id, one.supersedes)


class _Linker(Struct, frozen=True):
    """Makes the links of one session."""

    session: Session

    def link(
        self, relation: str, first_kind: str, first_id: str, second_id: str, second_kind: str | None = None
    ) -> LinkRow:
        kind = second_kind or say.RELATIONS[relation].second_kinds[0]
        return LinkRow(relation, self.session.session_id, first_kind, first_id, kind, second_id)

    def to_propositions(
        self, relation: str, first_kind: str, first_id: str, *claims: str | None
    ) -> Iterator[LinkRow]:
        """Links to those that are there."""
        for claim_id in claims:
            if claim_id is not None and claim_id in self.session.intents.propositions:
                yield self.link(relation, first_kind, first_id, claim_id)
