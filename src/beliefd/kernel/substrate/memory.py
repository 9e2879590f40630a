"""Memory: what counts as confirmed, and what must be looked at again (symbolic-substrate 4.1)."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused, refused_by
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import MemoryPolicy
from beliefd.kernel.scan.guards import stopped_by
from beliefd.kernel.scan.markers import find_marker
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.commands import Remember
from beliefd.kernel.substrate.events import Remembered
from beliefd.kernel.substrate.memory_entry import MemoryEntry
from beliefd.kernel.substrate.tools import MemoryFindings
from beliefd.kernel.values import later

PROVISIONAL: Final = ("hypothesis", "derived")


def remember(session: Session, command: Remember, facts: Facts) -> Remembered | Refused:
    entry = command.entry
    if entry.kind not in PROVISIONAL and (marked := find_marker(entry.value)) is not None:
        # INVARIANT: what is remembered as certain is no speculation; a hypothesis may be one.
        at = replace(marked, path=f"$.value{marked.path[1:]}")
        return refused_by(stopped_by(at, Code.SPECULATIVE_PROPOSAL))
    known = isinstance(facts.findings, MemoryFindings) and facts.findings.confirming_event_known
    if entry.confirmed_by_event_id is not None and not known:
        return refused(Code.INVALID_REQUEST, "no such event in this ledger", "$.confirmed_by_event_id")
    confirmed = is_confirmed(entry, facts.policy.memory)
    if not confirmed and entry.kind not in PROVISIONAL:
        return refused(
            Code.INVALID_REQUEST,
            f"it is not confirmed, so it cannot be a {entry.kind}: store it as hypothesis or derived",
            "$.kind",
        )
    if entry.kind in PROVISIONAL and entry.ttl_ms is None and entry.review_at is None:
        return refused(Code.INVALID_REQUEST, f"a {entry.kind} needs `ttl_ms` or `review_at`", "$.ttl_ms")
    if entry.kind == "derived" and (not entry.source_chunk_ids or entry.provenance is None):
        return refused(
            Code.INVALID_REQUEST,
            "derived entries need `source_chunk_ids` and the transform's `provenance`",
            "$.provenance",
        )
    before = session.substrate.memory.get(entry.memory_id)
    seen: tuple[str, ...] = () if before is None else before.seen
    evidence = _evidence(entry)
    # INVARIANT: evidence counts once. What was named for an entry before, in any version, is not new.
    if before is not None and promotes(before.entry, entry) and evidence <= set(seen):
        return refused(
            Code.INVALID_REQUEST,
            f"to become a {entry.kind} it needs evidence that it never had before",
            "$.kind",
        )
    return Remembered(
        entry=entry,
        confirmed=confirmed,
        remembered_at=facts.now,
        expires_at=None if entry.ttl_ms is None else later(facts.now, entry.ttl_ms / 1000),
        seen=tuple(sorted(evidence.union(seen))),
    )


def is_confirmed(entry: MemoryEntry, policy: MemoryPolicy) -> bool:
    """Confirmed by an event; or sourced, sure enough, and not contradicted."""
    if entry.confirmed_by_event_id is not None:
        return True
    sourced = bool(entry.source_chunk_ids) and entry.confidence >= policy.confirm_above
    return sourced and entry.conflict_state != "contradictory"


def promotes(before: MemoryEntry, after: MemoryEntry) -> bool:
    return before.kind in PROVISIONAL and after.kind not in PROVISIONAL


def _evidence(entry: MemoryEntry) -> set[str]:
    """What an entry rests on, sources and events apart: they are named by different people."""
    named = {f"source {name}" for name in entry.source_chunk_ids}
    return named if entry.confirmed_by_event_id is None else {*named, f"event {entry.confirmed_by_event_id}"}
