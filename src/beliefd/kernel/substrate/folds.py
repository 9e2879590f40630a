"""How substrate events change the state of a session."""

from msgspec.structs import replace

from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.state import NORMAL_MODE, MemoryState, Session
from beliefd.kernel.substrate.capabilities import ancestors
from beliefd.kernel.substrate.events import (
    Arbitrated,
    Call,
    CandidateResult,
    CapabilityIssued,
    CapabilityRevoked,
    ModeChange,
    OutcomeRecorded,
    Remembered,
)


def arbitrated(session: Session, event: Arbitrated) -> Session:
    before = session.state_version
    for result in event.results:
        session = with_result(session, result)
    return with_mode(with_snapshot(session, before, event.event_id), event.mode)


def with_snapshot(session: Session, version_before: int, event_id: str) -> Session:
    """A new snapshot, named after the event, if F_sparse has changed."""
    if session.state_version == version_before:
        return session
    snapshots = session.snapshots.insert(event_id, session.state_version)
    return replace(session, committed=event_id, snapshots=snapshots)


def with_mode(session: Session, change: ModeChange | None) -> Session:
    if change is None:
        return session
    # Normal is what nothing has changed yet: a session that is back there looks as it did before.
    if change.mode == NORMAL_MODE:
        return replace(session, lowered_mode="", mode_since="")
    return replace(session, lowered_mode=change.mode, mode_since=change.since)


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
    state = MemoryState(event.entry, event.confirmed, event.remembered_at, event.expires_at, event.seen)
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
    held = session.capabilities
    capability = held[capability_id]
    for one in (capability, *ancestors(held, capability)):
        used = replace(
            one.used,
            calls=_sum(one.used.calls, calls),
            tokens=_sum(one.used.tokens, tokens),
            cpu_ms=_sum(one.used.cpu_ms, cpu_ms),
            disk_bytes=_sum(one.used.disk_bytes, disk_bytes),
        )
        held = held.insert(one.capability_id, replace(one, used=used))
    return replace(session, capabilities=held)


def _sum(used: int, more: int) -> int:
    """A number past 2^53 - 1 has no canonical form, and no budget is as large."""
    return min(used + more, MAX_SAFE_INTEGER)
