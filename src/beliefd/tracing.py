"""Traces: what a request leads to, as spans. Off unless a tracer is installed (beliefd/telemetry.py does).

The port is here, below all layers, and knows no library. INVARIANT: without a tracer nothing is made: a span
is one shared object that does nothing. No attribute holds what an agent wrote; ids and names do.
"""

import re
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")
Attributes = Mapping[str, str | int | bool]
NAMES: Final = ("traceparent", "tracestate")
"""How requests carry where they belong (W3C Trace Context), in headers and in the metadata of MCP."""
_PARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]{0,64})?"
)
MAX_STATE: Final = 512
_carried: ContextVar[Mapping[str, str] | None] = ContextVar("carried", default=None)


class Span(Protocol):
    def set(self, **attributes: str | int | bool) -> None:
        """Dots in names are written as two underscores."""
        ...

    def fail(self, kind: str) -> None: ...


class Tracer(Protocol):
    """What makes spans. `parent` is what `current` gave, or what a request carries."""

    def span(
        self, name: str, attributes: Attributes, parent: Any, kind: str
    ) -> AbstractContextManager[Span]: ...

    def current(self) -> Any: ...

    def outgoing(self) -> Mapping[str, str]: ...


class _Nothing:
    """A span where nobody traces."""

    def __enter__(self) -> "_Nothing":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def set(self, **attributes: str | int | bool) -> None:
        return None

    def fail(self, kind: str) -> None:
        return None


NOTHING: Final = _Nothing()
tracer: Tracer | None = None
"""Installed once, before the server starts."""


def install(made: Tracer | None) -> None:
    global tracer  # noqa: PLW0603 - one per process, as its exporter is
    tracer = made


def span(
    name: str, attributes: Attributes, *, parent: Any = None, kind: str = "internal"
) -> AbstractContextManager[Span]:
    """Something that is done now, inside whatever is done around it."""
    return NOTHING if tracer is None else tracer.span(name, attributes, parent, kind)


def under(parent: Any, name: str, attributes: Attributes) -> AbstractContextManager[Span]:
    """Something that is done for a request elsewhere; nothing if that is not traced."""
    return NOTHING if parent is None else span(name, attributes, parent=parent)


def current() -> Any:
    """Where what is begun here belongs; None if nobody traces."""
    return None if tracer is None else tracer.current()


def read(given: Mapping[str, Any] | None) -> Mapping[str, str] | None:
    """Where a request says that it belongs. What cannot be read says nothing, and is not refused."""
    parent, state = ((given or {}).get(name) for name in NAMES)
    if not isinstance(parent, str) or not _PARENT.fullmatch(parent):
        return None
    if isinstance(state, str) and 0 < len(state) <= MAX_STATE and state.isascii() and state.isprintable():
        return {"traceparent": parent, "tracestate": state}
    return {"traceparent": parent}


@contextmanager
def carrying(given: Mapping[str, Any] | None) -> Iterator[None]:
    """Requests that are sent inside belong where this one does, also if nobody traces here."""
    before = _carried.set(read(given))
    try:
        yield
    finally:
        _carried.reset(before)


def carried() -> Mapping[str, str] | None:
    return _carried.get()


def outgoing() -> Mapping[str, str]:
    """Headers of a request that is sent from here."""
    made = {} if tracer is None else tracer.outgoing()
    return made or _carried.get() or {}


async def awaited(work: Awaitable[T], parents: list[Any], name: str, attributes: Attributes) -> T:
    """One span per request that waits for the same work."""
    with ExitStack() as spans:
        for parent in parents:
            spans.enter_context(under(parent, name, attributes))
        return await work
