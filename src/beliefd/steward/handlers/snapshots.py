"""How a snapshot of the symbolic state came about, by its ledger: who, when, from what, which vector."""

from typing import Any, Final

import msgspec

from beliefd.kernel.approvals.events import ApprovalClosed, ApprovalDecided
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.commands import Propose
from beliefd.kernel.substrate.dense import VectorRef
from beliefd.kernel.substrate.events import Arbitrated
from beliefd.kernel.substrate.proposals import DeltaCandidate
from beliefd.kernel.substrate.state import GENESIS_SNAPSHOT
from beliefd.ledger.envelope import Entry, LedgerBroken, read
from beliefd.protocol.substrate import CoreVector
from beliefd.steward.entries import entry_of
from beliefd.stores.base import Store

_PROPOSAL: Final = msgspec.json.Decoder(Propose)


async def made_by(store: Store, session: Session) -> dict[str, Any]:
    """What the view of a session's newest snapshot tells beside its keys."""
    held = session.substrate
    entry = await _made(store, session.session_id, held.state_snapshot_id)
    proposed = await _proposed(store, entry)
    is_proposal = isinstance(proposed.delta, Arbitrated)
    return {
        "created_at": entry.ts,
        "created_under": entry.policy_hash,
        "agent_id": proposed.actor.id,
        "provenance": _PROPOSAL.decode(proposed.payload).provenance if is_proposal else None,
        "s_core": None if held.s_core is None else await _core(store, session.session_id, held.s_core),
    }


async def _made(store: Store, session_id: str, snapshot_id: str) -> Entry:
    if snapshot_id != GENESIS_SNAPSHOT:
        return await entry_of(store, session_id, snapshot_id)
    first = await store.entries(session_id, 0, 1)
    return read(first[0].record)


async def _proposed(store: Store, entry: Entry) -> Entry:
    """The proposal behind an event: a person may have been asked about it, and about what came of that."""
    while isinstance(entry.delta, ApprovalDecided | ApprovalClosed):
        entry = await entry_of(store, entry.session_id, entry.delta.approval.event_id)
    return entry


async def _core(store: Store, session_id: str, named: VectorRef) -> CoreVector:
    entry = await entry_of(store, session_id, named.event_id)
    changes = (one for one in _PROPOSAL.decode(entry.payload).candidates if isinstance(one, DeltaCandidate))
    for vector in (one.delta_vector for one in changes):
        if vector and vector.digest == named.digest:
            return CoreVector(
                digest=named.digest, dims=named.dims, values=list(vector.values), event_id=named.event_id
            )
    raise LedgerBroken(entry.seq, entry.event_id, "the vector that the state names is not in its proposal")
