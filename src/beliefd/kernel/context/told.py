"""What is kept of context beside the ledger: one canonical document per item, under its SHA-256."""

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from beliefd.kernel.canonical import canonical
from beliefd.kernel.values import Object, Value


class Told(Value, frozen=True):
    """What was said: a text, or what a tool gave back in a structure, and what it was asked."""

    text: str = ""
    structured: Any | UnsetType = UNSET
    args: Object = {}


class _Document(Struct, frozen=True):
    """What was told, or what a caller reported as the outcome of a call."""

    text: str | UnsetType = UNSET
    structured: Any = UNSET
    args: Object = {}
    result: Any = None
    error: str = ""


_read = msgspec.json.Decoder(_Document).decode


def written(told: Told) -> bytes:
    return canonical(msgspec.to_builtins(told))


def read(document: bytes) -> Told | None:
    """None if it is none: what cannot be read counts as lost."""
    try:
        found = _read(document)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if found.text is UNSET:
        return result_as_told(found.result, found.error, found.structured)
    return Told(text=found.text, structured=found.structured, args=found.args)


def result_as_told(result: Any, error: str, structured: Any = UNSET) -> Told:
    """A recorded result as the agent was told it: its text, and its structure if it has one."""
    if error:
        return Told(text=error)
    text = _text(result)
    if text is None:
        return Told(text=canonical(result).decode(), structured=result if structured is UNSET else structured)
    return Told(text=text, structured=structured)


def _text(result: Any) -> str | None:
    """The text of a result that is one, or that consists of parts with texts; None if it is a structure."""
    if isinstance(result, str):
        return result
    parts = result.get("content") if isinstance(result, dict) and "content" in result else result
    if not isinstance(parts, list) or not parts:
        return None
    if not all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in parts):
        return None
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
