"""What a store keeps of the log: which leaf each entry is, the tiles of the tree, and signed checkpoints."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from beliefd.ledger.merkle import HASH_BYTES, Place


class Run(Struct, frozen=True):
    """Entries of one session that stand one after the other in the log, too."""

    first_leaf: int
    session_id: str
    first_seq: int
    length: int

    @property
    def last_seq(self) -> int:
        return self.first_seq + self.length - 1


class Leaf(Struct, frozen=True):
    """Which leaf an entry is; leaves count from zero."""

    seq: int
    index: int


class KeptCheckpoint(Struct, frozen=True):
    """A signed checkpoint, with what others have signed under it since."""

    size: int
    note: str
    made_at: str


class LogStore(Protocol):
    """INVARIANT: an entry has one leaf for ever, and the entries of a session have theirs in its order."""

    async def log_size(self) -> int:
        """How many leaves there are."""
        ...

    async def unlogged(self, after: str, limit: int) -> list[str]:
        """Sessions past `after`, ordered by id, that have entries without a leaf."""
        ...

    async def add_leaves(self, session_ids: Collection[str], limit: int) -> int:
        """Give the next leaves to entries of these sessions that have none, at most to so many, and say to
        how many. Leaves and tiles are written together. Who comes at the same time waits, here or in another
        process."""
        ...

    async def tiles(self, places: Collection[Place]) -> dict[Place, bytes]: ...

    async def put_tiles(self, size: int, tiles: Mapping[Place, bytes]) -> bool:
        """Put these in the place of what is there, if the log still has this size; say whether it had."""
        ...

    async def leaf_of(self, session_id: str, seq: int) -> int | None: ...

    async def last_leaf(self, session_id: str, size: int) -> Leaf | None:
        """The last entry of a session that is among the first `size` leaves."""
        ...

    async def session_runs(self, session_id: str, seq: int, limit: int) -> list[Run]:
        """Runs of a session from the one that holds this event on, in order."""
        ...

    async def runs(self, first_leaf: int, limit: int) -> list[Run]:
        """Runs that begin at this leaf or after it, in order."""
        ...

    async def keep_checkpoint(self, kept: KeptCheckpoint, before: str | None = None) -> bool:
        """Keep a note, if there is none of its text; with `before`, in the place of that note, which has
        fewer signatures. Say whether it was kept."""
        ...

    async def checkpoints(self, limit: int, size: int | None = None) -> list[KeptCheckpoint]:
        """The ones signed last, the newest first; only of a size, if that is given."""
        ...


def runs_of(size: int, rows: Sequence[tuple[str, int, str]]) -> tuple[list[Run], list[bytes]]:
    """The runs that entries (session, seq and hash, in order) become, and the hashes in them as bytes.

    What has no hash gets no leaf, and nothing after it in its session does.
    """
    runs: list[Run] = []
    hashes: list[bytes] = []
    damaged: set[str] = set()
    for session_id, seq, told in rows:
        event_hash = _hash_in(told)
        if event_hash is None or session_id in damaged:
            damaged.add(session_id)
            continue
        last = runs[-1] if runs else None
        if last is not None and (last.session_id, last.last_seq) == (session_id, seq - 1):
            runs[-1] = Run(last.first_leaf, session_id, last.first_seq, last.length + 1)
        else:
            runs.append(Run(size + len(hashes), session_id, seq, 1))
        hashes.append(event_hash)
    return runs, hashes


def _hash_in(told: object) -> bytes | None:
    try:
        found = bytes.fromhex(told) if isinstance(told, str) else b""
    except ValueError:
        return None
    return found if len(found) == HASH_BYTES else None
