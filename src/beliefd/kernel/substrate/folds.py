"""How the events of the substrate change the state of a session."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.context.state import Context
from beliefd.kernel.scheduling.state import Scheduling
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.capabilities import Amounts, ancestors
from beliefd.kernel.substrate.derived import Derivation, Source
from beliefd.kernel.substrate.events import (
    Arbitrated,
    CallStarted,
    CallStopped,
    CandidateResult,
    CapabilityIssued,
    CapabilityRevoked,
    ModeChange,
    OutcomeRecorded,
    Remembered,
)
from beliefd.kernel.substrate.issuing import with_issued
from beliefd.kernel.substrate.reserving import AMOUNTS, released, reserved, settled
from beliefd.kernel.substrate.state import NORMAL_MODE, MemoryState, Substrate, ToolCall
from beliefd.kernel.tables import Folds


def arbitrated(session: Session, event: Arbitrated) -> Session:
    if event.issued is not UNSET:
        session = with_issued(session, event.issued)
    before = session.substrate.state_version
    session = with_derived(session, event.derived)
    for result in event.results:
        session = with_result(session, result)
    if event.episode is not UNSET:
        change = event.episode
        held = replace(session.scheduling, episode=change.episode, interruption=change.interruption)
        session = replace(session, scheduling=held)
    return with_mode(with_snapshot(session, before, event.event_id), event.mode)


def with_snapshot(session: Session, version_before: int, event_id: str) -> Session:
    """A new snapshot, named after the event, if F_sparse has changed."""
    held = session.substrate
    if held.state_version == version_before:
        return session
    snapshots = held.snapshots.insert(event_id, held.state_version)
    return replace(session, substrate=replace(held, committed=event_id, snapshots=snapshots))


def with_mode(session: Session, change: ModeChange | None) -> Session:
    if change is None:
        return session
    held = session.substrate
    given = None if change.over is True else held.set_mode
    # What is back where nothing had lowered it looks as it did before.
    top = NORMAL_MODE if given is None else given.mode
    mode, since = ("", "") if change.mode == top else (change.mode, change.since)
    by = (change.by or held.lowered_by) if mode else None
    held = replace(held, set_mode=given, lowered_mode=mode, mode_since=since, lowered_by=by)
    return replace(session, substrate=held)


def with_result(session: Session, result: CandidateResult) -> Session:
    """INVARIANT: only what an allowing result carries changes anything."""
    held = session.substrate
    if result.stopped is not UNSET:
        held = _stopped(held, result.stopped)
    if result.started is not UNSET:
        held = _started(held, result.started)
    if result.asks is not UNSET and result.approval is not None:
        held = replace(held, asked=held.asked.insert(result.asks, result.approval.approval_id))
    if result.call is not None:
        held = _with_call(held, result.call)
    if result.patch is not None:
        held = _patched(held, result.patch.set, result.patch.remove)
    if result.derived is not UNSET:
        held = derived_in(held, result.derived)
    if result.vector is not UNSET:
        held = replace(held, s_core=result.vector)
    approvals = session.approvals.with_shaped(result.shaped).with_approval(result.approval)
    return replace(session, substrate=held, approvals=approvals, context=_traced(session.context, result))


def _traced(context: Context, result: CandidateResult) -> Context:
    """What facts about later calls rest on: how often a tool was called, and who was not to be reached."""
    if result.stopped is not UNSET:
        context = without_call(context, result.stopped)
    if result.refused_sinks is UNSET:
        return context
    if result.call is not None:
        context = context.with_begun(result.call.tool_id)
    if not result.refused_sinks:
        return context
    return context.with_refused(
        result.refused_sinks, "" if result.approval is None else result.approval.content_hash
    )


def without_call(context: Context, call: ToolCall) -> Context:
    """It never ran."""
    return context.with_begun(call.tool_id, -1) if call.tool_id in context.begun else context


def _patched(held: Substrate, sets: Mapping[str, Any], removes: tuple[str, ...]) -> Substrate:
    version, written = held.state_version + 1, held.written
    for key in (*removes, *sets):
        written = written.insert(key, version)
    symbolic_state = held.symbolic_state.patched(sets, removes)
    return replace(held, symbolic_state=symbolic_state, state_version=version, written=written)


def with_derived(session: Session, derivation: Derivation | UnsetType) -> Session:
    if derivation is UNSET:
        return session
    return replace(session, substrate=derived_in(session.substrate, derivation))


def derived_in(held: Substrate, derivation: Derivation) -> Substrate:
    """What rules derive is written like anything else: who relied on what was there before is told so."""
    facts, sources = derivation.set, held.derived
    for key in derivation.fell:
        sources = sources.discard(key)
    for key, fact in facts.items():
        sources = sources.insert(key, Source(rule=fact.rule, inputs=fact.inputs))
    if facts or derivation.fell:
        held = _patched(held, derivation.values, derivation.fell)
    return replace(held, derived=sources, derived_under=derivation.under, derived_size=derivation.size)


def outcome_recorded(session: Session, event: OutcomeRecorded) -> Session:
    held, call = session.substrate, event.call
    if call.reserved is UNSET:
        held = _use(held, call.capability_id, 0, event.tokens, event.cpu_ms, event.disk_bytes)
    else:
        held = settled(held, call, Amounts(**{name: getattr(event, name) for name in AMOUNTS}))
    context = session.context if event.context is UNSET else session.context.with_item(event.context)
    held = replace(held, calls=held.calls.insert(call.call_id, call))
    return replace(session, substrate=held, context=context, scheduling=_with_tokens(session, event))


def _with_tokens(session: Session, event: OutcomeRecorded) -> Scheduling:
    """What a call used is used of the episode in which that is told."""
    held = session.scheduling
    if held.episode is None:
        return held
    return replace(held, episode=replace(held.episode, tokens=_sum(held.episode.tokens, event.tokens)))


def call_started(session: Session, event: CallStarted) -> Session:
    return replace(session, substrate=_started(session.substrate, event.call))


def call_stopped(session: Session, event: CallStopped) -> Session:
    return with_mode(with_stopped(session, event.call), event.mode)


def with_stopped(session: Session, call: ToolCall) -> Session:
    held, context = _stopped(session.substrate, call), without_call(session.context, call)
    return replace(session, substrate=held, context=context)


def _started(held: Substrate, call: ToolCall) -> Substrate:
    held = reserved(held, call)
    held = replace(held, calls=held.calls.insert(call.call_id, call))
    # Its caller may have come back under another key: that one is used up, too.
    return held if call.join_key is UNSET else _with_key(held, call, call.join_key)


def _stopped(held: Substrate, call: ToolCall) -> Substrate:
    """It never ran: its key is free again, and so is what it would have counted as."""
    held = released(held, call)
    return replace(held, calls=held.calls.insert(call.call_id, call))


def capability_changed(session: Session, event: CapabilityIssued | CapabilityRevoked) -> Session:
    if isinstance(event, CapabilityIssued) and event.issued is not UNSET:
        session = with_issued(session, event.issued)
    held, one = session.substrate, event.capability
    capabilities = held.capabilities.insert(one.capability_id, one)
    return replace(session, substrate=replace(held, capabilities=capabilities))


def remembered(session: Session, event: Remembered) -> Session:
    state = MemoryState(**{name: getattr(event, name) for name in MemoryState.__struct_fields__})
    held = session.substrate
    held = replace(held, memory=held.memory.insert(event.entry.memory_id, state))
    if event.insufficient:
        held = replace(held, insufficient=held.insufficient.insert(event.value_hash, event.insufficient))
    return replace(session, substrate=held)


def _with_call(held: Substrate, call: ToolCall) -> Substrate:
    held = replace(held, calls=held.calls.insert(call.call_id, call))
    if call.idempotency_key is not None:
        held = _with_key(held, call, call.idempotency_key)
    held = _use(held, call.capability_id, 1, 0, 0, 0)
    # One that begins with the event that lets it through has something set aside already.
    return held if call.reserved is UNSET else reserved(held, call)


def _with_key(held: Substrate, call: ToolCall, key: str) -> Substrate:
    return replace(held, call_keys=held.call_keys.insert(f"{call.tool_id}\n{key}", call.call_id))


def _use(
    held: Substrate, capability_id: str | None, calls: int, tokens: int, cpu_ms: int, disk_bytes: int
) -> Substrate:
    """Count against the capability and all it came out of: handing on does not make more of it."""
    if capability_id is None:
        return held
    capabilities = held.capabilities
    capability = capabilities[capability_id]
    for one in (capability, *ancestors(capabilities, capability)):
        used = replace(
            one.used,
            calls=_sum(one.used.calls, calls),
            tokens=_sum(one.used.tokens, tokens),
            cpu_ms=_sum(one.used.cpu_ms, cpu_ms),
            disk_bytes=_sum(one.used.disk_bytes, disk_bytes),
        )
        capabilities = capabilities.insert(one.capability_id, replace(one, used=used))
    return replace(held, capabilities=capabilities)


def _sum(used: int, more: int) -> int:
    """A number past 2^53 - 1 has no canonical form, and no budget is as large."""
    return min(used + more, MAX_SAFE_INTEGER)


FOLDS: Final[Folds] = {
    Arbitrated: arbitrated,
    CallStarted: call_started,
    CallStopped: call_stopped,
    OutcomeRecorded: outcome_recorded,
    CapabilityIssued: capability_changed,
    CapabilityRevoked: capability_changed,
    Remembered: remembered,
}
