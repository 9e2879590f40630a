"""What a server looks at before it lets anybody in, and keeps an eye on: its store, its tokens, its keys."""

import asyncio
import hashlib
import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from beliefd.cli.output import Exit, fail
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.system.commands import RestoreStore
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import Head

if TYPE_CHECKING:
    from beliefd.cli.server import ServerSettings
    from beliefd.steward.bootstrap import Runtime
    from beliefd.stores.base import Store

log = logging.getLogger("beliefd.server")
EVERY_SECONDS: Final = 1.0


async def refuse_to_open(store: "Store", settings: "ServerSettings", host: str | None) -> Head | None:
    """Fail if the store is not the one that was here, or if `host` needs a token and there is none.

    Returns what this folder had seen of a store that knows less, if the operator accepts that.
    """
    marker = settings.marker
    seen = None if marker is None else await marker.missing(store)
    if marker is not None and seen is not None and not settings.accept_store:
        head = await store.head(SYSTEM)
        fail(
            f"refusing to start: `{marker.path}` has seen a store whose own ledger had {seen.seq} events, and"
            f" this one has {0 if head is None else head.seq}, or others: it is empty, was put back or is"
            " another one; put the right one in its place, or start once with --accept-new-store",
            Exit.BAD_INPUT,
        )
    if host is not None and not await _has_token(store):
        fail(
            f"refusing to listen on `{host}`: there is no token, so everybody who reaches it could write; "
            "make one with `beliefd token create --name me --role admin` on the same store",
            Exit.BAD_INPUT,
        )
    first = settings.siblings is None or settings.siblings.place.number == 1
    if first and marker is not None and marker.read() is None and not await store.sessions(None, 1):
        click.echo(f"a new store: nothing was ever kept in `{marker.path.parent}` before", err=True)
    return seen


async def _has_token(store: "Store") -> bool:
    from beliefd.steward.directory import Directory
    from beliefd.steward.write.positions import Positions
    from beliefd.steward.write.system import system_state

    directory = Directory(store, partial(system_state, Positions(store)))
    await directory.refresh()
    return directory.closed


async def begin(runtime: "Runtime", settings: "ServerSettings", seen: Head | None) -> None:
    """Have on record what is true from now on: tokens and a policy that are older than the ledger, a store
    that was put back, the policy in the operator's file, keys that were changed."""
    from beliefd.steward.directory import LOCAL_OPERATOR

    store, system = runtime.steward.store, runtime.system
    if await store.tokens():
        await system.begin()
    if (earlier := await runtime.steward.in_force.unrecorded()) is not None:
        await system.adopt_policy(earlier, "adopted", LOCAL_OPERATOR)
    if seen is not None:
        head = await store.head(SYSTEM)
        found = 0 if head is None else head.seq
        await system.record(RestoreStore(seen=seen, found=found), LOCAL_OPERATOR)
        head = await store.head(SYSTEM)
        if settings.marker is not None and head is not None:
            settings.marker.write(head)
    await look_again(runtime, settings)


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
