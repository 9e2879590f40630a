"""The chain: how an event becomes a sealed entry, and how an entry is read back.

`record` is the canonical form of the envelope without `hash`; `hash` is sha256 over exactly these bytes, so
every field is covered: payload, actor, time, order. Stores keep both as they are.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from beliefd.kernel.beliefs.commands import DeclareSession, Eliminate
from beliefd.kernel.beliefs.events import Eliminated
from beliefd.kernel.canonical import canonical_envelope, digest, is_plain
from beliefd.kernel.commands import VERBS, Command, verb_of
from beliefd.kernel.errors import Code
from beliefd.kernel.events import Event
from beliefd.kernel.facts import Facts, Findings
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.values import PROTOCOL, Head, Principal

STATE_HASH_EVERY: Final = 256
"""Once per so many events the envelope holds the hash of the whole state, to check snapshots against."""


GROWING: Final = (
    "bundles",
    "approvals",
    "grants",
    "sparse",
    "snapshots",
    "written",
    "calls",
    "call_keys",
    "capabilities",
    "memory",
    "experiments",
    "attempts",
    "runs",
    "evidence",
    "linked",
    "intents",
    "propositions",
    "speculative",
    "speculated",
)
"""Parts of the state that grow with the ledger, kept in persistent maps."""


class Sealed(Struct, frozen=True):
    """An entry as stores keep it."""

    seq: int
    event_id: str
    record: bytes
    hash: str

    @property
    def wire(self) -> bytes:
        """The entry as JSON, hash included."""
        return b'{"hash":"' + self.hash.encode() + b'",' + self.record[1:]


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The envelope, typed. `payload` stays raw: folding does not need it, deciding again decodes it."""

    actor: Principal
    delta: Event
    event_id: str
    payload: Raw
    policy_hash: str
    prev_hash: str
    protocol: str
    seq: int
    session_id: str
    survivors_after_hash: str
    survivors_before_hash: str
    ts: str
    verb: str
    facts: Findings | None = None
    notes: str | None = None
    state_hash: str | None = None


class Link(Struct, frozen=True, gc=False):
    """What folding needs of an envelope. Not building the rest halves the time to read it."""

    delta: Event
    prev_hash: str
    seq: int


class _EliminationLink(Link, frozen=True, gc=False):
    delta: Eliminated


_entry_decoder = msgspec.json.Decoder(Entry)
_link_decoder = msgspec.json.Decoder(Link)
_read_elimination = msgspec.json.Decoder(_EliminationLink).decode
_declare_decoder = msgspec.json.Decoder(DeclareSession)
_command_types: dict[str, type] = {verb: kind for kind, verb in VERBS.items()}


def read(record: bytes) -> Entry:
    return _entry_decoder.decode(record)


def read_links(records: Sequence[bytes]) -> list[Link]:
    try:
        return list(map(_read_elimination, records))  # almost all are eliminations, and one type reads faster
    except msgspec.ValidationError:
        return [_read_link(record) for record in records]


def _read_link(record: bytes) -> Link:
    try:
        return _read_elimination(record)
    except msgspec.ValidationError:
        return _link_decoder.decode(record)


def declaration(entry: Entry) -> DeclareSession:
    return _declare_decoder.decode(entry.payload)


def command_of(entry: Entry) -> Command:
    """The command as it was proposed, from the recorded payload."""
    command: Command = msgspec.json.decode(entry.payload, type=_command_types[entry.verb])
    return command


def payload_of(command: Command) -> dict[str, Any]:
    payload: dict[str, Any] = msgspec.to_builtins(command)
    del payload["verb"]
    return payload


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


def state_hash(session: Session) -> str:
    """sha256 over the canonical form of all that can change in a session."""
    return digest(state_document(session))


def state_document(session: Session) -> dict[str, Any]:
    """What the state hash is taken over. What was declared never changes and is in the chain already.

    Members that are null, false, zero or empty are left out, so that a state which a later version can
    describe more fully keeps the hash it had.
    """
    document = {
        name: msgspec.to_builtins(getattr(session, name))
        for name in session.__struct_fields__
        if name not in ("ontology", "options", "metadata", "survivors", "obligations", *GROWING)
    }
    document["survivors_hash"] = session.beliefs.survivors.digest
    # The order of entry is part of the state (the latest active one is *the* active one): a list keeps it.
    document["obligations"] = [
        [oid, msgspec.to_builtins(obligation)] for oid, obligation in session.beliefs.obligations.items()
    ]
    for name in GROWING:
        held = getattr(session, name)
        document[name] = {key: msgspec.to_builtins(held[key]) for key in held}
    return {name: value for name, value in document.items() if value}


def state_hash_due(session: Session, seq: int) -> bool:
    """Once per 256 events; less often the more a state holds, so that the cost per event stays the same."""
    if seq % STATE_HASH_EVERY:
        return False  # nor can it be due at a multiple of that
    held = sum(len(getattr(session, name)) for name in GROWING)
    return seq % (STATE_HASH_EVERY << (held // 1024).bit_length()) == 0


def seal(
    before: Session | None, command: Command, event: Event, after: Session, head: Head | None, facts: Facts
) -> Sealed:
    """The entry of one decided command, linked to `head` (None: the session begins)."""
    seq = 1 if head is None else head.seq + 1
    after_hash = after.beliefs.survivors.digest
    envelope: dict[str, Any] = {
        "actor": {"id": facts.principal.id, "role": facts.principal.role.value, "tier": facts.principal.tier},
        "delta": msgspec.to_builtins(event),
        "event_id": facts.event_id,
        "payload": payload_of(command),
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
    foreign = [] if _holds_texts_only(command, event) else ["delta", "payload"]
    if facts.findings is not None:
        envelope["facts"] = msgspec.to_builtins(facts.findings)
        foreign.append("facts")
    if state_hash_due(after, seq):
        envelope["state_hash"] = state_hash(after)
    record = canonical_envelope(envelope, foreign)
    return Sealed(seq, facts.event_id, record, hashlib.sha256(record).hexdigest())


def _holds_texts_only(command: Command, event: Event) -> bool:
    """Apart from its justification, an elimination holds texts only, which need no check."""
    return type(command) is Eliminate and type(event) is Eliminated and is_plain(command.justification, 2)


def head_of(sealed: Sealed) -> Head:
    return Head(seq=sealed.seq, event_id=sealed.event_id, hash=sealed.hash)


class LedgerBroken(Exception):
    """The stored chain contradicts itself; `first_bad` names where and why."""

    code = Code.LEDGER_BROKEN

    def __init__(self, seq: int, event_id: str | None, reason: str) -> None:
        super().__init__(f"event {seq} ({event_id or 'missing'}): {reason}")
        self.seq = seq
        self.event_id = event_id
        self.reason = reason
