"""The state of a session as one document: what its hash is taken over, and what is kept to load it faster.

How each field is written follows from its annotation in the part that it belongs to (`kernel/parts.py`), so a
field that is added to a part is hashed, packed and unpacked without being named here.
"""

from functools import cache
from typing import Annotated, Any, Final, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from rpds import HashTrieMap

from beliefd.kernel.beliefs.survivors import Survivors
from beliefd.kernel.canonical import digest
from beliefd.kernel.parts import Kept, Part
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.symbolic_state import SymbolicState

STATE_HASH_EVERY: Final = 256
"""Every so many events the envelope carries the hash of the whole state, to check saved states against."""
SURVIVORS_HASH: Final = "survivors_hash"


class PartField(Struct, frozen=True):
    """One field of a part: where it is in the state, and what it is called in the document."""

    part: str
    field: str
    name: str
    kind: Any
    kept: Kept | None

    def of(self, session: Session) -> Any:
        return getattr(getattr(session, self.part), self.field)


@cache
def part_fields() -> tuple[PartField, ...]:
    """Every field of every part, but for the survivors, whose bitmap is no JSON."""
    return tuple(
        PartField(part.name, field.name, field.encode_name, *_kind(field.type))
        for part in msgspec.structs.fields(Session)
        if isinstance(part.type, type) and issubclass(part.type, Part)
        for field in msgspec.structs.fields(part.type)
        if field.type is not Survivors
    )


def _kind(annotation: Any) -> tuple[Any, Kept | None]:
    if annotation is SymbolicState:
        return SymbolicState, Kept(Any)
    if get_origin(annotation) is Annotated:
        kind, *notes = get_args(annotation)
        return kind, next((note for note in notes if isinstance(note, Kept)), None)
    return annotation, None


def state_hash(session: Session) -> str:
    """sha256 over the canonical form of all that can change in a session."""
    return digest(state_document(session))


def state_document(session: Session) -> dict[str, Any]:
    """What the state hash is taken over. What was declared never changes and is in the chain already.

    Members that are null, false, zero or empty are left out, so that a state which a later version can
    describe more fully keeps the hash it had.
    """
    document = {field.name: _written(field, field.of(session)) for field in part_fields()}
    document["session_id"] = session.session_id
    document[SURVIVORS_HASH] = session.beliefs.survivors.digest
    return {name: value for name, value in document.items() if value}


def _written(field: PartField, held: Any) -> Any:
    if field.kept is None:
        return msgspec.to_builtins(held)
    if field.kept.in_order:  # a list keeps the order of entry
        return [[key, msgspec.to_builtins(value)] for key, value in held.items()]
    return {key: msgspec.to_builtins(held[key]) for key in held}


def state_of(document: dict[str, Any], begun: Session, survivors: Survivors) -> Session:
    """The state that a document describes: the reverse of `state_document`, type by type."""
    parts: dict[str, dict[str, Any]] = {"beliefs": {"survivors": survivors}}
    for field in part_fields():
        if field.name in document:
            parts.setdefault(field.part, {})[field.field] = _read(field, document[field.name])
    return replace(begun, **{name: replace(getattr(begun, name), **held) for name, held in parts.items()})


def _read(field: PartField, written: Any) -> Any:
    kept = field.kept
    if kept is None:
        return msgspec.convert(written, field.kind)
    pairs = written if kept.in_order else written.items()
    held = {key: msgspec.convert(value, kept.kind) for key, value in pairs}
    if field.kind is dict:
        return held
    return HashTrieMap(held) if field.kind is HashTrieMap else field.kind(held)


def state_hash_due(session: Session, seq: int) -> bool:
    """Every 256 events; less often the more a state holds, so that the cost per event stays the same."""
    if seq % STATE_HASH_EVERY:
        return False  # nor can it be due at a multiple of that
    growing = (
        field.of(session) for field in part_fields() if field.kept is not None and not field.kept.in_order
    )
    held = sum(len(one) for one in growing)
    return seq % (STATE_HASH_EVERY << (held // 1024).bit_length()) == 0
