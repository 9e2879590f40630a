"""Ledgers to read, forge and verify: one with an event of every kind, and tools to rewrite it."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from beliefd.kernel.canonical import canonical
from beliefd.kernel.values import Principal, Role
from beliefd.ledger.transfer import Exported, read_export
from beliefd.ledger.verify import Verification, verify
from beliefd.testing.frozen import Clock
from beliefd.testing.world import ONTOLOGY, World

Envelope = dict[str, Any]
HYPOTHESES = ["bad_deploy", "cpu_throttle", "disk_full", "dns, or not", "replication|lag", "\U0001f525"]
APPROVER = Principal(id="human://alice", role=Role.APPROVER)


def every_kind(world: World) -> str:
    """A session of twelve events in which every kind of event occurs, seen from `world`."""
    session_id = world.declare_session(HYPOTHESES, ONTOLOGY, metadata={"incident": 7}).session_id
    with World(clock=Clock(1)) as replica:
        replica.import_ledger(world.export(session_id))
        replica.eliminate(
            session_id, source_id="adapter://far", observation_id="o9", eliminated=["dns, or not"]
        )
        apart = replica.export(session_id)
    world.batch(
        session_id,
        [
            {
                "verb": "ELIMINATE",
                "source_id": "adapter://sre",
                "observation_id": "o1",
                "eliminated": ["disk_full"],
                "justification": {"free": 0.42, "\u20ac": [1e21, -0.0]},
            },
            {
                "verb": "ELIMINATE",
                "source_id": "adapter://sre",
                "observation_id": "o2",
                "eliminated": ["aliens"],
                "justification": {},
            },
            {"verb": "ENTER_OBLIGATION", "obligation_id": "look twice", "min_total_eliminations": 2},
            {"verb": "REQUEST_EXIT", "obligation_id": "look twice"},
        ],
    )
    world.merge(session_id, apart)
    world.batch(
        session_id,
        [
            {
                "verb": "ELIMINATE",
                "source_id": "human://bob",
                "observation_id": "o3",
                "eliminated": ["disk_full", "cpu_throttle"],
                "justification": {},
            },
            {"verb": "DECLARE_CONCLUSION", "conclusion_id": "too early"},
            {"verb": "REQUEST_EXIT", "obligation_id": "look twice"},
            {"verb": "DECLARE_CONCLUSION", "conclusion_id": "it was the deploy"},
        ],
    )
    world.agent.request_termination(session_id, context={"force": True})
    world.request_termination(session_id, context={"force": True})
    return session_id


def exported(world: World | None = None) -> bytes:
    with world or World() as opened:
        return opened.export(every_kind(opened))


def parts(export: bytes) -> tuple[Envelope, list[Envelope]]:
    header, *entries = [json.loads(line) for line in export.splitlines()]
    return header, entries


def joined(header: Envelope, entries: list[Envelope]) -> bytes:
    return b"".join(canonical(line) + b"\n" for line in (header, *entries))


def rehashed(entry: Envelope) -> Envelope:
    """The entry with the hash that its other fields call for."""
    record = {name: value for name, value in entry.items() if name != "hash"}
    return {**record, "hash": hashlib.sha256(canonical(record)).hexdigest()}


def relinked(header: Envelope, entries: list[Envelope], start: int) -> tuple[Envelope, list[Envelope]]:
    """Links and hashes made consistent from event `start` on, header included: what a careful forger does."""
    done = entries[: start - 1]
    for entry in entries[start - 1 :]:
        link = done[-1]["hash"] if done else entry["prev_hash"]
        done.append(rehashed({**entry, "prev_hash": link, "seq": len(done) + 1}))
    last = done[-1]
    return {**header, "head": {name: last[name] for name in ("event_id", "hash", "seq")}}, done


def checked(export: bytes) -> Verification:
    read = read_export(export.splitlines())
    return verified(read)


def verified(read: Exported) -> Verification:
    header = read.header
    return verify(read.entries, header.session_id, header.policies, header.head)[0]


def edited(entries: list[Envelope], seq: int, change: Callable[[Envelope], Envelope]) -> list[Envelope]:
    return [change(dict(entry)) if entry["seq"] == seq else entry for entry in entries]
