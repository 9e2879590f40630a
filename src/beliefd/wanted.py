"""Long work asks here, now and then, whether anybody still waits for it: a thread cannot be stopped."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Abandoned(Exception):
    """Nobody waits for this work any longer."""


_over: ContextVar[Callable[[], bool] | None] = ContextVar("over", default=None)


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
