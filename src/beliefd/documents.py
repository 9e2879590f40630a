"""Files that people write, YAML or JSON, read as strictly as requests: no key twice, errors with a place."""

from pathlib import Path
from typing import Any

from beliefd.kernel.errors import BeliefdError, invalid
from beliefd.protocol.wire import parse


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise invalid(f"cannot read `{path}`: {error.strerror}", str(path)) from None


def read_document(path: Path) -> Any:
    """The value in a file; the suffix says which notation it is in, else the first character does."""
    return parse_document(read_bytes(path), str(path))


def parse_document(data: bytes, name: str) -> Any:
    """`name` is where the bytes came from; it leads every error message."""
    if name.endswith((".yaml", ".yml")) or not (name.endswith(".json") or data.lstrip()[:1] in (b"{", b"[")):
        from beliefd.strict_yaml import parse_yaml  # few commands read any, and the library takes a while

        return parse_yaml(data, name)
    try:
        return parse(data)
    except BeliefdError as error:
        raise invalid(f"`{name}`: {error.message}", (error.details or {}).get("path")) from None
