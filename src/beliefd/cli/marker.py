"""What this folder has seen of its store, so that an empty or earlier one is not taken for the same.

The server's own ledger and the log only grow. The marker says how far the one had come, and the checkpoint
that was signed last how far the other. Both are kept beside the keys, not in the store: who starts on a store
that knows less is told, instead of letting everybody in, or going on as if nothing had been lost.
"""

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from beliefd.cli.checkpoints import LOG_KEY
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import Head

if TYPE_CHECKING:
    from beliefd.ledger.notes import Checkpoint
    from beliefd.steward.effects.last_signed import Ahead, LastSigned
    from beliefd.stores.base import Store

MARKER: Final = "seen.json"


class Seen(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How far the server's own ledger had come in a store, by the store's address; and the text of the
    checkpoint that the operator goes on without."""

    stores: dict[str, Head] = {}
    accepted: dict[str, str] = {}


class PutBack(Struct, frozen=True):
    """What a folder has seen of its store, and the store does not have: of the server's own ledger, in which
    `found` events are, or of the log."""

    found: int
    seen: Head | None = None
    ahead: "Ahead | None" = None


def address_of(target: str) -> str:
    """A store's name without what may be secret or may change: a file in the folder, or host and database."""
    if "://" not in target:
        return Path(target).name
    parts = urlsplit(target)
    hosts = parts.netloc.rpartition("@")[2]
    if "," in hosts:  # several, of which one leads
        return f"{hosts}{parts.path}"
    return f"{parts.hostname or ''}:{parts.port or 5432}{parts.path}"


class Marker:
    """The file of one folder, for one store."""

    def __init__(self, folder: Path, target: str, log_key: Path | None = None) -> None:
        self.path = folder / MARKER
        self._address = address_of(target)
        self._log_key = log_key or folder / LOG_KEY

    @property
    def last_signed(self) -> "LastSigned":
        from beliefd.steward.effects.last_signed import LastSigned

        return LastSigned(self._log_key)

    @property
    def has_folder(self) -> bool:
        return self.path.parent.is_dir()

    def read(self) -> Head | None:
        return self._seen().stores.get(self._address)

    def _seen(self) -> Seen:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=Seen)
        except FileNotFoundError:
            return Seen()
        except (OSError, msgspec.MsgspecError) as error:
            # INVARIANT: a marker that cannot be read is not one that says nothing.
            raise BeliefdError(
                Code.STORAGE_UNAVAILABLE,
                f"cannot read `{self.path}`, which says what this folder has seen of its store: {error}",
            ) from None

    def write(self, head: Head) -> None:
        seen = self._seen()
        self._write(replace(seen, stores={**seen.stores, self._address: head}))

    def accept(self, checkpoint: "Checkpoint") -> None:
        """Go on without what this checkpoint covers."""
        seen = self._seen()
        self._write(replace(seen, accepted={**seen.accepted, self._address: checkpoint.text}))

    def _write(self, seen: Seen) -> None:
        """Whole or not at all, and for its owner only."""
        draft = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(msgspec.json.encode(seen) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path)
        except OSError as error:
            raise BeliefdError(
                Code.STORAGE_UNAVAILABLE, f"cannot write `{self.path}`: {error.strerror}"
            ) from None

    async def missing(self, store: "Store") -> Head | None:
        """What this folder has seen, if the store does not hold it."""
        seen = self.read()
        if seen is None:
            return None
        there = await store.entries(SYSTEM, seen.seq - 1, 1)
        head = await store.head(SYSTEM)
        known = bool(there) and there[0].hash == seen.hash and head is not None and head.seq >= seen.seq
        return None if known else seen

    async def rollback(self, store: "Store") -> PutBack | None:
        """What this folder has seen, and the store does not hold, unless somebody has said that it is so."""
        seen, ahead = await self.missing(store), await self.last_signed.ahead_of(store)
        if ahead is not None and self._seen().accepted.get(self._address) == ahead.checkpoint.text:
            ahead = None
        if seen is None and ahead is None:
            return None
        head = await store.head(SYSTEM)
        return PutBack(0 if head is None else head.seq, seen, ahead)

    async def refuse_other(self, store: "Store") -> None:
        """Nothing is written to a store that was put back, before somebody has said that it is to be so."""
        if (seen := await self.missing(store)) is not None:
            head = await store.head(SYSTEM)
            raise BeliefdError(
                Code.CONFLICT,
                f"`{self.path}` has seen a store whose own ledger had {seen.seq} events, and this one has"
                f" {0 if head is None else head.seq}, or others: it is empty, was put back or is another one;"
                " put the right one in its place, or start a server once with --accept-new-store",
            )

    async def keep_up(self, store: "Store") -> None:
        """Write down how far the ledger has come, if it has. INVARIANT: a fork, however long, is not it."""
        head = await store.head(SYSTEM)
        seen = self.read()
        if head is None or (seen is not None and head == seen):
            return
        await self.refuse_other(store)
        self.write(head)
