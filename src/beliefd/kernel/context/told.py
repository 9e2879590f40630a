"""What is kept of context beside the ledger: one canonical document per item, under its SHA-256."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.kernel.canonical import canonical
from beliefd.kernel.values import Object, Value


class Told(Value, frozen=True):
    """What was said: a text, or what a tool gave back in a structure, and what it was asked."""

    text: str = ""
    structured: Any | UnsetType = UNSET
    args: Object = {}


_read = msgspec.json.Decoder(Told).decode


def written(told: Told) -> bytes:
    return canonical(msgspec.to_builtins(told))


def read(document: bytes) -> Told | None:
    """None if it is none: what cannot be read counts as lost."""
    try:
        return _read(document)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
