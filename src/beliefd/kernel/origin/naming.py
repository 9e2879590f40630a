"""Fields of records and arguments of calls: what they are by their names, and the values in them."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from beliefd.kernel.origin.facts import Origin
from beliefd.kernel.origin.index import Kind, Place
from beliefd.kernel.origin.lexicon import Lexicon
from beliefd.kernel.origin.results import is_key
from beliefd.kernel.origin.spelling import SINK_SHAPES, Shape, name_words, shape_of
from beliefd.kernel.origin.tools import is_address

MAX_NAMES: Final = 4_096


class Called(Struct, frozen=True, gc=False):
    """What a field is by its name, if it is short. `odd`: the name is a text that somebody has written."""

    kind: Kind
    is_id: bool
    is_author: bool
    is_audience: bool
    odd: bool


def called(name: str, lexicon: Lexicon) -> Called:
    words, names = name_words(name), lexicon.names
    whole, last = "_".join(words), words[-1] if words else ""
    kind: Kind = "field"
    if whole in names["text"] or (last in names["text"] and last not in names["label"]):
        kind = "text"
    elif whole in names["label"] or last in names["label"]:
        kind = "label"
    authored = whole in names["author"] or not names["author"].isdisjoint(words)
    audience = not names["audience"].isdisjoint(words)
    return Called(kind, "id" in words, authored, audience, not is_key(name, lexicon))


class Names:
    """What fields are by their names. Results have few names and many fields."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._known: dict[str, Called] = {}

    def of(self, name: str) -> Called:
        known = self._known.get(name)
        if known is None:
            known = called(name, self._lexicon)
            if len(self._known) < MAX_NAMES:
                self._known[name] = known
        return known


def is_long(text: str) -> bool:
    return len(text) > 80 or "\n" in text or text.count(" ") > 6


def is_free(field: Called, text: str) -> bool:
    """Is it a text of somebody's, and not one word of a program's that is called like one (`plan: gold`)?"""
    return is_long(text) or (field.kind == "text" and len(text.split()) > 1)


def may_hold(text: str) -> bool:
    """Can there be several values in it, or an address?"""
    return "@" in text or "," in text or ";" in text or "<" in text


def members(text: str, shape: Shape) -> list[str]:
    """`a@x.org, b@x.org` are two values; `Ann <ann@x.org>` holds one."""
    if shape != "word":
        return [text]
    pieces = [piece.strip() for piece in text.replace(";", ",").split(",")]
    if len(pieces) > 1 and all(shape_of(piece) in SINK_SHAPES for piece in pieces):
        return pieces
    if text.endswith(">") and "<" in text and shape_of(inner := text[text.rindex("<") + 1 : -1]) == "email":
        return [text, inner]
    return [text]


def _is_value(key: str) -> bool:
    """Is a key an address, or is there one in it?"""
    return "@" in key or shape_of(key) in (*SINK_SHAPES, "host") or is_address(key)


def leaves(value: Any, name: str = "", depth: int = 0) -> list[tuple[str, Any]]:
    """(name of the argument or nested field, value) of each leaf of a call's arguments."""
    if depth > 64:
        return [(name, str(value))]
    if isinstance(value, Mapping):
        # A key that is an address is a value of what it stands in: `{"recipients": {"eve@x.example": "to"}}`.
        held = [(name or str(key), str(key)) for key in value if _is_value(str(key))]
        return held + [leaf for key, item in value.items() for leaf in leaves(item, str(key), depth + 1)]
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item, name, depth + 1)]
    return [(name, value)] if value is not None and not isinstance(value, bool) and value != "" else []


def field_origin(place: Place) -> Origin:
    how = place.record.how
    if how == "own":
        return "text" if place.echo else "own"
    if how == "directory":
        return "directory"
    return "named_field" if place.record.named else "field"


def within(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    size = len(part)
    return any(whole[at : at + size] == part for at in range(len(whole) - size + 1))
