"""A stream of events, as servers of tools answer with one: cut into events of bounded size."""

from collections.abc import Iterator

from msgspec import Struct


class TooLarge(Exception):
    """An event is larger than what is taken in."""


class Event(Struct, frozen=True):
    """`data` is empty where nothing but an id or a time is said. `retry` is in milliseconds."""

    data: bytes = b""
    name: str = "message"
    id: str | None = None
    retry: int | None = None


class Events:
    """What has come of a stream, and is no whole event yet."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rest = b""

    def fed(self, piece: bytes) -> Iterator[Event]:
        text = self._rest + piece
        held = text[-1:] if text.endswith(b"\r") else b""  # a line feed may follow
        text = text[: len(text) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *blocks, rest = text.split(b"\n\n")
        self._rest = rest + held
        if len(self._rest) > self._most or any(len(block) > self._most for block in blocks):
            raise TooLarge
        for block in blocks:
            event = _event(block)
            if event is not None:
                yield event


def _event(block: bytes) -> Event | None:
    """None for what holds nothing but remarks."""
    said: dict[str, bytes] = {}
    data: list[bytes] = []
    for line in block.split(b"\n"):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name in (b"event", b"id", b"retry"):
            said[name.decode()] = value
    if not said and not data:
        return None
    retry, known = said.get("retry", b""), said.get("id")
    return Event(
        data=b"\n".join(data),
        name=said.get("event", b"message").decode(errors="replace"),
        id=None if known is None or b"\0" in known else known.decode(errors="replace"),
        retry=int(retry) if retry.isdigit() and len(retry) < 10 else None,
    )
