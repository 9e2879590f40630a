"""How substrate events change the state of a session."""

from msgspec.structs import replace

from beliefd.kernel.state import MemoryState, Session
from beliefd.kernel.substrate.arbitration import ancestors
from beliefd.kernel.substrate.events import (
    Arbitrated,
    Call,
    CandidateResult,
    CapabilityIssued,
    CapabilityRevoked,
    OutcomeRecorded,
    Remembered,
)


def arbitrated(session: Session, event: Arbitrated) -> Session:
    for result in event.results:
        session = with_result(session, result)
    if any(result.patch is not None for result in event.results):
        session = replace(
            session,
            committed=event.event_id,
            snapshots=session.snapshots.insert(event.event_id, session.state_version),
        )
    return session if event.mode is None else replace(session, lowered_mode=event.mode)


def with_result(session: Session, result: CandidateResult) -> Session:
    """INVARIANT: only what an allowing result carries changes anything."""
    if result.approval is not None:
        approval = result.approval
        session = replace(session, approvals=session.approvals.insert(approval.approval_id, approval))
    if result.call is not None:
        session = _with_call(session, result.call)
    if result.patch is None:
        return session
    version = session.state_version + 1
    written = session.written
    for key in (*result.patch.remove, *result.patch.set):
        written = written.insert(key, version)
    return replace(
        session,
        sparse=session.sparse.patched(result.patch.set, result.patch.remove),
        state_version=version,
        written=written,
    )


def outcome_recorded(session: Session, event: OutcomeRecorded) -> Session:
    session = replace(session, calls=session.calls.insert(event.call.call_id, event.call))
    return _use(session, event.call.capability_id, 0, event.tokens, event.cpu_ms, event.disk_bytes)


def capability_changed(session: Session, event: CapabilityIssued | CapabilityRevoked) -> Session:
    one = event.capability
    return replace(session, capabilities=session.capabilities.insert(one.capability_id, one))


def remembered(session: Session, event: Remembered) -> Session:
    state = MemoryState(event.entry, event.confirmed, event.remembered_at, event.expires_at)
    return replace(session, memory=session.memory.insert(event.entry.memory_id, state))


def _with_call(session: Session, call: Call) -> Session:
    session = replace(session, calls=session.calls.insert(call.call_id, call))
    if call.idempotency_key is not None:
        key = f"{call.tool_id}\n{call.idempotency_key}"
        session = replace(session, call_keys=session.call_keys.insert(key, call.call_id))
    return _use(session, call.capability_id, 1, 0, 0, 0)


def _use(
    session: Session, capability_id: str | None, calls: int, tokens: int, cpu_ms: int, disk_bytes: int
) -> Session:
    """Count against the capability and all it came out of: handing on does not make more of it."""
    if capability_id is None:
        return session
    capability = session.capabilities[capability_id]
    held = session.capabilities
    for one in (capability, *ancestors(session, capability)):
        used = replace(
            one.used,
            calls=one.used.calls + calls,
            tokens=one.used.tokens + tokens,
            cpu_ms=one.used.cpu_ms + cpu_ms,
            disk_bytes=one.used.disk_bytes + disk_bytes,
        )
        held = held.insert(one.capability_id, replace(one, used=used))
    return replace(session, capabilities=held)
