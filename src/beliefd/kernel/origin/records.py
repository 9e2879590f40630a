"""What stands in the fields of a record, read once: the same of the same record, whatever else was told."""

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from beliefd.kernel.origin.index import Kind, Label, Wanted, joined
from beliefd.kernel.origin.lexicon import Lexicon
from beliefd.kernel.origin.naming import Called, Names, is_free, is_long, may_hold, members
from beliefd.kernel.origin.spelling import SINK_SHAPES, Atom, name_words, shape_of

MAX_LABELS: Final = 12

Leaf = tuple[str, str, Any]
"""Path, name and value of a field."""


class Entry(Struct, frozen=True, gc=False):
    """A field as it is indexed: in one piece, or in several if it holds several values. `things` are those
    of a short one."""

    text: str
    path: str
    kind: Kind
    pieces: tuple[str, ...]
    things: list[Atom] | None


class RecordReading(Struct, eq=False):
    """A record, read. `labels` are short fields by which the user may speak of it, `sinks` the addresses
    among them, each with whether it is its author's. `authors` are what its authors' fields say, `written`
    whether it holds somebody's text, `identity` whether it holds nothing but who somebody is, and `owners`
    are addresses that stand alone in a field."""

    leaves: list[Leaf]
    entries: list[Entry]
    labels: list[Label]
    sinks: list[tuple[str, bool]]
    authors: list[str]
    owners: list[Wanted]
    written: bool
    identity: bool


def read_record(
    leaves: list[Leaf], names: Names, things: Callable[[str], list[Atom]], lexicon: Lexicon
) -> RecordReading:
    """`things` says what stands in a short text."""
    identity = lexicon.names["identity"]
    found = RecordReading(
        leaves=leaves,
        entries=[],
        labels=[],
        sinks=[],
        authors=[str(raw) for path, _, raw in leaves if names.of(path).is_author],
        owners=[],
        written=any(is_free(names.of(name), str(raw)) for _, name, raw in leaves),
        identity=all(not name or "_".join(name_words(name)) in identity for _, name, _ in leaves),
    )
    for path, name, raw in leaves:
        _read_field(found, path, name, str(raw), names.of(name), things, lexicon)
    return found


def _read_field(
    found: RecordReading,
    path: str,
    name: str,
    text: str,
    field: Called,
    things: Callable[[str], list[Atom]],
    lexicon: Lexicon,
) -> None:
    kind = field.kind if not is_long(text) else "text"
    if not name and kind == "field" and " " in text:
        kind = "label"
    known = things(text) if kind != "text" else []
    if kind != "text" and len(found.labels) < MAX_LABELS and (one := joined(known)):
        _label(found, kind, field, one, lexicon)
    if kind == "text" or not may_hold(text):
        found.entries.append(Entry(text, path, kind, (text,), known))
        return
    shape = shape_of(text)
    found.entries.append(Entry(text, path, kind, tuple(members(text, shape)), None))
    if shape == "email" and kind == "field" and (owner := joined(known)):
        found.owners.append(owner)


def _label(found: RecordReading, kind: Kind, field: Called, one: Wanted, lexicon: Lexicon) -> None:
    names_it = kind == "label" or field.is_id
    parts = one.parts if one.shape != "number" or names_it else ()
    meant = tuple(part for part in parts if part not in lexicon.stops and len(part) > 1)
    found.labels.append(Label("label" if names_it else "field", parts, meant))
    if one.shape in SINK_SHAPES:
        found.sinks.append((one.key, field.is_author))
