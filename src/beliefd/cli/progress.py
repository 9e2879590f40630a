"""How far something is that takes longer than a second: told on stderr, and only where somebody watches."""

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from beliefd.cli.output import console

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

T = TypeVar("T")
AFTER_SECONDS: Final = 1.0
"""What is done by then needs no bar."""
STEPS: Final = 200
"""A bar is redrawn at most so often: telling must not take longer than doing."""


class Report(Protocol):
    """Takes how much is done, and how much there is to do where that is learnt on the way."""

    def __call__(self, done: int, total: int | None = None, /) -> None: ...


def is_watched() -> bool:
    return sys.stderr.isatty()


@contextmanager
def progress(what: str, total: int | None, *, in_bytes: bool = False) -> Iterator[Report]:
    """A function that takes how much is done. Without a `total`, it is only counted."""
    if not is_watched():
        yield lambda done, total=None, /: None
        return
    bar = _Bar(what, total, in_bytes)
    try:
        yield bar.report
    finally:
        bar.stop()


def counted(items: Iterable[T], report: Report) -> Iterator[T]:
    """The items, each reported once it has been dealt with."""
    for done, item in enumerate(items, 1):
        yield item
        report(done)


class _Bar:
    """Drawn from the first report on that comes late enough."""

    def __init__(self, what: str, total: int | None, in_bytes: bool) -> None:
        self._what, self._total, self._in_bytes = what, total, in_bytes
        self._begun = time.monotonic()
        self._told = 0
        self._drawn: tuple[Progress, TaskID] | None = None

    def report(self, done: int, total: int | None = None, /) -> None:
        self._total = self._total if total is None else total
        if done - self._told < (self._total or 0) // STEPS and done != self._total:
            return
        self._told = done
        if self._drawn is None and time.monotonic() - self._begun >= AFTER_SECONDS:
            self._drawn = self._start()
        if self._drawn is not None:
            shown, task = self._drawn
            shown.update(task, completed=done, total=self._total)

    def _start(self) -> "tuple[Progress, TaskID]":
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        counted: list[Any] = [DownloadColumn() if self._in_bytes else MofNCompleteColumn()]
        columns = [TextColumn("{task.description}"), BarColumn(), *counted, TimeRemainingColumn()]
        shown = Progress(*columns, console=console(stderr=True))
        shown.start()
        return shown, shown.add_task(self._what, total=self._total)

    def stop(self) -> None:
        if self._drawn is not None:
            self._drawn[0].stop()


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A sign that something is under way, where nobody here can say how far it is."""
    if not is_watched():
        yield
        return
    over = threading.Event()
    sign = threading.Thread(target=_turning, args=(what, over), daemon=True)
    sign.start()
    try:
        yield
    finally:
        over.set()
        sign.join()


def _turning(what: str, over: threading.Event) -> None:
    if not over.wait(AFTER_SECONDS):
        with console(stderr=True).status(what):
            over.wait()
