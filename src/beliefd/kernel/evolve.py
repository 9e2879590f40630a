"""evolve(state, event) -> state: folds what was decided. It never decides and never fails."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from beliefd.kernel.beliefs.survivors import Survivors, Universe
from beliefd.kernel.claims import folds as claims
from beliefd.kernel.claims.events import (
    ApprovalClosed,
    ApprovalDecided,
    BundleGated,
    GrantGiven,
    GrantRevoked,
)
from beliefd.kernel.commands import DeclareSession
from beliefd.kernel.events import (
    ConclusionRuled,
    Eliminated,
    Event,
    ExitRuled,
    Merged,
    ObligationEntered,
    TerminationRuled,
)
from beliefd.kernel.firewall import folds as firewall
from beliefd.kernel.firewall.events import (
    ClaimSpeculated,
    EvidenceLinked,
    ExperimentDesigned,
    IntentStaged,
    RunRecorded,
    RunStarted,
    Speculated,
)
from beliefd.kernel.state import Obligation, Session
from beliefd.kernel.substrate import folds as substrate
from beliefd.kernel.substrate.events import (
    Arbitrated,
    CapabilityIssued,
    CapabilityRevoked,
    OutcomeRecorded,
    Remembered,
)


def begin(session_id: str, command: DeclareSession) -> Session:
    """The state right after `Declared`: every hypothesis stands."""
    return Session(
        session_id=session_id,
        ontology=command.ontology,
        options=command.options,
        metadata=command.metadata,
        survivors=Survivors(Universe(command.hypotheses)),
    )


def evolve(session: Session, event: Event) -> Session:
    # INVARIANT: refused means nothing happened; `Refused` has no fold, so the state stays what it was.
    fold = FOLDS.get(type(event))
    return session if fold is None else fold(session, event)


def evolve_all(session: Session, events: Iterable[Event]) -> Session:
    """Evolve through many events. Eliminations between two other events are one union, applied at once."""
    gone: list[str] = []
    for event in events:
        if type(event) is Eliminated or type(event) is Merged:
            gone += event.eliminated
        else:
            session = evolve(_without(session, gone), event)
            gone = []
    return _without(session, gone)


def _eliminated(session: Session, event: Eliminated | Merged) -> Session:
    return _without(session, event.eliminated)


def _without(session: Session, gone: Sequence[str]) -> Session:
    if not gone:
        return session
    return replace(
        session,
        survivors=session.survivors.without(gone),
        eliminations=session.eliminations + len(gone),
    )


def _obligation_entered(session: Session, event: ObligationEntered) -> Session:
    # Re-entry after an approved exit moves the obligation to the end: "latest entered" is dict order.
    others = {oid: kept for oid, kept in session.obligations.items() if oid != event.obligation_id}
    entered = Obligation(event.min_total_eliminations, session.eliminations)
    return replace(session, obligations={**others, event.obligation_id: entered})


def _exit_ruled(session: Session, event: ExitRuled) -> Session:
    obligation = session.obligations[event.obligation_id]
    released = replace(obligation, active=obligation.active and not event.approved)
    return replace(session, obligations={**session.obligations, event.obligation_id: released})


def _conclusion_ruled(session: Session, event: ConclusionRuled) -> Session:
    if not event.accepted:
        return session
    cid = event.conclusion_id
    return replace(
        session,
        conclusions={**session.conclusions, cid: session.conclusions.get(cid, 0) + 1},
        last_conclusion=cid,
        conclusion_streak=session.conclusion_streak + 1 if cid == session.last_conclusion else 1,
    )


def _termination_ruled(session: Session, event: TerminationRuled) -> Session:
    return replace(session, terminated=event.approved)


FOLDS: dict[type, Callable[[Session, Any], Session]] = {
    Eliminated: _eliminated,
    Merged: _eliminated,
    ObligationEntered: _obligation_entered,
    ExitRuled: _exit_ruled,
    ConclusionRuled: _conclusion_ruled,
    TerminationRuled: _termination_ruled,
    BundleGated: claims.bundle_gated,
    ApprovalDecided: claims.approval_decided,
    ApprovalClosed: claims.approval_closed,
    GrantGiven: claims.grant_changed,
    GrantRevoked: claims.grant_changed,
    Arbitrated: substrate.arbitrated,
    OutcomeRecorded: substrate.outcome_recorded,
    CapabilityIssued: substrate.capability_changed,
    CapabilityRevoked: substrate.capability_changed,
    Remembered: substrate.remembered,
    Speculated: firewall.speculated,
    ClaimSpeculated: firewall.claim_speculated,
    ExperimentDesigned: firewall.experiment_designed,
    RunStarted: firewall.run_started,
    RunRecorded: firewall.run_recorded,
    EvidenceLinked: firewall.evidence_linked,
    IntentStaged: firewall.intent_staged,
}
