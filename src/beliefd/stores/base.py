"""The port that every store implements, and the values that cross it besides content and projections."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeVar, runtime_checkable

from msgspec import Struct

from beliefd.kernel.values import DEFAULT_SPACE, Head
from beliefd.ledger.envelope import Sealed
from beliefd.stores.archives import ArchiveStore
from beliefd.stores.content import ContentStore
from beliefd.stores.log import LogStore
from beliefd.stores.projections import ProjectionStore, Row
from beliefd.stores.within import Within

T = TypeVar("T")


class HeadMoved(Exception):
    """Somebody else appended first (or used the same idempotency key): load again and decide again."""


class StorageUnavailable(Exception):
    """The store cannot take or give data right now: disk full, connection lost, file gone."""


class Foreign(Exception):
    """What everything was to be moved into holds something that is not of the source."""


CHUNK_BYTES: Final = 4 << 20
"""A chunk of a ledger ends with the entry that makes it longer than this."""


class SavedState(Struct, frozen=True):
    """A packed state. `seq` names an entry with a `state_hash`, against which it is checked when loaded."""

    seq: int
    state: bytes


class UsedKey(Struct, frozen=True):
    """An idempotency key that was used: what was asked, and which entry answers it."""

    principal: str
    key: str
    request_hash: str
    session_id: str
    seq: int


class Append(Struct, frozen=True):
    """Entries to add at the expected head, with everything that must be written in the same transaction.

    `projected` holds the rows that the entries add or change, under the names of their projections; tokens
    are among them.
    `rests_on` are the hashes of content that was looked at to decide them, and must still be kept. `space` is
    where a session begins and stays; `declared_by` is who begins it, and `ends` says that it has ended.
    """

    session_id: str
    expected: Head | None
    entries: Sequence[Sealed]
    created_at: str
    policies: Sequence[tuple[str, bytes]] = ()
    used_keys: Sequence[UsedKey] = ()
    saved_state: SavedState | None = None
    projected: Mapping[str, Collection[Row]] = {}
    rests_on: Collection[str] = ()
    space: str = DEFAULT_SPACE
    declared_by: str = ""
    ends: bool = False


class SessionRow(Struct, frozen=True):
    session_id: str
    created_at: str
    head: Head


class Token(Struct, frozen=True):
    """A credential as stored: the secret itself is never kept, only its SHA-256.

    `spaces` says what it may in which space; if it is empty, it may what its role may.
    """

    token_id: str
    name: str
    role: str
    tier: str
    secret_hash: str
    created_at: str
    revoked_at: str | None = None
    owner: str = ""
    spaces: str = ""

    @property
    def key(self) -> tuple[str]:
        return (self.token_id,)


class SpaceRow(Struct, frozen=True):
    """A space that somebody made, beside the default one."""

    name: str
    created_at: str
    created_by: str


class Adoption(Struct, frozen=True):
    """A policy that an administrator brought into force; the newest one holds."""

    policy_hash: str
    document: bytes
    adopted_at: str
    adopted_by: str


class CalibrationRow(Struct, frozen=True):
    """One version of a calibration set. Versions count from 1 and never change."""

    name: str
    version: int
    sha256: str
    created_at: str
    document: bytes


Listener = Callable[[str], None]
"""Called with a session id after that session grew; may come from any thread the store documents."""


def bounded(rows: Iterable[T], max_bytes: int | None, size: Callable[[T], int]) -> list[T]:
    """As many of the rows as a chunk may hold: the one that makes it too long is its last."""
    if max_bytes is None:
        return list(rows)
    taken, length = [], 0
    for row in rows:
        taken.append(row)
        length += size(row)
        if length >= max_bytes:
            break
    return taken


class Taken(Struct, frozen=True):
    """What a process took from a bucket: it fills at `rate` a second, up to `full`."""

    name: str
    count: int
    rate: float
    full: float


@runtime_checkable
class Spending(Protocol):
    """A store that several processes share can keep buckets for all of them."""

    async def spend(self, taken: Sequence[Taken]) -> dict[str, float]:
        """Take so much from the buckets, which are full at first; what is left in each, and may be less than
        nothing. It need not survive a crash."""
        ...


class Store(LogStore, ArchiveStore, ContentStore, ProjectionStore, Protocol):
    """INVARIANT: an append is whole and durable when it returns, or absent when it raises."""

    keeps_order: bool
    """Are appends written in the order in which they are handed over, before the one before has returned?"""

    def append(self, batch: Append) -> Awaitable[None]:
        """Add entries; raise HeadMoved if the head is not the expected one, a key is taken or content is gone
        that they rest on, and LinkRefused if a link of the graph has a player that may not play its role or
        is not there."""
        ...

    async def head(self, session_id: str) -> Head | None:
        """Where a session stands; SessionArchived, if that is elsewhere."""
        ...

    async def entries(
        self, session_id: str, after: int = 0, limit: int | None = None, max_bytes: int | None = None
    ) -> list[Sealed]:
        """Entries with seq > after, in order. With `max_bytes` a chunk of them: it ends at the latest with
        the one that makes it so long, and is empty only if there are none."""
        ...

    def stream(self, session_id: str, after: int = 0) -> AsyncIterator[list[Sealed]]:
        """The same in chunks of some megabytes at most, for ledgers that do not fit an answer."""
        ...

    async def replay(
        self, session_id: str, after: int, upto: int, take: Callable[[list[bytes]], None]
    ) -> None:
        """Hand the bare records with after < seq <= upto to `take`, in order and in chunks that are never
        empty; `take` may be called from a thread, and what it raises comes out here."""
        ...

    async def seq_of(self, session_id: str, event_id: str) -> int | None: ...

    async def saved_state(self, session_id: str, upto: int | None = None) -> SavedState | None:
        """The newest one, at or before `upto` if that is given: the past is asked for, too."""
        ...

    async def sessions(self, after: str | None, limit: int, within: Within = None) -> list[SessionRow]:
        """Sessions ordered by id (ids are time-ordered), past `after`; not those that are archived."""
        ...

    async def space_of(self, session_id: str) -> str | None:
        """The space that a session began in; None if there is no such session."""
        ...

    async def open_sessions(self, principal: str) -> int:
        """How many sessions a principal has declared here that have not ended."""
        ...

    async def add_space(self, row: SpaceRow) -> bool:
        """Remember a space; False if there is one of this name."""
        ...

    async def spaces(self) -> list[SpaceRow]:
        """The spaces that were made, by name."""
        ...

    async def used_key(self, principal: str, key: str) -> UsedKey | None: ...

    async def policy(self, policy_hash: str) -> bytes | None: ...

    async def adopt(self, adoption: Adoption) -> None:
        """Remember that a policy came into force; earlier ones stay on record."""
        ...

    async def adopted(self, policy_hash: str | None = None) -> Adoption | None:
        """The policy that came into force last, here or in another process; or the last row of this one."""
        ...

    async def lease(self, name: str, holder: str, seconds: float) -> bool:
        """Take something for so long, or hold it for so long from now; False if another holder has it. What
        counts is the clock of the store: those of its processes may differ."""
        ...

    async def end_lease(self, name: str, holder: str) -> None:
        """Give a lease back before its time, if one has it."""
        ...

    async def share(self, name: str, secret: bytes, *, anew: bool = False) -> bytes:
        """Bring what all processes on this store are to use under a name, unless it is there already, or in
        its place. What they use from now on."""
        ...

    async def shared(self, name: str) -> bytes | None: ...

    async def add_calibration(self, row: CalibrationRow) -> bool:
        """Keep a version of a calibration set; False if that version is there already."""
        ...

    async def calibration(self, name: str, version: int | None = None) -> CalibrationRow | None:
        """A version of a calibration set, or its newest."""
        ...

    async def calibrations(self) -> list[tuple[str, int]]:
        """Names and versions of all calibration sets, in this order."""
        ...

    async def add_token(self, token: Token) -> None:
        """A row alone, which no event has made: for tests. Servers do not honour it (see steward/tokens)."""
        ...

    async def tokens(self) -> list[Token]: ...

    async def revoke_token(self, token_id: str, at: str) -> bool: ...

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Be told when a session grew, here or (where the technology can) in another process."""
        ...

    async def ping(self) -> None:
        """Raise StorageUnavailable unless a write could succeed."""
        ...

    async def close(self) -> None: ...
