"""What the modules of the APIs have in common: server-sent events, and texts in nested content."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

EVENTS = "text/event-stream"
JSON = "application/json"


class Reply(NamedTuple):
    body: bytes
    kind: str = JSON


def document(value: Any) -> Reply:
    return Reply(json.dumps(value).encode())


def named_events(events: Iterable[tuple[str, Mapping[str, Any]]]) -> Reply:
    """Events with a name, which is repeated as the type of their data."""
    lines = (f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in events)
    return Reply("".join(lines).encode(), EVENTS)


def data_events(values: Iterable[Any], end: str = "") -> Reply:
    lines = (f"data: {json.dumps(value)}\n\n" for value in values)
    return Reply(("".join(lines) + end).encode(), EVENTS)


def text_of(content: Any) -> str:
    """The text of a content that is a string, a list of parts, or an object."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(text_of, content)))
    if isinstance(content, Mapping):
        return content["text"] if isinstance(content.get("text"), str) else json.dumps(content)
    return "" if content is None else str(content)
