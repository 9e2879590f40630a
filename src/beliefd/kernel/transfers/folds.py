"""What a session from elsewhere loses when it goes on here, and the seal of one that is put away."""

from collections.abc import Callable
from typing import Final, TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.approvals.state import OPEN, Approval, Approvals
from beliefd.kernel.experiments.state import Evidence, Experiment
from beliefd.kernel.labels import ATTESTED
from beliefd.kernel.measurements.state import Measurement
from beliefd.kernel.observations.state import Observation
from beliefd.kernel.parts import EMPTY, Growing, V
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.state import BOOST, MemoryState, Substrate
from beliefd.kernel.tables import Folds
from beliefd.kernel.transfers.events import LedgerReceived, SessionSealed, SessionUnsealed
from beliefd.kernel.transfers.state import Foreign

T = TypeVar("T")
Labelled = TypeVar("Labelled", Experiment, Evidence)


def ledger_received(session: Session, event: LedgerReceived) -> Session:
    """INVARIANT: nothing that was said elsewhere lets anything happen here. Whoever brings a ledger can have
    written every word in it."""
    return replace(
        session,
        transfers=replace(session.transfers, foreign=event.foreign),
        approvals=_approvals(session.approvals, event),
        substrate=_substrate(session.substrate, event.at),
        # What the user is said to have said there is nobody's word here.
        context=replace(session.context, items=EMPTY, begun=EMPTY, refused_sinks=EMPTY),
        beliefs=replace(session.beliefs, witnessed=0),
        observations=replace(session.observations, by_id=_each(session.observations.by_id, _unwitnessed)),
        measurements=replace(session.measurements, by_id=_each(session.measurements.by_id, _unseen)),
        experiments=replace(
            session.experiments,
            by_id=_each(session.experiments.by_id, _attested),
            evidence=_each(session.experiments.evidence, _attested),
        ),
    )


def session_sealed(session: Session, event: SessionSealed) -> Session:
    return replace(session, transfers=replace(session.transfers, seal=event.seal))


def session_unsealed(session: Session, _: SessionUnsealed) -> Session:
    return replace(session, transfers=replace(session.transfers, seal=None))


def as_it_counts(session: Session, due: Foreign | None) -> Session:
    """The session as the next command will meet it: if it is due, it is taken in first."""
    return session if due is None else ledger_received(session, LedgerReceived(foreign=due, at=due.at))


def as_one_counts(one: T, due: Foreign | None) -> T:
    """The same of one thing that a session holds: it is not witnessed here."""
    if due is None or not isinstance(one, Experiment | Evidence):
        return one
    return replace(one, label=ATTESTED)


def _approvals(held: Approvals, event: LedgerReceived) -> Approvals:
    by_id = held.by_id
    for name, approval in held.by_id.items():
        if approval.status in OPEN:
            by_id = by_id.insert(name, _unsaid(approval, event.foreign.by))
    grants = _each(held.grants, lambda one: replace(one, revoked_at=one.revoked_at or event.at))
    return replace(held, by_id=by_id, grants=grants)


def _unsaid(approval: Approval, by: str) -> Approval:
    """The item as if nobody had said anything about it yet, and as if who brought it had proposed it, too."""
    return replace(
        approval,
        proposers=tuple(dict.fromkeys((*approval.proposers, by))),
        approvals=(),
        earlier=(),
        approved_gates=(),
        overridden=UNSET,
    )


def _substrate(held: Substrate, at: str) -> Substrate:
    return replace(
        held,
        capabilities=_each(held.capabilities, lambda one: replace(one, revoked_at=one.revoked_at or at)),
        memory=_each(held.memory, _unconfirmed),
        # What rules are said to have derived there is derived anew before anything is judged on it here.
        derived_under="",
        set_mode=None if held.set_mode is not None and held.set_mode.mode == BOOST else held.set_mode,
    )


def _unconfirmed(one: MemoryState) -> MemoryState:
    return replace(one, confirmed=False, confirmed_by=None, witness=None)


def _unwitnessed(one: Observation) -> Observation:
    return replace(one, witnesses=(), label=ATTESTED)


def _unseen(one: Measurement) -> Measurement:
    return replace(one, witnesses=())


def _attested(one: Labelled) -> Labelled:
    return replace(one, label=ATTESTED)


def _each(held: Growing[V], change: Callable[[V], V]) -> Growing[V]:
    for name, one in held.items():
        held = held.insert(name, change(one))
    return held


FOLDS: Final[Folds] = {
    LedgerReceived: ledger_received,
    SessionSealed: session_sealed,
    SessionUnsealed: session_unsealed,
}
