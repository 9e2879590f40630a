"""The envelope around an event, as stores keep it and as it is read back."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.beliefs.events import Eliminated
from beliefd.kernel.commands import COMMAND_OF, Command
from beliefd.kernel.errors import Code
from beliefd.kernel.events import Event
from beliefd.kernel.facts import Findings
from beliefd.kernel.values import Head, Notes, Principal


class Sealed(Struct, frozen=True):
    """An entry as stores keep it."""

    seq: int
    event_id: str
    record: bytes
    hash: str

    @property
    def wire(self) -> bytes:
        """The entry as JSON, hash included."""
        return b"".join(self.wire_pieces)

    @property
    def wire_pieces(self) -> "tuple[bytes, bytes, memoryview]":
        """The same without a copy of the record."""
        return b'{"hash":"', self.hash.encode() + b'",', memoryview(self.record)[1:]


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The envelope, typed. `payload` stays raw: folding does not need it, re-deciding decodes it."""

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
    notes: Notes | None = None
    state_hash: str | None = None


class Link(Struct, frozen=True, gc=False):
    """What folding needs of an envelope. The rest is scanned but not built: half the work of reading it."""

    delta: Event
    prev_hash: str
    seq: int


class _EliminationLink(Link, frozen=True, gc=False):
    delta: Eliminated


class Place(Struct, frozen=True, gc=False):
    """Where an envelope says that it stands."""

    event_id: str
    prev_hash: str
    seq: int


UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError)
"""What reading a damaged record raises. Of bytes that are no UTF-8, msgspec raises no error of its own."""

_entry_decoder = msgspec.json.Decoder(Entry)
_link_decoder = msgspec.json.Decoder(Link)
_read_place = msgspec.json.Decoder(Place).decode
_read_elimination = msgspec.json.Decoder(_EliminationLink).decode
_declare_decoder = msgspec.json.Decoder(DeclareSession)


def read(record: bytes) -> Entry:
    return _entry_decoder.decode(record)


def read_links(records: Sequence[bytes]) -> list[Link]:
    try:
        return list(map(_read_elimination, records))  # almost all are, and one kind reads faster
    except msgspec.ValidationError:
        return [_read_link(record) for record in records]


def read_places(records: Iterable[bytes]) -> list[Place]:
    return list(map(_read_place, records))


def _read_link(record: bytes) -> Link:
    try:
        return _read_elimination(record)
    except msgspec.ValidationError:
        return _link_decoder.decode(record)


def declaration(entry: Entry) -> DeclareSession:
    return _declare_decoder.decode(entry.payload)


def command_of(entry: Entry) -> Command:
    """The command as it was proposed, from the recorded payload."""
    command: Command = msgspec.json.decode(entry.payload, type=COMMAND_OF[entry.verb])
    return command


def payload_of(command: Command) -> dict[str, Any]:
    payload: dict[str, Any] = msgspec.to_builtins(command)
    del payload["verb"]
    return payload


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
