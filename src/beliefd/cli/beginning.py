"""What a server looks at before it lets anybody in, and keeps an eye on: its store, its tokens, its keys."""

import asyncio
import hashlib
import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from msgspec.structs import replace

from beliefd.cli.output import Exit, fail
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.system.commands import RestoreStore
from beliefd.kernel.system.state import SYSTEM

if TYPE_CHECKING:
    from beliefd.cli.marker import Marker, PutBack
    from beliefd.cli.server import ServerSettings
    from beliefd.steward.bootstrap import Runtime
    from beliefd.steward.effects.last_signed import Ahead
    from beliefd.stores.base import Store

log = logging.getLogger("beliefd.server")
EVERY_SECONDS: Final = 1.0
NEW_LOG: Final = "`beliefd log key rotate --origin NAME`, and tell those who keep checkpoints of the old one"
REMEDY: Final = "put the right one in its place, or start once with --accept-new-store"


async def refuse_to_open(store: "Store", settings: "ServerSettings", host: str | None) -> "PutBack | None":
    """Fail if the store is not the one that was here, or if `host` needs a token and there is none.

    Returns what this folder had seen of a store that knows less, if the operator accepts that.
    """
    marker = settings.marker
    back = None if marker is None else await marker.rollback(store)
    if marker is not None and back is not None and not settings.accept_store:
        fail(f"refusing to start: {_other(marker, back)}; {REMEDY}", Exit.BAD_INPUT)
    if host is not None and not await _has_token(store):
        fail(
            f"refusing to listen on `{host}`: there is no token, so everybody who reaches it could write; "
            "make one with `beliefd token create --name me --role admin` on the same store",
            Exit.BAD_INPUT,
        )
    first = settings.siblings is None or settings.siblings.place.number == 1
    if first and marker is not None and marker.read() is None and not await store.sessions(None, 1):
        click.echo(f"a new store: nothing was ever kept in `{marker.path.parent}` before", err=True)
    return back


def _other(marker: "Marker", back: "PutBack") -> str:
    told = []
    if back.seen is not None:
        told.append(
            f"`{marker.path}` has seen a store whose own ledger had {back.seen.seq} events, and this one has"
            f" {back.found}, or others: it is empty, was put back or is another one"
        )
    if back.ahead is not None:
        told.append(f"`{marker.last_signed.path}` {what_is_lost(back.ahead)}")
    return "; ".join(told)


def what_is_lost(ahead: "Ahead") -> str:
    """After the name of the checkpoint."""
    size, leaves = ahead.checkpoint.size, ahead.leaves
    there = f"has {leaves} of them" if leaves < size else f"has {leaves}, and others among them"
    return f"was signed over {size} events of all sessions, and this store {there}"


async def _has_token(store: "Store") -> bool:
    from beliefd.steward.directory import Directory
    from beliefd.steward.write.positions import Positions
    from beliefd.steward.write.system import system_state

    directory = Directory(store, partial(system_state, Positions(store)))
    await directory.refresh()
    return directory.closed


async def begin(runtime: "Runtime", settings: "ServerSettings", back: "PutBack | None") -> None:
    """Have on record what is true from now on: tokens and a policy that are older than the ledger, a store
    that was put back, the policy in the operator's file, keys that were changed."""
    from beliefd.steward.directory import LOCAL_OPERATOR

    store, system = runtime.steward.store, runtime.system
    if await store.tokens():
        await system.begin()
    if (earlier := await runtime.steward.in_force.unrecorded()) is not None:
        await system.adopt_policy(earlier, "adopted", LOCAL_OPERATOR)
    if back is not None and settings.marker is not None:
        await _accept(runtime, settings.marker, back)
    await look_again(runtime, settings)


async def _accept(runtime: "Runtime", marker: "Marker", back: "PutBack") -> None:
    from beliefd.steward.directory import LOCAL_OPERATOR

    store, system = runtime.steward.store, runtime.system
    await system.begin()
    head, ahead = await store.head(SYSTEM), back.ahead
    if head is not None:  # it was begun just now
        command = RestoreStore(seen=back.seen or head, found=back.found)
        if ahead is not None:
            command = replace(command, signed=ahead.checkpoint.size, leaves=ahead.leaves)
        await system.record(command, LOCAL_OPERATOR)
    if ahead is not None:
        marker.accept(ahead.checkpoint)
        log.warning("no checkpoint is signed on this store until a new log is begun: %s", NEW_LOG)
    if (head := await store.head(SYSTEM)) is not None:
        marker.write(head)


async def look_again(runtime: "Runtime", settings: "ServerSettings") -> None:
    """Record what has changed in the files beside the store, and how far the server's own ledger has come."""

    system = runtime.system
    for path in (settings.signing_key, settings.secret_file):
        if (key := _key_in(path)) is not None:
            await system.note_key(path.name, fingerprint(path.name, key))
    for name, issuer in (runtime.sign_in.issuers() if runtime.sign_in is not None else {}).items():
        await system.note_issuer(name, issuer)
    if settings.marker is not None:
        await settings.marker.keep_up(runtime.steward.store)


async def keep_looking(runtime: "Runtime", settings: "ServerSettings") -> None:
    """The same for as long as the server runs; never returns."""
    from beliefd.ledger.envelope import LedgerBroken
    from beliefd.stores.base import StorageUnavailable

    told = ""
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        try:
            await look_again(runtime, settings)
            told = ""
        except (BeliefdError, StorageUnavailable, LedgerBroken) as error:
            if str(error) != told:
                log.error("the server's own ledger is not up to date: %s", error)
            told = str(error)


def fingerprint(name: str, key: bytes) -> str:
    """Tells keys apart. Keys are drawn at random and long: nobody finds one by trying."""
    return hashlib.sha256(b"beliefd key " + name.encode() + b"\0" + key).hexdigest()


def _key_in(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None  # made on first use; whoever needs it says what is wrong with it
