"""What has reached each anchor: kept in a file beside the key, not in the store and in no ledger.

A place that could not be reached gets the newest checkpoint at the next round, and one whose checkpoint was
cosigned since gets it again, with the signatures.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from beliefd.steward.key_files import write_private
from beliefd.stores.log import KeptCheckpoint

log = logging.getLogger("beliefd.log")


class Anchor(Struct, frozen=True):
    """A place that checkpoints are written to, as the setting names it."""

    place: str
    write: Callable[[KeptCheckpoint], Awaitable[None]]


class Reached(Struct, frozen=True, omit_defaults=True):
    """The last checkpoint that a place has: its size, the hash of its note; and why it has no newer one."""

    size: int = 0
    note: str = ""
    failure: str | None = None


class Anchored:
    """Of one server. Without a key, nothing is remembered: nothing is signed either."""

    def __init__(self, anchors: Sequence[Anchor], key: Path | None) -> None:
        self._anchors = anchors
        self._path = None if key is None else key.with_suffix(".anchored")
        self._failures: dict[str, str] = {}
        self._told = False

    def reached(self) -> dict[str, Reached]:
        """By place: those of this server, and those that are in the file from before."""
        known = self._read()
        places = dict.fromkeys((*(one.place for one in self._anchors), *known))
        return {
            place: replace(known.get(place, Reached()), failure=self._failures.get(place)) for place in places
        }

    async def bring(self, kept: KeptCheckpoint) -> None:
        """Write it to every place that does not have it as it is now."""
        note = sha256(kept.note.encode()).hexdigest()
        for anchor in self._anchors:
            if self._read().get(anchor.place, Reached()).note == note:
                continue
            try:
                await anchor.write(kept)
            except (OSError, TimeoutError) as error:
                self._failed(anchor.place, kept.size, str(error) or type(error).__name__)
                continue
            self._failures.pop(anchor.place, None)
            self._note(anchor.place, Reached(kept.size, note))

    def _failed(self, place: str, size: int, why: str) -> None:
        if self._failures.get(place) != why:
            log.warning("the checkpoint of size %d was not anchored: %s; it is tried again", size, why)
        self._failures[place] = why

    def _note(self, place: str, reached: Reached) -> None:
        if self._path is not None:
            known = {**self._read(), place: reached}
            write_private(self._path, msgspec.json.encode(known) + b"\n", replace=True)

    def _read(self) -> dict[str, Reached]:
        """What cannot be read says nothing: then the newest checkpoint is brought everywhere once more."""
        try:
            data = b"{}" if self._path is None else self._path.read_bytes()
            return msgspec.json.decode(data, type=dict[str, Reached])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError) as error:
            if not self._told:
                log.warning("cannot read `%s`, which says what anchors have: %s", self._path, error)
            self._told = True
            return {}
