"""`beliefd store restore --at`: a backup, as it was at an earlier time, in an empty store."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from msgspec.structs import replace

from beliefd.cli.beginning import NEW_LOG, what_is_lost
from beliefd.cli.marker import Marker, PutBack
from beliefd.cli.target import DATABASE, with_store
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.values import later
from beliefd.steward.restoring import cut_to, note_restored
from beliefd.stores.base import StorageUnavailable, Store
from beliefd.stores.sqlite.copying import copy_file
from beliefd.stores.sqlite.cutting import Cut

if TYPE_CHECKING:
    from beliefd.cli.commands.store import MovedStore


def moment(given: str) -> str:
    """The time as ledgers spell it."""
    try:
        read = datetime.fromisoformat(given)
    except ValueError:
        raise invalid(f"`{given}` is no time; give one such as `2026-03-01T12:00:00Z`", "--at") from None
    if read.tzinfo is None:
        raise invalid(f"`{given}` does not say where; add `Z` for UTC, or an offset", "--at")
    return later(read.astimezone(UTC).isoformat(), 0)


def restored_at(
    path: Path, at: str, marker: Marker, target: str, move: "Callable[[str, str], MovedStore]"
) -> "MovedStore":
    """Cut a copy, move it, and have it on record. The backup itself is not changed."""
    with TemporaryDirectory(prefix="beliefd-") as folder:
        copy = Path(folder) / DATABASE
        try:
            copy_file(path, copy, unchanged=True)
        except StorageUnavailable as error:
            raise BeliefdError(Code.STORAGE_UNAVAILABLE, str(error)) from None
        with_store(str(copy), _nothing)  # an earlier version is brought to the newest
        left_out = _cut(copy, at)
        done = move(str(copy), target)

    async def note(store: Store) -> None:
        await note_restored(store, await marker.missing(store), at, left_out.events)
        ahead = await marker.last_signed.ahead_of(store) if left_out.events else None
        if ahead is not None:  # whoever names an earlier time wants it
            marker.accept(ahead.checkpoint)

    with_store(target, note)
    return replace(done, left_out=left_out, at=at)


def words(left: Cut, at: str) -> str:
    """What is not as somebody might think, one line each."""
    lines = [f"as of {at}: {left.events} later events of {left.sessions} sessions were left out"]
    if left.begun_later:
        lines.append(f"{left.begun_later} of these sessions had not begun, and are not there")
    if left.longer:
        lines.append(f"{left.longer} reach further, to their last erasure, which is not taken back")
    if left.archived:
        lines.append(f"{left.archived} archived sessions are whole, in their files")
    if left.events:
        lines.append("what was done in the world since stays done: look before you approve again")
    return "\n".join(lines)


def rollback_words(marker: Marker, back: PutBack) -> str:
    """What was lost, and how to go on."""
    told, then = [], ["start once with --accept-new-store"]
    if back.seen is not None:
        told.append(
            f"`{marker.path}` has seen {back.seen.seq} events of the server's own ledger, and the copy has"
            f" {back.found}; tokens that were revoked since are valid again"
        )
        then.append("look at `beliefd token list`")
    if back.ahead is not None:
        told.append(f"`{marker.last_signed.path}` {what_is_lost(back.ahead)}")
        then.append(f"begin a new log: {NEW_LOG}")
    return f"this is a rollback: {'; '.join(told)}; put back a newer copy, or {', and '.join(then)}"


async def _nothing(_: Store) -> None:
    """To open it is all."""


def _cut(copy: Path, at: str) -> Cut:
    import asyncio

    try:
        return asyncio.run(cut_to(copy, at))
    except StorageUnavailable as error:
        raise BeliefdError(Code.STORAGE_UNAVAILABLE, str(error)) from None
