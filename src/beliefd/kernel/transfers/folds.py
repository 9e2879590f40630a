"""What a session from elsewhere loses when it goes on here."""

from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.approvals.state import OPEN, Approval, Approvals
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.state import Substrate
from beliefd.kernel.tables import Folds
from beliefd.kernel.transfers.events import LedgerReceived
from beliefd.kernel.transfers.state import Foreign


def ledger_received(session: Session, event: LedgerReceived) -> Session:
    """INVARIANT: nothing that was said elsewhere lets anything happen here. Whoever brings a ledger can have
    written every word in it."""
    return replace(
        session,
        transfers=replace(session.transfers, foreign=event.foreign),
        approvals=_approvals(session.approvals, event),
        substrate=_substrate(session.substrate, event.at),
    )


def as_it_counts(session: Session, due: Foreign | None) -> Session:
    """The session as the next command will meet it: if it is due, it is taken in first."""
    return session if due is None else ledger_received(session, LedgerReceived(foreign=due, at=due.at))


def _approvals(held: Approvals, event: LedgerReceived) -> Approvals:
    by_id, grants = held.by_id, held.grants
    for name, approval in held.by_id.items():
        if approval.status in OPEN:
            by_id = by_id.insert(name, _unsaid(approval, event.foreign.by))
    for name, grant in held.grants.items():
        grants = grants.insert(name, replace(grant, revoked_at=grant.revoked_at or event.at))
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
    capabilities = held.capabilities
    for name, one in held.capabilities.items():
        capabilities = capabilities.insert(name, replace(one, revoked_at=one.revoked_at or at))
    return replace(held, capabilities=capabilities)


FOLDS: Final[Folds] = {LedgerReceived: ledger_received}
