"""The port that every store implements, and the values that cross it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeAlias, TypeVar, runtime_checkable

from msgspec import Struct

from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.labels import Bringer
from beliefd.kernel.values import DEFAULT_SPACE, Head
from beliefd.knowledge.graph import LinkRow, NodeRow
from beliefd.ledger.envelope import Sealed
from beliefd.stores.archives import ArchiveStore
from beliefd.stores.citations import Uncited
from beliefd.stores.log import LogStore

T = TypeVar("T")
Within: TypeAlias = Collection[str] | None
"""The spaces that a question is about; None: all of them. What is in others is not there."""


class HeadMoved(Exception):
    """Somebody else appended first (or used the same idempotency key): load again and decide again."""


class StorageUnavailable(Exception):
    """The store cannot take or give data right now: disk full, connection lost, file gone."""


class Foreign(Exception):
    """What everything was to be moved into holds something that is not of the source."""


class Quota(Struct, frozen=True):
    """How much content one principal may have brought, in items and in bytes."""

    items: int = MAX_SAFE_INTEGER
    bytes: int = MAX_SAFE_INTEGER


UNLIMITED: Final = Quota()
CHUNK_BYTES: Final = 4 << 20
"""A chunk of a ledger ends with the entry that makes it longer than this."""


class QuotaExceeded(Exception):
    """Nothing was kept: with it, its bringer would have more than `quota`; so much is there already."""

    def __init__(self, items: int, size: int, quota: Quota) -> None:
        super().__init__(f"{items} items, {size} bytes")
        self.items = items
        self.size = size
        self.quota = quota


class ContentErased(Exception):
    """Somebody had it erased: it is not taken in again. The text is its hash."""


class KeptContent(Struct, frozen=True):
    """What is known of content without reading it. `touched_at` is when it was last brought."""

    sha256: str
    size: int
    touched_at: str


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


INBOX: Final = "inbox"
GRAPH: Final = "graph"
"""The names under which stores keep projections; what is in them is the steward's business."""
ERASED: Final = "erased"
"""Digests that may not be kept. To write such a row is to remove the content, in the same transaction."""
TOKENS: Final = "tokens"
"""Rows that are written with the events that they come from, and cannot be built anew: of a secret, the
ledger holds less than the row."""


class Row(Protocol):
    """A row of a projection. It belongs to one session, and can be hashed and compared."""

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from the other rows of its projection and session."""
        ...


class InboxRow(Struct, frozen=True):
    """Where an approval stands, for finding it across sessions; what it says is in its session's ledger.

    `expires_at` is None once its time-out has been dealt with. `principal` is because of whom it is there,
    where that is counted.
    """

    approval_id: str
    session_id: str
    status: str
    opened_at: str
    expires_at: str | None
    principal: str | None = None

    @property
    def key(self) -> tuple[str]:
        return (self.approval_id,)


class ErasedRow(Struct, frozen=True):
    """That a session had content erased."""

    session_id: str
    sha256: str
    event_id: str

    @property
    def key(self) -> tuple[str, str]:
        return (self.session_id, self.sha256)


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


class Store(LogStore, ArchiveStore, Protocol):
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

    async def inbox(
        self, status: str | None, after: str | None, limit: int, within: Within = None
    ) -> list[InboxRow]:
        """Approvals ordered by id (ids are time-ordered), past `after`; only of `status`, if given."""
        ...

    async def inbox_row(self, approval_id: str) -> InboxRow | None: ...

    async def inbox_count(self, principal: str, status: str) -> int:
        """How many rows of this status are there because of a principal, in all sessions."""
        ...

    async def inbox_due(self, now: str, limit: int) -> list[InboxRow]:
        """What is open (approvals, running calls) and has an `expires_at` that is not after `now`."""
        ...

    async def inbox_untold(self, limit: int) -> list[InboxRow]:
        """Pending approvals that no webhook has been told of yet, oldest first."""
        ...

    async def inbox_told(self, approval_id: str) -> None: ...

    async def inbox_settled(self, limit: int) -> list[InboxRow]:
        """Approvals that a webhook was told of and that wait no longer, oldest first."""
        ...

    async def inbox_forgotten(self, approval_id: str) -> None:
        """A webhook was told how it ended: nothing more is to be told."""
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

    async def node_ids(
        self, kind: str, statuses: Sequence[str], after: str | None, limit: int, within: Within = None
    ) -> list[str]:
        """Ids of nodes of a kind in any session, each once, in order, past `after`; only of nodes with one of
        `statuses`, if there are any."""
        ...

    async def nodes(
        self, kind: str, claim_ids: Sequence[str], limit: int, within: Within = None
    ) -> list[NodeRow]:
        """Nodes of a kind about these claims in all sessions, ordered by claim, session and id."""
        ...

    async def any_node(self, kind: str) -> bool:
        """Is there a node of this kind in any session?"""
        ...

    async def links(self, relation: str, second_id: str) -> list[LinkRow]:
        """Links of a relation in all sessions whose second player has this id, in order."""
        ...

    async def projected(self, name: str, session_id: str) -> set[Row]:
        """All rows that a session has in a projection."""
        ...

    async def replace_projection(
        self, session_id: str, expected: Head | None, name: str, rows: Iterable[Row]
    ) -> bool:
        """Make `rows` those of a session in a projection, if it has others; say whether it had. The head must
        be the one that they were folded at (None: there is no such session), else raise HeadMoved."""
        ...

    async def strays(self, name: str) -> list[str]:
        """Ids in the rows of a projection that name no session."""
        ...

    async def put_content(
        self,
        sha256: str,
        content: bytes,
        bringer: Bringer,
        quota: Quota = UNLIMITED,
        space: str = DEFAULT_SPACE,
    ) -> None:
        """Keep evidence under its hash, and who brought it first when into which space; the same content is
        kept once, and counts once for each who brought it. If that would be more than `quota`, raise
        QuotaExceeded; if it was erased, raise ContentErased. Content of which nobody is known is in the
        default space."""
        ...

    async def erased(self, hashes: Collection[str]) -> set[str]:
        """Those of `hashes` that a session had erased."""
        ...

    async def sweep(self) -> bool:
        """Take what was erased out of files that the store writes beside its data, and say whether nobody
        kept it from that."""
        ...

    async def bringers(self, sha256: str, within: Within = None) -> list[Bringer]:
        """Everybody who brought this content, in order of their ids, each since when."""
        ...

    async def content(self, sha256: str, within: Within = None) -> bytes | None: ...

    async def kept_content(self, hashes: Collection[str], within: Within = None) -> set[str]:
        """Those of `hashes` under which evidence is kept."""
        ...

    async def about_content(self, sha256: str, within: Within = None) -> KeptContent | None: ...

    async def content_before(self, before: str, after: str | None, limit: int) -> list[KeptContent]:
        """Content that was last brought before a time, ordered by its hash, past `after`."""
        ...

    async def remove_content(self, hashes: Sequence[str], before: str, uncited: Uncited) -> list[KeptContent]:
        """In one transaction that no append can overtake, hand `uncited` all records that it has not read,
        then remove those of `hashes` that are left in it and were last brought before a time; they count for
        nobody any more. Say what was removed, in order."""
        ...

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
