"""Long work asks here, now and then, whether anybody still waits for it, and says how far it is: a thread
cannot be stopped, nor looked into."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Abandoned(Exception):
    """Nobody waits for this work any longer."""


_over: ContextVar[Callable[[], bool] | None] = ContextVar("over", default=None)
_told: ContextVar[Callable[[int], None] | None] = ContextVar("told", default=None)


@contextmanager
def given_up_when(over: Callable[[], bool]) -> Iterator[None]:
    """What is done inside ends at its next `check_wanted` once `over` says so."""
    before = _over.set(over)
    try:
        yield
    finally:
        _over.reset(before)


def check_wanted() -> None:
    over = _over.get()
    if over is not None and over():
        raise Abandoned


@contextmanager
def telling(told: Callable[[int], None]) -> Iterator[None]:
    """Of what is done inside, `told` hears how many events were read; maybe in a thread."""
    before = _told.set(told)
    try:
        yield
    finally:
        _told.reset(before)


def tell_read(events: int) -> None:
    """Whoever waits is told that so many events were read."""
    told = _told.get()
    if told is not None:
        told(events)
