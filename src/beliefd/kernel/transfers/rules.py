"""A session that began elsewhere is taken in once per import; one in which nothing waits can be sealed."""

from typing import Final

from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Rules
from beliefd.kernel.transfers.commands import ReceiveLedger, SealSession, UnsealSession
from beliefd.kernel.transfers.events import LedgerReceived, SessionSealed, SessionUnsealed
from beliefd.kernel.transfers.state import Seal
from beliefd.kernel.values import Role


def receive_ledger(session: Session, command: ReceiveLedger, facts: Facts) -> LedgerReceived | Refused:
    if session.transfers.foreign == command.foreign:
        return refused(Code.CONFLICT, "the session is taken in already", "$.foreign")
    return LedgerReceived(foreign=command.foreign, at=facts.now)


def seal_session(session: Session, command: SealSession, facts: Facts) -> SessionSealed | Refused:
    """INVARIANT: nobody is left waiting: neither a person for a word, nor a call for its outcome."""
    if (low := _not_an_admin(facts)) is not None:
        return low
    if not session.beliefs.terminated and (waiting := _waiting_in(session)) is not None:
        text = f"{waiting}; let it come to an end, or terminate the session, and seal it then"
        return refused(Code.CONFLICT, text, "$")
    return SessionSealed(seal=Seal(by=facts.principal.id, at=facts.now, reason=command.reason))


def unseal_session(session: Session, command: UnsealSession, facts: Facts) -> SessionUnsealed | Refused:
    if (low := _not_an_admin(facts)) is not None:
        return low
    if session.transfers.seal is None:
        return refused(Code.CONFLICT, "the session is not sealed", "$")
    return SessionUnsealed(by=facts.principal.id, reason=command.reason)


def _not_an_admin(facts: Facts) -> Refused | None:
    if facts.principal.role is Role.ADMIN:
        return None
    return refused(Code.FORBIDDEN, f"role `{facts.principal.role}` may not seal or unseal a session", "$")


def _waiting_in(session: Session) -> str | None:
    approvals, calls, runs = session.approvals.by_id, session.substrate.calls, session.experiments.runs
    for name in sorted(approvals):
        if approvals[name].status == "pending":
            return f"approval `{name}` waits for a person"
    for name in sorted(calls):
        if calls[name].is_under_way:
            return f"call `{name}` is under way"
    for name in sorted(runs):
        if runs[name].status == "running":
            return f"run `{name}` is under way"
    return None


RULES: Final[Rules] = {
    ReceiveLedger: receive_ledger,
    SealSession: seal_session,
    UnsealSession: unseal_session,
}
