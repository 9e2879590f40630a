"""Ledgers that come and go: export, import, and the merge of replicas that were apart."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from itertools import islice

from beliefd.kernel.beliefs.commands import Eliminate, Merge, ReplicaElimination
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.event import Refused
from beliefd.kernel.experiments.events import EvidenceLinked
from beliefd.kernel.values import Principal
from beliefd.knowledge import rows as knowledge
from beliefd.ledger.chain import genesis_hash
from beliefd.ledger.envelope import command_of, read
from beliefd.ledger.replay import Position
from beliefd.ledger.transfer import BadExport, Exported, entry_lines, header_line, read_export
from beliefd.ledger.verify import verify
from beliefd.protocol.beliefs import snapshot_of
from beliefd.protocol.ledger import Imported
from beliefd.steward.handle import Outcome, Steward
from beliefd.steward.inbox import all_rows
from beliefd.steward.positions import session_not_found
from beliefd.steward.queries import policy_documents
from beliefd.stores.base import Append, HeadMoved

MERGE_ATTEMPTS = 50
EXPORT_CHUNK = 256
"""Lines that travel together."""


async def export(steward: Steward, session_id: str) -> AsyncGenerator[bytes, None]:
    head = await steward.store.head(session_id)
    if head is None:
        raise session_not_found(session_id)
    entries = [entry for entry in await steward.store.entries(session_id) if entry.seq <= head.seq]
    yield header_line(session_id, head, await policy_documents(steward, entries))
    lines = entry_lines(entries)
    while chunk := b"".join(islice(lines, EXPORT_CHUNK)):
        yield chunk


async def import_ledger(steward: Steward, lines: Iterable[bytes]) -> Imported:
    """Take a foreign ledger in, whole and byte for byte, after everything in it has been recomputed."""
    exported, position = await asyncio.to_thread(read_and_verify, lines)
    session_id = exported.header.session_id
    inbox = all_rows(position.session)
    for row in inbox:
        # Ids are the exporter's choice: a foreign ledger must not take over what waits in another session.
        known = await steward.store.inbox_row(row.approval_id)
        if known is not None and known.session_id != session_id:
            raise BeliefdError(Code.CONFLICT, f"approval `{row.approval_id}` belongs to another session here")
    batch = Append(
        session_id=session_id,
        expected=None,
        entries=exported.entries,
        created_at=read(exported.entries[0].record).ts,
        policies=list(exported.policy_documents.items()),
        inbox=inbox,
        graph=knowledge.all_rows(position.session),
    )
    try:
        await steward.store.append(batch)
    except HeadMoved:
        raise BeliefdError(
            Code.CONFLICT, f"session `{session_id}` is here already; merge the replica instead"
        ) from None
    return Imported(
        session_id=session_id,
        events=len(exported.entries),
        snapshot=snapshot_of(position.session, position.head),
    )


def read_and_verify(lines: Iterable[bytes]) -> tuple[Exported, Position]:
    try:
        exported = read_export(lines)
    except BadExport as error:
        raise BeliefdError(Code.INVALID_REQUEST, str(error), {"path": f"line {error.line}"}) from None
    header = exported.header
    result, position = verify(exported.entries, header.session_id, header.policies, header.head)
    if not result.ok or position is None:
        bad = result.first_bad
        raise BeliefdError(
            Code.LEDGER_BROKEN,
            "the ledger is empty" if bad is None else f"event {bad.seq}: {bad.reason}",
            None if bad is None else {"seq": bad.seq, "event_id": bad.event_id, "reason": bad.reason},
        )
    return exported, position


async def merge(steward: Steward, session_id: str, lines: Iterable[bytes], principal: Principal) -> Outcome:
    """Record the union of both replicas' eliminations; the event names the head of each side.

    Either side can merge the other, in any order and any number of times: the survivors come out the same.
    """
    exported, replica = await asyncio.to_thread(read_and_verify, lines)
    own = await steward.positions.existing(session_id)
    if genesis_hash(own.session) != genesis_hash(replica.session):
        raise invalid("the ledger is not a replica of this session: its genesis is another", "$.session_id")
    eliminations = tuple(await asyncio.to_thread(_eliminations, exported))
    for _ in range(MERGE_ATTEMPTS):
        command = Merge(
            genesis_hash=genesis_hash(own.session),
            own_head=own.head,
            replica_head=replica.head,
            eliminations=eliminations,
        )
        try:
            return await steward.submit(session_id, command, principal, if_match=own.head.event_id)
        except BeliefdError as error:
            if error.code is not Code.CONFLICT:
                raise
            own = await steward.positions.existing(session_id)
    raise BeliefdError(Code.CONFLICT, "too many writers on this session; try again")


def _eliminations(exported: Exported) -> list[ReplicaElimination]:
    """Every elimination the replica knows of, once each, however often it was merged back and forth."""
    found: dict[str, ReplicaElimination] = {}
    for sealed in exported.entries:
        entry = read(sealed.record)
        command = command_of(entry)
        if isinstance(entry.delta, Refused):
            continue
        if isinstance(command, Eliminate):
            found[entry.event_id] = ReplicaElimination(
                event_id=entry.event_id,
                source_id=command.source_id,
                observation_id=command.observation_id,
                eliminated=command.eliminated,
            )
        elif isinstance(entry.delta, EvidenceLinked) and entry.delta.eliminated:
            found[entry.event_id] = ReplicaElimination(
                event_id=entry.event_id,
                source_id=entry.delta.evidence.execution_id,
                observation_id=entry.delta.evidence.evidence_id,
                eliminated=entry.delta.eliminated,
            )
        elif isinstance(command, Merge):
            for item in command.eliminations:
                found.setdefault(item.event_id, item)
    return list(found.values())
