"""Handlers of the log: checkpoints, and proofs for those who do not trust the server that makes them."""

from typing import Final

from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.ledger.envelope import LedgerBroken, Sealed
from beliefd.ledger.notes import COSIGNATURE, cosigned_at, read_checkpoint, read_note
from beliefd.protocol.log import (
    AnchorView,
    AskedWitness,
    CheckpointView,
    ConsistencyProof,
    Cosign,
    InclusionProof,
    LogView,
    SignCheckpoint,
    Witnessed,
)
from beliefd.protocol.wire import convert
from beliefd.steward.call import Call
from beliefd.steward.effects.addresses import shown
from beliefd.steward.effects.checkpoints import Checkpoints, Submitted
from beliefd.steward.log import Log
from beliefd.steward.write.positions import existing_head
from beliefd.steward.write.system import SystemLedger
from beliefd.stores.archives import Archived, SessionArchived
from beliefd.stores.base import Store
from beliefd.stores.log import KeptCheckpoint, Leaf

PROOF: Final = "beliefd-proof/1"


class LogHandlers(Struct, frozen=True):
    """INVARIANT: of sessions that the caller may not read, the log shows nothing but hashes of hashes."""

    store: Store
    tree: Log
    checkpoints: Checkpoints
    system: SystemLedger

    async def log_state(self, _: Call) -> LogView:
        newest, keys = await self.checkpoints.newest(), await self.system.log_keys()
        return LogView(
            origin=keys[-1].name if keys else None,
            size=await self.store.log_size(),
            covered=0 if newest is None else newest.size,
            keys=[str(key) for key in keys],
            witnesses=[str(key) for key in self.checkpoints.settings.witnesses],
            signed=signed[0].note if (signed := await self.store.checkpoints(1)) else None,
            asked_witnesses=[self._asked(url) for url in self.checkpoints.settings.witness_urls],
            anchors=[
                AnchorView(place=shown(place), size=one.size or None, failure=one.failure)
                for place, one in self.checkpoints.anchored.reached().items()
            ],
        )

    def _asked(self, url: str) -> AskedWitness:
        came = self.checkpoints.submitted.get(url, Submitted())
        failure = None if came.failure is None else came.failure.body.error
        return AskedWitness(url=shown(url), size=came.size or None, failure=failure)

    async def log_checkpoint(self, _: Call) -> CheckpointView:
        return self._view(await self._newest())

    async def sign_checkpoint(self, call: Call) -> CheckpointView:
        convert(call.body, SignCheckpoint)
        return self._view(await self.checkpoints.sign())

    async def add_cosignatures(self, call: Call) -> CheckpointView:
        return self._view(await self.checkpoints.add_cosignatures(convert(call.body, Cosign).note))

    async def log_consistency(self, call: Call) -> ConsistencyProof:
        first, size = call.query["from"], call.query["to"]
        if size is None:
            size = (await self._newest()).size
        await self._refuse_longer(max(first, size))
        if first > size:
            raise invalid(f"a log of {size} leaves does not begin with one of {first}", "to")
        path = await self.tree.consistency(first, size)
        return ConsistencyProof(from_size=first, to_size=size, path=[one.hex() for one in path])

    async def audit_proof(self, call: Call) -> InclusionProof:
        stub = await self.store.archived(call.session_id)
        if stub is None:
            await existing_head(self.store, call.session_id)
        size = call.query["size"]
        kept = await self._newest() if size is None else await self.checkpoints.newest(size)
        size = size if kept is None else kept.size
        await self._refuse_longer(size)
        leaf = await self._leaf(call.session_id, call.query["event_id"], size, stub)
        if stub is not None and leaf.seq != stub.head.seq:
            raise SessionArchived(stub)  # of its events but the last, the hash is kept, and not the id
        entry = stub.head if stub else await self._entry(call.session_id, leaf.seq)
        path = await self.tree.inclusion(leaf.index, size)
        return InclusionProof(
            format=PROOF,
            session_id=call.session_id,
            event_id=entry.event_id,
            seq=leaf.seq,
            hash=entry.hash,
            index=leaf.index,
            size=size,
            root=(await self.tree.root(size)).hex(),
            path=[one.hex() for one in path],
            checkpoint=None if kept is None else kept.note,
        )

    async def _leaf(self, session_id: str, event_id: str | None, size: int, stub: Archived | None) -> Leaf:
        if event_id is None:
            last = await self.store.last_leaf(session_id, size)
            if last is None:
                raise _not_covered("no event of this session is", size)
            return last
        if stub is not None and event_id != stub.head.event_id:
            raise SessionArchived(stub)
        seq = stub.head.seq if stub else await self.store.seq_of(session_id, event_id)
        if seq is None:
            raise invalid(f"no event `{event_id[:64]}` in this session", "event_id")
        index = await self.store.leaf_of(session_id, seq)
        if index is None or index >= size:
            raise _not_covered(f"event {seq} is not", size)
        return Leaf(seq, index)

    async def _entry(self, session_id: str, seq: int) -> Sealed:
        """INVARIANT: nothing is proven of an event that is gone, or is not the one that its leaf is of."""
        found = await self.store.entries(session_id, seq - 1, 1)
        there = [one for one in found if one.seq == seq]
        bad = await (
            self.tree.contradicted(session_id, there) if there else self.tree.cut_off(session_id, seq)
        )
        if bad is not None:
            raise LedgerBroken(bad.seq, bad.event_id, bad.reason)
        return there[0]

    async def _newest(self) -> KeptCheckpoint:
        newest = await self.checkpoints.newest()
        if newest is not None:
            return newest
        if await self.store.checkpoints(1):
            text = "no checkpoint has been cosigned by all witnesses that are required"
            missing = [str(key) for key in self.checkpoints.settings.witnesses]
            raise BeliefdError(Code.WITNESS_MISSING, text, {"required": missing})
        text = "there is no checkpoint yet; sign one with `beliefd log checkpoint --now`"
        raise BeliefdError(Code.NOT_FOUND, text)

    async def _refuse_longer(self, size: int) -> None:
        there = await self.store.log_size()
        if size > there:
            text = (
                f"the log has {there} leaves, and was asked about {size}: if {size} were signed,"
                " the store was put back to an earlier state, or is another one"
            )
            raise BeliefdError(Code.LOG_ROLLED_BACK, text, {"size": there, "asked": size})

    def _view(self, kept: KeptCheckpoint) -> CheckpointView:
        note = read_note(kept.note)
        checkpoint = read_checkpoint(note)
        seen = ((key, cosigned_at(note, key)) for key in self.checkpoints.settings.witnesses)
        return CheckpointView(
            origin=checkpoint.origin,
            size=checkpoint.size,
            root=checkpoint.root.hex(),
            note=kept.note,
            signed_at=kept.made_at,
            witnessed=[
                Witnessed(key=str(key), at=at)
                for key, at in seen
                if at is not None and key.kind == COSIGNATURE
            ],
        )


def _not_covered(what: str, size: int) -> BeliefdError:
    text = f"{what} covered by the checkpoint of size {size} yet; ask again after the next one is signed"
    return BeliefdError(Code.NOT_COVERED, text, {"size": size})
