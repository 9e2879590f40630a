"""Files that commands are given, and those that they write; `-` is what comes in on stdin."""

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from beliefd.kernel.errors import invalid

if TYPE_CHECKING:
    from msgspec import Struct

PRIVATE: Final = 0o600


def read_bytes(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise invalid(f"cannot read `{path}`: {error.strerror}") from None


def read_value(path: str) -> Any:
    """The value in a JSON or YAML file."""
    from beliefd.documents import parse_document, read_document

    return parse_document(sys.stdin.buffer.read(), "stdin") if path == "-" else read_document(Path(path))


def read_object(path: str, otherwise: str) -> dict[str, Any]:
    """The object in a file; where there is none, `otherwise` says what was expected."""
    document = read_value(path)
    if not isinstance(document, dict):
        raise invalid(otherwise, "$")
    return document


def read_members(path: str, otherwise: str, kind: "type[Struct]", **others: Any) -> dict[str, Any]:
    """The object in a file, whose members become arguments of a call. INVARIANT: with `others`, which come
    from the command line, it is a `kind`; what does not fit is named as a server names it."""
    from beliefd.protocol.wire import convert

    document = read_object(path, otherwise)
    if taken := sorted(document.keys() & others.keys()):
        raise invalid(f"`{taken[0]}` is said on the command line, and not in `{path}`", f"$.{taken[0]}")
    convert({**document, **others}, kind)
    return document


def read_list(path: str, name: str) -> list[Any]:
    """The list in a file: the whole of it, or the member `name` of an object."""
    return _list_in(read_value(path), name)


def read_list_in(text: bytes, name: str) -> list[Any]:
    """The same, of what somebody has written in an editor."""
    from beliefd.documents import parse_document

    return _list_in(parse_document(text, "what was written"), name)


def read_object_in(text: bytes, what: str) -> dict[str, Any]:
    """An object that somebody has written in an editor."""
    from beliefd.documents import parse_document

    document = parse_document(text, "what was written")
    if not isinstance(document, dict):
        raise invalid(f"{what} are one JSON object", "$")
    return document


def _list_in(document: Any, name: str) -> list[Any]:
    found = document.get(name) if isinstance(document, dict) else document
    if not isinstance(found, list) or not found:
        raise invalid(f"the file needs a list of {name}, or an object with `{name}`", f"$.{name}")
    return found


def write_bytes(place: Path, data: bytes) -> None:
    """INVARIANT: what a command writes is its owner's business only, as the store itself is.

    A file that is there becomes private before anything new is in it. What is no file, such as a pipe, is
    written to as it is.
    """
    try:
        with open(place, "wb", opener=_private) as file:
            file.write(data)
    except OSError as error:
        raise invalid(f"cannot write `{place}`: {error.strerror}") from None


def _private(path: str, flags: int) -> int:
    descriptor = os.open(path, flags & ~os.O_TRUNC, PRIVATE)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            if os.name == "posix":
                os.fchmod(descriptor, PRIVATE)
            os.ftruncate(descriptor, 0)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
