"""The chain: how a decided command becomes a sealed entry, linked to the one before it.

`record` is the canonical form of the envelope without `hash`; `hash` is sha256 over exactly these bytes, so
every field is covered: payload, actor, time, order. Stores keep both as they are.
"""

import hashlib
from typing import Any

import msgspec

from beliefd.kernel.beliefs.commands import Eliminate
from beliefd.kernel.beliefs.events import Eliminated
from beliefd.kernel.canonical import digest, is_plain
from beliefd.kernel.canonical_structs import Untagged, canonical_envelope
from beliefd.kernel.commands import Command, verb_of
from beliefd.kernel.events import Event
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.values import PROTOCOL, Head, Principal
from beliefd.ledger.envelope import Sealed, payload_of
from beliefd.ledger.state_hash import state_hash, state_hash_due


def policy_hash(policy: Policy) -> str:
    return digest(msgspec.to_builtins(policy))


def genesis_hash(session: Session) -> str:
    """What the first entry's `prev_hash` must be, so that a chain belongs to one session."""
    return digest(
        {
            "ontology": msgspec.to_builtins(session.ontology),
            "protocol": PROTOCOL,
            "session_id": session.session_id,
            "universe_hash": session.beliefs.survivors.universe.digest.hex(),
        }
    )


def _actor(principal: Principal) -> dict[str, str]:
    actor = {"id": principal.id, "role": principal.role.value, "tier": principal.tier}
    return actor if principal.owner is msgspec.UNSET else {**actor, "owner": principal.owner}


def seal(
    before: Session | None, command: Command, event: Event, after: Session, head: Head | None, facts: Facts
) -> Sealed:
    """The entry of one decided command, linked to `head` (None: the session begins)."""
    seq = 1 if head is None else head.seq + 1
    after_hash = after.beliefs.survivors.digest
    envelope: dict[str, Any] = {
        "actor": _actor(facts.principal),
        "event_id": facts.event_id,
        "policy_hash": facts.policy_hash,
        "prev_hash": genesis_hash(after) if head is None else head.hash,
        "protocol": PROTOCOL,
        "seq": seq,
        "session_id": after.session_id,
        "survivors_after_hash": after_hash,
        "survivors_before_hash": after_hash if before is None else before.beliefs.survivors.digest,
        "ts": facts.now,
        "verb": verb_of(command),
    }
    foreign: dict[str, Any] = {}
    if _holds_texts_only(command, event):
        envelope |= {"delta": msgspec.to_builtins(event), "payload": payload_of(command)}
    else:
        foreign = {"delta": event, "payload": Untagged(command)}
    if facts.findings is not None:
        foreign["facts"] = facts.findings
    if facts.notes is not None:
        envelope["notes"] = facts.notes
    if state_hash_due(after, seq):
        envelope["state_hash"] = state_hash(after)
    record = canonical_envelope(envelope, foreign)
    return Sealed(seq, facts.event_id, record, hashlib.sha256(record).hexdigest())


def _holds_texts_only(command: Command, event: Event) -> bool:
    """Apart from its justification, an elimination holds texts only, which need no check."""
    return type(command) is Eliminate and type(event) is Eliminated and is_plain(command.justification, 2)
