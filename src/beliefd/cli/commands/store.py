"""`beliefd store`: a whole store into another one, into a file, and back; sessions into archives."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from beliefd.cli.checkpoints import SIGNED_WITH
from beliefd.cli.marker import Marker
from beliefd.cli.options import DIRECTORY, FILE_PATH
from beliefd.cli.output import Exit, Reply, errors_exit, show
from beliefd.cli.progress import progress
from beliefd.cli.target import (
    DATABASE,
    Target,
    need_store,
    prepare_data,
    store_name,
    store_options,
    target_options,
    with_store,
)
from beliefd.kernel.errors import BeliefdError, Code

if TYPE_CHECKING:
    from beliefd.stores.base import Store
    from beliefd.stores.sqlite.cutting import Cut

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")


class MovedStore(Struct, frozen=True):
    """What was moved, and what was verified on both sides. `rollback` says that the folder has seen more, and
    `left_out` what came after the time that was asked for."""

    rows: int
    added: int
    changed: int
    removed: int
    sessions: int
    events: int
    rollback: str | None = None
    left_out: "Cut | None" = None
    at: str | None = None


@click.group()
def store() -> None:
    """Move, back up and restore whole stores, and put single sessions away."""


@store.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@AS_JSON
def migrate(source: str, target: str, as_json: bool) -> None:
    """Copy everything in the store FROM into the store TO: directories, files or postgresql:// addresses.

    Every ledger is verified on both sides. If it is interrupted, run it again: it goes on where it was. TO
    must be empty, or hold a part of FROM and nothing else. Stop servers on both first.
    """
    with errors_exit(as_json):
        done = _move(_named(source), _named(target, new=True))
    _told(done, "moved", as_json)


@store.command()
@click.argument("path", metavar="FILE", type=FILE_PATH)
@store_options
@AS_JSON
def backup(path: Path, data: Path, store: str | None, as_json: bool) -> None:
    """Write the whole store into FILE, also while a server uses it, and verify what was written.

    FILE is a store by itself: `beliefd audit verify --all --store FILE` opens it.
    """
    with errors_exit(as_json):
        if path.exists():
            raise BeliefdError(Code.CONFLICT, f"`{path}` is there already; give another name")
        source = need_store(data, store)
        done = _move(source, str(path)) if store else _snapshot(Path(source), path)
    _told(done, "backed up", as_json)


@store.command()
@click.argument("path", metavar="FILE", type=FILE_PATH)
@click.option(
    "--at",
    metavar="TIME",
    help="Sessions as they were then, such as 2026-03-01T12:00:00Z.",
)
@SIGNED_WITH
@store_options
@AS_JSON
def restore(
    path: Path, at: str | None, log_key: Path | None, data: Path, store: str | None, as_json: bool
) -> None:
    """Put what `backup` wrote into an empty store, verified.

    If the folder has seen a newer state of the server, or a checkpoint that covers more was signed there,
    this is a rollback, and says so (exit code 3).
    """
    with errors_exit(as_json):
        if not path.exists():
            raise BeliefdError(Code.STORAGE_UNAVAILABLE, f"there is no `{path}`")
        prepare_data(data)
        target = store_name(data, store)
        marker = Marker(data, target, log_key)
        done = _move(str(path), target) if at is None else _restored_at(path, at, marker, target)
        done = _named_rollback(done, marker, target)
    _told(done, "restored", as_json)


@store.command()
@click.argument("sessions", metavar="[SESSION]...", nargs=-1)
@click.option("--to", "folder", type=DIRECTORY, required=True, help="The folder that the files go to.")
@click.option("--idle", type=click.FloatRange(min=0.0), metavar="DAYS", help="Those without an event since.")
@click.option("--ended", is_flag=True, help="Those that are terminated or sealed.")
@click.option("--reason", default="", help="Why; it stands in each session's ledger.")
@target_options
def archive(
    target: Target, sessions: tuple[str, ...], folder: Path, idle: float | None, ended: bool, reason: str
) -> None:
    """Seal sessions, write their ledgers into files, verify these, and take the ledgers out of the store.

    Beside each ledger go a signed checkpoint and a proof that it covers the whole of it. Lists, and whoever
    asks for such a session, say where it is; `unarchive` brings it back. If it is killed, run it again.
    """
    from beliefd.cli.archiving import archive as put_away
    from beliefd.cli.archiving import refuse_nothing, told
    from beliefd.cli.short_ids import whole_sessions

    refuse_nothing(sessions, idle, ended)
    with target.calls() as calls:
        done = put_away(calls, whole_sessions(calls, sessions), folder, idle, ended, reason)
    show(Reply(done, told(done)), target.as_json)
    sys.exit(Exit.DEFERRED if done.left else Exit.ALLOWED)


@store.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILE_PATH)
@target_options
def unarchive(target: Target, files: tuple[Path, ...]) -> None:
    """Put archived ledgers back into the store, each if it is the one that was taken out."""
    from beliefd.cli.archiving import unarchive as bring_back

    with target.calls() as calls:
        events = {str(path): bring_back(calls, path) for path in files}
    words = "\n".join(f"{count} events back from {path}" for path, count in events.items())
    show(Reply({"events": events}, words), target.as_json)


def _named(given: str, *, new: bool = False) -> str:
    """A directory stands for the store in it. What is read must be there."""
    if "://" in given:
        return given
    path = Path(given)
    if path.suffix == ".db" or path.is_file():
        folder, name = path.parent, path
    else:
        folder, name = path, path / DATABASE
    if new:
        prepare_data(folder)
    elif not name.exists():
        raise BeliefdError(Code.STORAGE_UNAVAILABLE, f"no store in `{given}`")
    return str(name)


def _move(source: str, target: str) -> MovedStore:
    from beliefd.steward.moving import move, opened_target
    from beliefd.stores.moving import count
    from beliefd.stores.opening import open_source

    async def work(opened: "Store") -> MovedStore:
        into = await opened_target(target)
        try:
            with progress("copying", await count(opened)) as report:
                moved, verdict = await move(opened, into, report)
        finally:
            await into.close()
        return MovedStore(
            moved.rows, moved.added, moved.changed, moved.removed, verdict.sessions, verdict.events
        )

    with _up_to_date(source) as name:
        return with_store(name, work, open_source)


@contextmanager
def _up_to_date(source: str) -> Iterator[str]:
    """A file of an earlier version is brought to the newest in a copy: the source itself is not changed."""
    from beliefd.stores.opening import is_shared
    from beliefd.stores.sqlite.copying import copy_file
    from beliefd.stores.sqlite.looking import is_earlier

    with _unavailable():
        earlier = not is_shared(source) and is_earlier(Path(source))
    if not earlier:
        yield source
        return
    with TemporaryDirectory(prefix="beliefd-") as folder:
        copy = Path(folder) / DATABASE
        with _unavailable():
            copy_file(Path(source), copy, unchanged=True)
        with_store(str(copy), _nothing)
        yield str(copy)


async def _nothing(_: "Store") -> None:
    """To open it is all."""


@contextmanager
def _unavailable() -> Iterator[None]:
    from beliefd.stores.base import StorageUnavailable

    try:
        yield
    except StorageUnavailable as error:
        raise BeliefdError(Code.STORAGE_UNAVAILABLE, str(error)) from None


def _snapshot(source: Path, path: Path) -> MovedStore:
    """SQLite's own way: a state of one moment, whatever is written meanwhile."""
    from beliefd.steward.moving import verify_all
    from beliefd.stores.moving import count
    from beliefd.stores.sqlite.copying import copy_file
    from beliefd.stores.sqlite.looking import version_of_store

    with _unavailable():
        version_of_store(source)
        copy_file(source, path)

    async def work(opened: "Store") -> MovedStore:
        verdict = await verify_all(opened, "copy")
        rows = await count(opened)
        return MovedStore(rows, rows, 0, 0, verdict.sessions, verdict.events)

    return with_store(str(path), work)


def _restored_at(path: Path, at: str, marker: Marker, target: str) -> MovedStore:
    from beliefd.cli.restoring import moment, restored_at

    return restored_at(path, moment(at), marker, target, _move)


def _named_rollback(done: MovedStore, marker: Marker, target: str) -> MovedStore:
    from msgspec.structs import replace

    from beliefd.cli.restoring import rollback_words

    async def work(opened: "Store") -> str | None:
        back = await marker.rollback(opened)
        return None if back is None else rollback_words(marker, back)

    return replace(done, rollback=with_store(target, work))


def _told(done: MovedStore, verb: str, as_json: bool) -> None:
    words = f"{verb} {done.rows} rows; verified on both sides: {done.sessions} sessions, {done.events} events"
    if not (done.added or done.changed or done.removed):
        words = f"nothing to do: both are the same; verified: {done.sessions} sessions, {done.events} events"
    if done.left_out is not None and done.at is not None:
        from beliefd.cli.restoring import words as left_out

        words += f"\n{left_out(done.left_out, done.at)}"
    complaints = () if done.rollback is None else (done.rollback,)
    show(Reply(done, words, complaints=complaints), as_json)
    sys.exit(Exit.ALLOWED if done.rollback is None else Exit.DEFERRED)
