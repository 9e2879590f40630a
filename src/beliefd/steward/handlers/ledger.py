"""Handlers of questions about ledgers, and their live feed. None of them writes."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import msgspec
from msgspec import Raw, Struct

from beliefd.kernel.commands import Eliminate, Merge
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.events import Refused
from beliefd.kernel.firewall.artifacts import Evidence
from beliefd.kernel.firewall.events import EvidenceLinked
from beliefd.kernel.policy import Policy
from beliefd.ledger.chain import Entry, Sealed, command_of, read
from beliefd.ledger.verify import Verification, verify
from beliefd.protocol.answers import (
    FirstBad,
    Testimony,
    Verified,
    Why,
)
from beliefd.steward.call import Call
from beliefd.steward.feeds import Feeds
from beliefd.steward.offload import is_heavy, offload
from beliefd.steward.write.positions import Positions, existing_head
from beliefd.stores.base import Store


class RawAuditPage(Struct, frozen=True):
    """An audit page whose entries are the stored bytes, untouched."""

    events: list[Raw]
    next: str | None


class LedgerHandlers:
    """Questions about ledgers. None of them writes."""

    def __init__(self, store: Store, positions: Positions, feeds: Feeds) -> None:
        self._store = store
        self._positions = positions
        self._feeds = feeds

    async def audit_trace(self, call: Call) -> RawAuditPage:
        since, limit = call.query["since_event_id"], call.query["limit"]
        await existing_head(self._store, call.session_id)
        after = 0 if since is None else await self._store.seq_of(call.session_id, since)
        if after is None:
            # Returning everything here would make a typing error look like a full history.
            raise invalid(f"no event `{since[:64]}` in this session", "since_event_id")
        entries = await self._store.entries(call.session_id, after, limit + 1)
        shown = entries[:limit]
        more = len(entries) > limit
        return RawAuditPage([Raw(entry.wire) for entry in shown], shown[-1].event_id if more else None)

    async def verify(self, call: Call) -> Verified:
        return await verify_session(self._store, call.session_id)

    async def events(self, call: Call) -> AsyncGenerator[bytes, None]:
        head = await existing_head(self._store, call.session_id)
        after = _last_event(call.last_event, head.seq)
        yield b": beliefd\n\n"
        async with aclosing(self._feeds.follow(call.session_id, after)) as chunks:
            async for chunk in chunks:
                if chunk is None:
                    yield b": still here\n\n"
                else:
                    yield b"".join(
                        [b"id: %d\nevent: audit\ndata: %s\n\n" % (entry.seq, entry.wire) for entry in chunk]
                    )

    async def why(self, call: Call) -> Why:
        """Everyone who spoke against a hypothesis, in order; the first one that counted is marked."""
        hypothesis = call.path["hypothesis"]
        position = await self._positions.existing(call.session_id)
        if position.session.survivors.universe.position(hypothesis) is None:
            raise BeliefdError(
                Code.INVALID_HYPOTHESIS_ID,
                f"not declared in this session: `{hypothesis[:64]}`",
                {"path": "hypothesis"},
            )
        needle = msgspec.json.encode(hypothesis)
        testimony: list[Testimony] = []
        async for chunk in self._store.stream(call.session_id):
            for sealed in chunk:
                # Most entries do not name it: looking for its bytes is far cheaper than decoding.
                if sealed.seq > 1 and needle in sealed.record:
                    testimony += _testimony(read(sealed.record), hypothesis)
        return Why(hypothesis=hypothesis, survives=hypothesis in position.session.survivors, events=testimony)


def _last_event(text: str | None, head: int) -> int:
    if text is None:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and int(text) <= head):
        raise invalid(f"Last-Event-ID must be the `seq` of an entry, at most {head}", "Last-Event-ID")
    return int(text)


async def policies_of(store: Store, entries: list[Sealed]) -> dict[str, Policy]:
    """The policies that a ledger was decided under, by hash."""
    documents = await policy_documents(store, entries)
    return {name: msgspec.json.decode(document, type=Policy) for name, document in documents.items()}


async def policy_documents(store: Store, entries: list[Sealed]) -> dict[str, bytes]:
    """The same as they were written then; a stored document that does not hash to its name is not one."""
    found: dict[str, bytes] = {}
    for name in await offload(is_heavy(entries), _policy_hashes, entries):
        document = None if name is None else await store.policy(name)
        if name is not None and document is not None and hashlib.sha256(document).hexdigest() == name:
            found[name] = document
    return found


def _policy_hashes(entries: list[Sealed]) -> set[str | None]:
    return {read_policy_hash(entry.record) for entry in entries}


class _PolicyHash(Struct):
    policy_hash: str


_policy_hash_decoder = msgspec.json.Decoder(_PolicyHash)


def read_policy_hash(record: bytes) -> str | None:
    try:
        return _policy_hash_decoder.decode(record).policy_hash
    except msgspec.MsgspecError:
        return None


async def verify_session(
    store: Store, session_id: str, progress: Callable[[int], None] | None = None
) -> Verified:
    """Verify what is stored now, up to the head that the sessions table promises."""
    entries = await store.entries(session_id)
    promised = await existing_head(store, session_id)
    # What was appended since the first read is inside the head; what that read found past it is forged.
    newer = await store.entries(session_id, entries[-1].seq if entries else 0)
    entries += [entry for entry in newer if entry.seq <= promised.seq]
    policies = await policies_of(store, entries)
    result, _ = await asyncio.to_thread(verify, entries, session_id, policies, promised, progress)
    return verified(result)


def verified(result: Verification) -> Verified:
    bad = result.first_bad
    return Verified(
        ok=result.ok,
        checked=result.checked,
        first_bad=None if bad is None else FirstBad(seq=bad.seq, event_id=bad.event_id, reason=bad.reason),
        head=result.head,
    )


def _testimony(entry: Entry, hypothesis: str) -> list[Testimony]:
    if isinstance(entry.delta, Refused):
        return []
    command = command_of(entry)
    applied = hypothesis in entry.delta.eliminated
    if isinstance(command, Eliminate) and hypothesis in command.eliminated:
        return [_witness(entry, command.source_id, command.observation_id, command.justification, applied)]
    if isinstance(command, Merge):
        return [
            _witness(entry, item.source_id, item.observation_id, {}, applied, item.event_id)
            for item in command.eliminations
            if hypothesis in item.eliminated
        ]
    if isinstance(entry.delta, EvidenceLinked) and hypothesis in (
        *entry.delta.eliminated,
        *entry.delta.ignored,
    ):
        evidence = entry.delta.evidence
        return [_witness(entry, evidence.execution_id, evidence.evidence_id, _grounds(evidence), applied)]
    return []


def _grounds(evidence: Evidence) -> dict[str, object]:
    """What stands in the place of a justification where an experiment has spoken."""
    return {
        "evidence_id": evidence.evidence_id,
        "experiment_id": evidence.experiment_id,
        "outcome": evidence.outcome,
        "model": evidence.model,
    }


def _witness(
    entry: Entry,
    source_id: str,
    observation_id: str,
    justification: dict[str, object],
    applied: bool,
    merged_from: str | None = None,
) -> Testimony:
    return Testimony(
        event_id=entry.event_id,
        seq=entry.seq,
        ts=entry.ts,
        source_id=source_id,
        observation_id=observation_id,
        justification=justification,
        applied=applied,
        merged_from=merged_from,
    )
