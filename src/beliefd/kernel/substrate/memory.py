"""Memory: what counts as confirmed, and what must be looked at again (symbolic-substrate 4.1)."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.approvals.resting import doubt_about
from beliefd.kernel.canonical import digest
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
from beliefd.kernel.substrate.provenance_rules import unfit
from beliefd.kernel.substrate.state import Confirmation, MemoryState
from beliefd.kernel.substrate.tools import MemoryFindings, Witness
from beliefd.kernel.values import later

PROVISIONAL: Final = ("hypothesis", "derived")


ELSEWHERE: Final = "an event of before the session was imported, which confirms nothing here"
WITNESSES: Final = "a run whose solid evidence supports, a person's approval, or a call that ended ok"


def remember(session: Session, command: Remember, facts: Facts) -> Remembered | Refused:
    entry = command.entry
    found = facts.findings if isinstance(facts.findings, MemoryFindings) else MemoryFindings()
    witness = found.witness
    confirmed_by = confirmation(entry, witness, facts.policy.memory)
    problem = None if entry.provenance is None else unfit(session, entry.provenance, found.inputs, facts)
    problem = problem or _not_as_it_says(entry, found, confirmed_by) or _of_what_ended(session, witness)
    if problem is not None:
        return problem
    before = session.substrate.memory.get(entry.memory_id)
    value_hash = digest(entry.value)
    named, doubted = _evidence(entry, witness), session.substrate.insufficient.get(value_hash, ())
    seen: set[str] = set() if before is None else set(before.seen)
    # INVARIANT: evidence counts once. What was named for an entry before, in any version, is not new; nor is
    # what was named for the same value under another id, while that was provisional.
    promoted = doubted or (before is not None and promotes(before.entry, entry))
    if entry.kind not in PROVISIONAL and promoted and named <= seen.union(doubted):
        text = f"to become a {entry.kind} it needs evidence that it never had before, under any id"
        return refused(Code.INVALID_REQUEST, text, "$.kind")
    return Remembered(
        entry=entry,
        confirmed=confirmed_by is not None,
        remembered_at=facts.now,
        expires_at=None if entry.ttl_ms is None else later(facts.now, entry.ttl_ms / 1000),
        seen=tuple(sorted(named | seen)),
        confirmed_by=confirmed_by,
        witness=witness if confirmed_by == "witness" else None,
        value_hash=value_hash,
        insufficient=tuple(sorted(named.union(doubted))) if entry.kind in PROVISIONAL else (),
    )


def _not_as_it_says(
    entry: MemoryEntry, found: MemoryFindings, confirmed_by: Confirmation | None
) -> Refused | None:
    """Why an entry cannot be taken in as the kind that it says it is."""
    if entry.kind not in PROVISIONAL and (marked := find_marker(entry.value)) is not None:
        # INVARIANT: what is remembered as certain is no speculation; a hypothesis may be one.
        at = replace(marked, path=f"$.value{marked.path[1:]}")
        return refused_by(stopped_by(at, Code.SPECULATIVE_PROPOSAL))
    if entry.confirmed_by_event_id is not None and found.witness is None:
        text = ELSEWHERE if found.elsewhere else "no event of this ledger that can confirm anything"
        text = f"{text}; what can is {WITNESSES}"
        return refused(Code.INVALID_REQUEST, text, "$.confirmed_by_event_id")
    if confirmed_by is None and entry.kind not in PROVISIONAL:
        text = f"it is not confirmed, so it cannot be a {entry.kind}: store it as hypothesis or derived"
        return refused(Code.INVALID_REQUEST, text, "$.kind")
    if entry.kind in PROVISIONAL and entry.ttl_ms is None and entry.review_at is None:
        return refused(Code.INVALID_REQUEST, f"a {entry.kind} needs `ttl_ms` or `review_at`", "$.ttl_ms")
    if entry.kind == "derived" and (not entry.source_chunk_ids or entry.provenance is None):
        text = "derived entries need `source_chunk_ids` and the transform's `provenance`"
        return refused(Code.INVALID_REQUEST, text, "$.provenance")
    return None


def unconfirmed_here(session: Session, state: MemoryState) -> str:
    """Why an entry that says it is certain is not confirmed: only what was remembered elsewhere can be so."""
    if session.transfers.foreign is None or state.confirmed or state.entry.kind in PROVISIONAL:
        return ""
    return "it was confirmed elsewhere, before the session was imported; nothing here confirms it"


def _of_what_ended(session: Session, witness: Witness | None) -> Refused | None:
    doubt = doubt_about(session, witness)
    if doubt is None or doubt.stands:
        return None
    return refused(Code.CONFLICT, doubt.text, "$.confirmed_by_event_id")


def confirmation(entry: MemoryEntry, witness: Witness | None, policy: MemoryPolicy) -> Confirmation | None:
    """What confirms an entry: a witness; or sources, if it is sure enough.

    INVARIANT: nobody can confirm what contradicts something, or what its author gives no credence at all.
    """
    if entry.conflict_state == "contradictory" or entry.confidence == 0:
        return None
    if witness is not None:
        return "witness"
    return "sources" if entry.source_chunk_ids and entry.confidence >= policy.confirm_above else None


def promotes(before: MemoryEntry, after: MemoryEntry) -> bool:
    return before.kind in PROVISIONAL and after.kind not in PROVISIONAL


def _evidence(entry: MemoryEntry, witness: Witness | None) -> set[str]:
    """What an entry rests on: the sources that it names, and what its witness has seen, in whatever event."""
    named = {f"source {name}" for name in entry.source_chunk_ids}
    return named if witness is None else {*named, f"{witness.kind} {witness.content}"}
