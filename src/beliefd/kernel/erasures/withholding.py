"""Parts taken out of what is recorded, and digests put in their place.

The content behind a digest is a salt in 64 hex digits, a line feed, and the part in canonical JSON; the
digest is the SHA-256 of that. Whoever has the digest alone cannot try out texts: he does not have the salt.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from beliefd.kernel.canonical import canonical
from beliefd.kernel.erasures.places import NOTES
from beliefd.kernel.experiments.plan import Hex64
from beliefd.kernel.strict_json import Unreadable, loads
from beliefd.kernel.values import Object, Value

MARK: Final = "erasable:sha256:"
SALT_DIGITS: Final = 64
PAYLOAD: Final = "payload"
_MARKED: Final = re.compile(f"^{MARK}[0-9a-f]{{64}}$(?!\\n)")
Leaf = str | int | float


class WithheldPart(Value, frozen=True):
    """A text or number that stands beside the ledger: where in the entry (RFC 6901), and its digest."""

    path: str
    digest: Hex64


Hide = Callable[[Leaf], str]
"""Takes a part and gives its digest."""


def sealed_part(salt: str, part: Leaf) -> bytes:
    return salt.encode() + b"\n" + canonical(part)


def opened_part(content: bytes, digest: str) -> Leaf | None:
    """The part in content; None if that is not what the digest was taken over."""
    if sha256(content).hexdigest() != digest or content[SALT_DIGITS : SALT_DIGITS + 1] != b"\n":
        return None
    try:
        part = loads(content[SALT_DIGITS + 1 :])
    except Unreadable:
        return None
    return part if isinstance(part, Leaf) else None


def withhold(
    payload: Object, notes: str | None, paths: Iterable[str], hide: Hide
) -> tuple[str | None, tuple[WithheldPart, ...]]:
    """Replace texts and numbers under these paths in the payload, which is changed, and in the notes.

    Inside lists they are found in all items. True, false, null, empty texts and the names of members stay.
    """
    document: Object = {PAYLOAD: payload, NOTES: notes}
    found: dict[str, str] = {}
    for path, holder, key in _leaves(document, paths):
        if path not in found:
            found[path] = hide(holder[key])
            holder[key] = MARK + found[path]
    return document[NOTES], tuple(WithheldPart(path=path, digest=found[path]) for path in sorted(found))


def withheld_in(payload: Object, notes: str | None, paths: Iterable[str]) -> tuple[WithheldPart, ...]:
    """What stands under these paths of a record. INVARIANT: there every text is a digest that was put there:
    one that only looked like that was withheld in its turn."""
    document: Object = {PAYLOAD: payload, NOTES: notes}
    found = {path: str(holder[key]) for path, holder, key in _leaves(document, paths)}
    return tuple(
        WithheldPart(path=path, digest=found[path].removeprefix(MARK))
        for path in sorted(found)
        if _MARKED.match(found[path])
    )


def says_in_the_clear(payload: Object, paths: Iterable[str]) -> bool:
    """Does anything stand under these paths that is no digest?"""
    document: Object = {PAYLOAD: payload, NOTES: None}
    return any(not _MARKED.match(str(holder[key])) for _, holder, key in _leaves(document, paths))


def _leaves(document: Object, paths: Iterable[str]) -> Iterator[tuple[str, Any, Any]]:
    """The texts and numbers under these paths: where each stands, and what it stands in under which key."""
    for path in paths:
        names = [NOTES] if path == NOTES else [PAYLOAD, *path.split(".")]
        yield from _under(document, names[0], names[1:], "")


def _under(holder: Any, key: Any, names: list[str], above: str) -> Iterator[tuple[str, Any, Any]]:
    value, path = holder[key], f"{above}/{_escaped(str(key))}"
    if isinstance(value, tuple):
        value = holder[key] = list(value)
    if isinstance(value, Leaf) and not isinstance(value, bool):
        if value != "" and not names:
            yield path, holder, key
    elif isinstance(value, dict):
        for name in names[:1] or list(value):
            if name in value:
                yield from _under(value, name, names[1:], path)
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from _under(value, index, names, path)


def part_at(document: Any, path: str) -> Leaf | None:
    """The text or number at a place of an entry; None if there is none."""
    for step in _steps(path):
        if isinstance(document, dict) and step in document:
            document = document[step]
        elif isinstance(document, list | tuple) and step.isdecimal() and int(step) < len(document):
            document = document[int(step)]
        else:
            return None
    return document if isinstance(document, Leaf) and not isinstance(document, bool) else None


def put_parts(document: Any, parts: Mapping[str, Leaf]) -> None:
    """Put parts into their places, by path, which are all there; the document is changed."""
    for path, part in parts.items():
        *way, last = _steps(path)
        holder = document
        for step in way:
            holder = holder[int(step)] if isinstance(holder, list) else holder[step]
        holder[int(last) if isinstance(holder, list) else last] = part


def _steps(path: str) -> list[str]:
    return [name.replace("~1", "/").replace("~0", "~") for name in path.split("/")[1:]]


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
