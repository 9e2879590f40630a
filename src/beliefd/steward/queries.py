"""Questions about ledgers. None of them writes."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable

import msgspec
from msgspec import Raw, Struct

from beliefd.kernel.beliefs.commands import Eliminate, Merge
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.event import Refused
from beliefd.kernel.experiments.events import EvidenceLinked
from beliefd.kernel.experiments.state import Evidence
from beliefd.kernel.policy import Policy
from beliefd.ledger.envelope import Entry, LedgerBroken, Sealed, command_of, read
from beliefd.ledger.verify import Verification, verify
from beliefd.protocol.beliefs import SURVIVORS_PAGE, BeliefSnapshot, BrokenLedger, SessionPage, snapshot_of
from beliefd.protocol.ledger import AUDIT_PAGE, FirstBad, Testimony, Verified, Why
from beliefd.steward.handle import Steward
from beliefd.steward.offload import is_heavy, offload
from beliefd.steward.positions import session_not_found
from beliefd.stores.base import StorageUnavailable


class RawAuditPage(Struct, frozen=True):
    """An audit page whose entries are the stored bytes, untouched."""

    events: list[Raw]
    next: str | None


async def list_sessions(steward: Steward, cursor: str | None, limit: int) -> SessionPage:
    rows = await steward.store.sessions(cursor, limit + 1)
    shown = rows[:limit]
    snapshots: list[BeliefSnapshot] = []
    broken: list[BrokenLedger] = []
    for row in shown:
        try:
            position = await steward.positions.existing(row.session_id)
        except LedgerBroken as error:
            broken.append(
                BrokenLedger(
                    session_id=row.session_id, seq=error.seq, event_id=error.event_id, reason=error.reason
                )
            )
        else:
            snapshots.append(snapshot_of(position.session, position.head, limit=100))
    following = shown[-1].session_id if len(rows) > limit else None
    return SessionPage(sessions=snapshots, next=following, broken=broken)


async def query_belief(
    steward: Steward,
    session_id: str,
    at: int | None = None,
    survivors_limit: int = SURVIVORS_PAGE,
    survivors_after: str | None = None,
) -> BeliefSnapshot:
    position = await steward.positions.existing(session_id)
    if at is not None and at != position.head.seq:
        if not 1 <= at <= position.head.seq:
            raise invalid(f"`at` must be between 1 and {position.head.seq}", "at")
        past = await steward.positions.at(session_id, at)
        position = past or position
    return snapshot_of(position.session, position.head, survivors_limit, survivors_after)


async def audit_trace(
    steward: Steward, session_id: str, since_event_id: str | None = None, limit: int = AUDIT_PAGE
) -> RawAuditPage:
    if await steward.store.head(session_id) is None:
        raise session_not_found(session_id)
    after = 0
    if since_event_id is not None:
        seq = await steward.store.seq_of(session_id, since_event_id)
        if seq is None:
            # Returning everything here would make a typing error look like a full history.
            raise invalid(f"no event `{since_event_id[:64]}` in this session", "since_event_id")
        after = seq
    entries = await steward.store.entries(session_id, after, limit + 1)
    shown = entries[:limit]
    more = len(entries) > limit
    return RawAuditPage([Raw(entry.wire) for entry in shown], shown[-1].event_id if more else None)


async def all_entries(steward: Steward, session_id: str) -> list[Sealed]:
    entries = await steward.store.entries(session_id)
    if not entries:
        raise session_not_found(session_id)
    return entries


async def policies_of(steward: Steward, entries: list[Sealed]) -> dict[str, Policy]:
    """The policies that a ledger was decided under, by hash."""
    documents = await policy_documents(steward, entries)
    return {name: msgspec.json.decode(document, type=Policy) for name, document in documents.items()}


async def policy_documents(steward: Steward, entries: list[Sealed]) -> dict[str, bytes]:
    """The same as they were written then; a stored document that does not hash to its name is not one."""
    found: dict[str, bytes] = {}
    for name in await offload(is_heavy(entries), _policy_hashes, entries):
        document = None if name is None else await steward.store.policy(name)
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
    steward: Steward, session_id: str, progress: Callable[[int], None] | None = None
) -> Verified:
    """Verify what is stored now, up to the head that the sessions table promises."""
    entries = await steward.store.entries(session_id)
    promised = await steward.store.head(session_id)
    if promised is None:
        raise session_not_found(session_id)
    # What was appended since the first read is inside the head; what that read found past it is forged.
    newer = await steward.store.entries(session_id, entries[-1].seq if entries else 0)
    entries += [entry for entry in newer if entry.seq <= promised.seq]
    policies = await policies_of(steward, entries)
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


async def why(steward: Steward, session_id: str, hypothesis: str) -> Why:
    """Everyone who spoke against a hypothesis, in order; the first one that counted is marked."""
    position = await steward.positions.existing(session_id)
    if position.session.beliefs.survivors.universe.position(hypothesis) is None:
        raise BeliefdError(
            Code.INVALID_HYPOTHESIS_ID,
            f"not declared in this session: `{hypothesis[:64]}`",
            {"path": "hypothesis"},
        )
    needle = msgspec.json.encode(hypothesis)
    testimony: list[Testimony] = []
    async for chunk in steward.store.stream(session_id):
        for sealed in chunk:
            # Most entries do not name it: looking for its bytes is far cheaper than decoding.
            if sealed.seq > 1 and needle in sealed.record:
                testimony += _testimony(read(sealed.record), hypothesis)
    return Why(
        hypothesis=hypothesis, survives=hypothesis in position.session.beliefs.survivors, events=testimony
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


async def feed(steward: Steward, session_id: str, after: int) -> AsyncGenerator[list[Sealed] | None, None]:
    """Entries past `after` as they come; None now and then, so that callers can show they are alive."""
    grown = asyncio.Event()
    unsubscribe = steward.store.subscribe(lambda sid: grown.set() if sid in ("", session_id) else None)
    steward.feeds.add(grown)
    try:
        while not steward.feeds_ended:
            grown.clear()
            pause = HEARTBEAT_SECONDS
            try:
                async for chunk in steward.store.stream(session_id, after):
                    yield chunk
                    after = chunk[-1].seq
            except StorageUnavailable:
                # Who is sent away now finds a closed door when he comes back: let him wait here instead.
                pause = RETRY_SECONDS
            try:
                await asyncio.wait_for(grown.wait(), pause)
            except TimeoutError:
                yield None
    finally:
        steward.feeds.discard(grown)
        unsubscribe()


HEARTBEAT_SECONDS = 15.0
RETRY_SECONDS = 1.0
