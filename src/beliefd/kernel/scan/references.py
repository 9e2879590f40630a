"""References to the speculative lane: ids of its own shape, as values, as keys, or within a text."""

import re
from typing import Any, Final

import msgspec
import orjson

from beliefd.kernel.scan.paths import IN_KEY, ROOT, Place, written
from beliefd.kernel.scan.spelling import plain
from beliefd.kernel.speculation.state import RESERVED

_ID: Final = re.compile(rf"(?<![a-z0-9])(?:{'|'.join(map(re.escape, RESERVED))})[a-z0-9][^\s\"'`,;)\]}}]*")


class Reference(msgspec.Struct, frozen=True):
    """An id of the speculative lane, and where it stands."""

    path: str
    found: str


def find_reference(document: Any) -> Reference | None:
    """An id of the speculative lane in a JSON document, however it is spelt; None if there is none."""
    try:
        text = plain(orjson.dumps(document).decode())
    except TypeError:  # nothing that could be recorded; what could be in it is looked for all the same
        text = None
    return None if text is not None and has_no_reference(text) else _walked(document)


def has_no_reference(folded: str) -> bool:
    """Is there nothing in JSON, as `plain` has it, that an id of the speculative lane begins with?"""
    for prefix in RESERVED:  # noqa: SIM110 - a generator costs as much as the search
        if prefix in folded:
            return False
    return True


def _walked(document: Any) -> Reference | None:
    stack: list[tuple[Any, Place]] = [(document, ROOT)]
    while stack:
        node, place = stack.pop()
        if isinstance(node, str):
            if (found := _named(node)) is not None:
                return Reference(written(place), found)
        elif isinstance(node, dict):
            for key, item in node.items():
                stack.append((item, (place, key)))
                stack.append((key, ((place, key), IN_KEY)))
        elif isinstance(node, list | tuple):
            stack.extend((item, (place, index)) for index, item in enumerate(node))
    return None


def _named(text: str) -> str | None:
    folded = plain(text)
    if folded is None:
        return "a text that is encoded too often"
    found = _ID.search(folded)
    return None if found is None else found[0][:64]
