"""Which operation a path names. Paths are split before they are decoded, so an id may hold any character."""

from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from beliefd.kernel.errors import invalid
from beliefd.protocol.operations import Operation
from beliefd.protocol.wire import identifier

Raw = dict[str, bytes]


class Place(Struct):
    """Where a path may stand: what can follow, and what is offered right here, by method."""

    offered: dict[str, Operation] = {}
    literals: "dict[bytes, Place]" = {}
    parameter: str = ""
    beyond: "Place | None" = None
    ending: tuple[bytes, ...] | None = None
    """What follows a value that may hold slashes."""


class Routes:
    """The operations table as a tree of path segments."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._root = Place()
        for operation in operations:
            self._add(operation)

    def _add(self, operation: Operation) -> None:
        segments = operation.path.encode().split(b"/")[1:]
        slashed = operation.path_names[-1] if operation.slashed else ""
        place = self._root
        for index, segment in enumerate(segments):
            if not segment.startswith(b"{"):
                place = place.literals.setdefault(segment, Place())
                continue
            place.parameter = segment.strip(b"{}").decode()
            beyond = place.beyond = place.beyond or Place()
            if place.parameter == slashed:
                ending = tuple(segments[index + 1 :])
                if place.ending not in (None, ending):
                    raise ValueError(f"{operation.path}: another path ends otherwise at the same place")
                place.ending = ending
                place = beyond
                break
            place = beyond
        place.offered[operation.method] = operation

    def find(self, path: bytes) -> tuple[dict[str, Operation], Raw] | None:
        """What is offered at a raw path, and the path's values, still encoded."""
        segments = path.split(b"/")
        values: Raw = {}
        place = self._root
        for index in range(1, len(segments)):
            segment = segments[index]
            after = place.literals.get(segment)
            if after is None:
                if place.beyond is None or not segment:
                    return None
                after = place.beyond
                if place.ending is not None:
                    end = len(segments) - len(place.ending)
                    if end <= index or tuple(segments[end:]) != place.ending:
                        return None
                    values[place.parameter] = b"/".join(segments[index:end])
                    return after.offered, values
                values[place.parameter] = segment
            place = after
        return (place.offered, values) if place.offered else None


def decoded(values: Raw) -> dict[str, str]:
    return {name: _identifier(raw, name) for name, raw in values.items()}


@lru_cache(1024)
def _identifier(raw: bytes, name: str) -> str:
    return identifier(_text(raw, name), name)


def parse_query(raw: bytes) -> dict[str, str]:
    """The query string, strictly: UTF-8, and every name once."""
    query: dict[str, str] = {}
    for part in raw.split(b"&"):
        if not part:
            continue
        raw_name, _, raw_value = part.replace(b"+", b" ").partition(b"=")
        name = _text(raw_name, "query")
        if name in query:
            raise invalid(f"query parameter `{name[:64]}` is given twice", name[:64])
        query[name] = _text(raw_value, name)
    return query


def _text(raw: bytes, name: str) -> str:
    try:
        return (unquote_to_bytes(raw) if b"%" in raw else raw).decode()
    except UnicodeDecodeError:
        raise invalid(f"`{name[:64]}` is not UTF-8", name[:64]) from None
