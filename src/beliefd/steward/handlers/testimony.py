"""The handler of `why`: who spoke against a hypothesis, and what else was tried on it."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct

from beliefd.kernel.approvals.commands import DecideApproval
from beliefd.kernel.approvals.events import ApprovalDecided
from beliefd.kernel.beliefs.commands import Eliminate, Merge
from beliefd.kernel.beliefs.events import Eliminated, Merged
from beliefd.kernel.claims.events import BundleGated, Gated
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.event import Refused
from beliefd.kernel.experiments.events import EvidenceLinked, ExperimentDesigned
from beliefd.kernel.experiments.state import Evidence, Experiment, Run
from beliefd.kernel.intents.events import IntentStaged
from beliefd.kernel.intents.state import Intent, Proposition
from beliefd.kernel.labels import ATTESTED
from beliefd.kernel.state import Session
from beliefd.ledger.envelope import Entry, Sealed, command_of, read
from beliefd.ledger.left_out import designer_of
from beliefd.protocol.ledger import Testimony, Tried, TriedKind, Why
from beliefd.steward.call import Call
from beliefd.steward.handlers.shared import Room, view_of
from beliefd.steward.handlers.speakers import Speakers
from beliefd.steward.offload import in_pool
from beliefd.steward.write.positions import Positions
from beliefd.stores.base import Store
from beliefd.wanted import check_wanted, tell_read

LINKED = msgspec.json.encode(str(EvidenceLinked.__struct_config__.tag))


class WhyHandlers(Struct, frozen=True):
    """Why a hypothesis fell, or still stands."""

    store: Store
    positions: Positions

    async def why(self, call: Call) -> Why:
        """Everyone who spoke against a hypothesis, in order; the first one that counted is marked."""
        hypothesis = call.path["hypothesis"]
        position = await self.positions.existing(call.session_id)
        session = position.session
        if session.beliefs.survivors.universe.position(hypothesis) is None:
            raise BeliefdError(
                Code.INVALID_HYPOTHESIS_ID,
                f"not declared in this session: `{hypothesis[:64]}`",
                {"path": "hypothesis"},
            )
        by = By(call.query["source_id"], call.query["principal"])
        recounting = Recounting(hypothesis, session, *_place(call.query["cursor"]), call.query["limit"], by)
        start = max(recounting.seq - 1, 0)
        async for chunk in self.positions.chains.stream(call.session_id, start, position.head.seq):
            await in_pool("question", recounting.take, chunk)
            tell_read(chunk[-1].seq)
            if recounting.is_over:
                break
        if not recounting.found_any:
            await self._refuse_unknown(call.session_id, position.head.seq, by)
        return Why(
            hypothesis=hypothesis,
            survives=hypothesis in session.beliefs.survivors,
            events=recounting.testimony,
            tried=recounting.told(),
            next=recounting.next,
            foreign=position.foreign,
        )

    async def _refuse_unknown(self, session_id: str, upto: int, by: "By") -> None:
        """Who is asked for and said nothing of it must at least have spoken of something else."""
        if by == EVERYBODY:
            return
        speakers = Speakers()
        async for chunk in self.positions.chains.stream(session_id, 0, upto):
            await in_pool("question", _meet, chunk, speakers)
        speakers.check_sources([] if by.source is None else [("source_id", by.source)])
        speakers.check_principals([] if by.principal is None else [("principal", by.principal)])


class By(Struct, frozen=True):
    """Whose words are asked for: those of a source, or of a principal; of everybody, if neither is named."""

    source: str | None = None
    principal: str | None = None

    def wants(self, one: Testimony | Tried, session: Session) -> bool:
        source = one.source_id if isinstance(one, Testimony) else one.details.get("source_id")
        return self.source in (None, source) and self.principal in (None, *_speakers(one, session))


EVERYBODY: Final = By()


def _speakers(one: Testimony | Tried, session: Session) -> tuple[str | None, ...]:
    """What falls by evidence is of who linked it, and of who designed its test."""
    return (one.actor, designer_of(session, one.source_id)) if isinstance(one, Testimony) else (one.actor,)


def _meet(chunk: list[Sealed], speakers: Speakers) -> None:
    check_wanted()
    for sealed in chunk:
        entry = read(sealed.record)
        speakers.meet(entry.actor.id, command_of(entry))
    tell_read(chunk[-1].seq)


def _place(cursor: str | None) -> tuple[int, int]:
    """The entry that a page begins with, and how much of what it says was told on the page before."""
    seq, told = (cursor or "0.0").split(".")
    return int(seq), int(told)


class Recounting:
    """One page of what a ledger says about a hypothesis; it ends with what makes it too long.

    A page may end within an entry: one merge takes over as much as many eliminations say.
    """

    def __init__(
        self,
        hypothesis: str,
        session: Session,
        seq: int,
        already: int,
        limit: int | None = None,
        by: By = EVERYBODY,
    ) -> None:
        self.seq = seq
        self.testimony: list[Testimony] = []
        self.next: str | None = None
        self._hypothesis = hypothesis
        self._needle = msgspec.json.encode(hypothesis)
        self._session = session
        self._already = already
        self._left = limit
        self._by = by
        self._tried: list[Tried] = []
        self._linked: dict[str, EvidenceLinked] = {}
        self._room = Room()
        self._full_at: str | None = None

    @property
    def found_any(self) -> bool:
        return bool(self.testimony or self._tried)

    @property
    def is_over(self) -> bool:
        """What became of an experiment on the page may be told after its end."""
        return self.next is not None and not any(one.kind == "experiment" for one in self._tried)

    def take(self, chunk: list[Sealed]) -> None:
        for sealed in chunk:
            check_wanted()
            # Most entries do not name it: looking for its bytes is far cheaper than decoding.
            named = self.next is None and self._needle in sealed.record
            if sealed.seq == 1 or not (named or LINKED in sealed.record):
                continue
            entry = read(sealed.record)
            if isinstance(entry.delta, EvidenceLinked):
                self._linked[entry.delta.evidence.experiment_id] = entry.delta
            if named:
                self._tell(entry)

    def _tell(self, entry: Entry) -> None:
        said: list[Testimony | Tried] = [
            *_testimony(entry, self._hypothesis),
            *_tried(entry, self._hypothesis, self._session),
        ]
        already = self._already if entry.seq == self.seq else 0
        for number, one in enumerate(said[already:], already + 1):
            if not self._by.wants(one, self._session):
                continue
            if self._full_at is not None:
                self.next = self._full_at
                return
            if isinstance(one, Tried):
                self._tried.append(one)
            else:
                self.testimony.append(one)
            if self._left is not None:
                self._left -= 1
            if self._room.is_filled_by(one) or self._left == 0:
                self._full_at = f"{entry.seq}.{number}"

    def told(self) -> list[Tried]:
        found = (_told(one, self._linked, self._hypothesis) for one in self._tried)
        return [one for one in found if one is not None]


def _testimony(entry: Entry, hypothesis: str) -> list[Testimony]:
    event = entry.delta
    if not isinstance(event, Eliminated | Merged | EvidenceLinked):
        return []
    command = command_of(entry)
    told = partial(view_of, Testimony, entry, applied=hypothesis in event.eliminated)
    if isinstance(event, Eliminated) and isinstance(command, Eliminate) and hypothesis in command.eliminated:
        return [
            told(
                source_id=command.source_id,
                observation_id=command.observation_id,
                justification=command.justification,
                actor=entry.actor.id,
                label=event.label or ATTESTED,
                cites=list(command.cites or ()),
            )
        ]
    if isinstance(command, Merge):
        return [
            told(
                source_id=one.source_id,
                observation_id=one.observation_id,
                justification=one.justification or {},
                unsaid=(one.unsaid or "untold") if one.justification is UNSET else None,
                actor=one.actor or None,
                label=one.label or ATTESTED,
                cites=[],
                merged_from=one.event_id,
            )
            for one in command.eliminations
            if hypothesis in one.eliminated
        ]
    if isinstance(event, EvidenceLinked) and hypothesis in (*event.eliminated, *event.ignored):
        piece = event.evidence
        return [
            told(
                source_id=piece.execution_id,
                observation_id=piece.evidence_id,
                justification=grounds(piece),
                actor=entry.actor.id,
                label=piece.label,
                cites=[],
            )
        ]
    return []


def grounds(evidence: Evidence) -> dict[str, object]:
    """What stands in the place of a justification where an experiment has spoken."""
    return {
        "evidence_id": evidence.evidence_id,
        "experiment_id": evidence.experiment_id,
        "outcome": evidence.outcome,
        "model": evidence.model,
    }


def _tried(entry: Entry, hypothesis: str, session: Session) -> Iterator[Tried]:
    """What an entry tried on a hypothesis, as far as the state tells what became of it."""
    event = entry.delta

    def told(kind: TriedKind, name: str, came_to: str, **details: Any) -> Tried:
        return Tried(
            kind=kind,
            id=name,
            event_id=entry.event_id,
            seq=entry.seq,
            ts=entry.ts,
            actor=entry.actor.id,
            came_to=came_to,
            details=details,
        )

    if isinstance(event, Refused):
        command = command_of(entry)
        if isinstance(command, Eliminate) and hypothesis in command.eliminated:
            why = f"{event.code}: {event.message}"
            yield told("elimination_refused", command.observation_id, why, source_id=command.source_id)
    elif isinstance(event, IntentStaged):
        change = event.intent.change
        if change.prediction is not None and (falls := _falls(change.prediction, hypothesis)):
            name = change.new_claim_id or change.claim_id
            yield told("prediction", name, _worded(session, event.intent, name), **falls)
    elif isinstance(event, ExperimentDesigned):
        one = event.experiment
        if falls := _falls(one, hypothesis):
            came_to = _ran(session, one.experiment_id)
            yield told(
                "experiment", one.experiment_id, came_to, claim_id=one.claim_id, label=one.label, **falls
            )
    elif (gated := _judged(entry)) is not None:
        for claim in gated.bundle.claims:
            if claim.about is not UNSET and claim.about.hypothesis == hypothesis:
                known = session.claims.bundles.get(gated.bundle.id or "")
                decision = gated.bundle.decision if known is None else known.decision
                yield told(
                    "claim", claim.id or "", decision, bundle_id=gated.bundle.id, claim_type=claim.claim_type
                )


def _judged(entry: Entry) -> Gated | None:
    """The bundle that an entry brought before the gates; one that was only judged again was told before."""
    event = entry.delta
    if isinstance(event, BundleGated):
        return event.gated
    if isinstance(event, ApprovalDecided) and event.gated is not None:
        command = command_of(entry)
        edited = isinstance(command, DecideApproval) and command.decision == "MODIFIED"
        return event.gated if edited else None
    return None


def _falls(named: Any, hypothesis: str) -> dict[str, str]:
    """By which outcome a hypothesis would fall, of what says so beforehand."""
    for outcome in ("supported", "refuted"):
        if hypothesis in getattr(named, f"eliminates_if_{outcome}"):
            return {"eliminates_if": outcome}
    return {}


def _worded(session: Session, intent: Intent, claim_id: str) -> str:
    now: Intent = session.intents.by_id.get(intent.intent_id, intent)
    known: Proposition | None = session.intents.propositions.get(claim_id)
    return f"its proposition is {known.status}" if known is not None else f"its intent is {now.state}"


def _ran(session: Session, experiment_id: str) -> str:
    experiment: Experiment = session.experiments.by_id[experiment_id]
    run: Run | None = None if experiment.run_id is None else session.experiments.runs[experiment.run_id]
    if run is None:
        return "it has not been run"
    if run.outcome is None:
        return f"its run is {run.status}" + (f": {run.failure}" if run.failure else "")
    return f"its run came to `{run.outcome}`" + (", which is fragile" if run.fragile else "")


def _told(one: Tried, linked: dict[str, EvidenceLinked], hypothesis: str) -> Tried | None:
    """The same with what was made of an experiment's evidence; None if that eliminated the hypothesis."""
    event = linked.get(one.id) if one.kind == "experiment" else None
    if event is None:
        return one
    if hypothesis in (*event.eliminated, *event.ignored):
        return None
    role = f"linked as `{event.evidence.role}` by {event.evidence.linked_by}"
    withheld = f"; nothing fell: {event.withheld}" if event.withheld else ""
    return msgspec.structs.replace(one, came_to=f"{one.came_to}; {role}{withheld}")
