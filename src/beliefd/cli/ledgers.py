"""Going through the ledgers of a store in this process, with a bar where that takes long."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from beliefd.cli.output import console

if TYPE_CHECKING:
    from beliefd.embedded import Embedded
    from beliefd.protocol.ledger import Verified
    from beliefd.stores.base import SessionRow

LONG_LEDGER = 5_000
"""From here on a bar shows how far the checking is."""
LARGE_FILE = 1 << 20
STEP = 500
PAGE = 500
Progress = Callable[[int], None]


def sessions_of(embedded: "Embedded") -> Iterator["SessionRow"]:
    """All sessions as the store lists them: it can name ledgers that are too broken to be folded."""
    after: str | None = None
    while rows := _page(embedded, after):
        yield from rows
        after = rows[-1].session_id


def _page(embedded: "Embedded", after: str | None) -> "list[SessionRow]":
    return embedded.run(lambda: embedded.steward.store.sessions(after, PAGE))


def verify_stored(embedded: "Embedded", session_id: str) -> "Verified":
    """Verify in this process."""
    from beliefd.steward.handlers.ledger import verify_session

    store = embedded.steward.store
    head = embedded.run(lambda: store.head(session_id))
    with progress("verifying", 0 if head is None else head.seq) as report:
        return embedded.run(lambda: verify_session(store, session_id, report))


@contextmanager
def counting(what: str) -> Iterator[Progress]:
    """How many there have been, on stderr, if somebody watches; how many there will be is not known."""
    shown = console(stderr=True)
    if not shown.is_terminal:
        yield lambda _: None
        return
    with shown.status(what) as status:
        yield lambda done: status.update(f"{what}: {done}")


@contextmanager
def progress(what: str, total: int) -> Iterator[Progress]:
    """A bar on stderr for long ledgers, nothing for short ones."""
    if total < LONG_LEDGER:
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True)) as shown:
        task = shown.add_task(what, total=total)
        told = 0

        def report(done: int) -> None:
            nonlocal told
            if done - told >= STEP or done == total:
                told = done
                shown.update(task, completed=done)

        yield report


@contextmanager
def reading(what: str, size: int) -> Iterator[Progress]:
    """A bar on stderr while a large file is read, by the bytes of it, if somebody watches."""
    shown = console(stderr=True)
    if size < LARGE_FILE or not shown.is_terminal:
        yield lambda _: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=shown) as bar:
        task = bar.add_task(what, total=size)
        told = 0

        def report(done: int) -> None:
            nonlocal told
            if done - told >= size // 100:
                told = done
                bar.update(task, completed=done)

        yield report
