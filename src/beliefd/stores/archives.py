"""What a store keeps of sessions that were put away: where they are, and the hash of each of their events."""

from collections.abc import Collection, Sequence
from typing import Final, Protocol

from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import Head
from beliefd.ledger.envelope import Sealed
from beliefd.stores.within import Within

HASHES: Final = 32
"""So many hashes stand in one row. Few, since a database reads the whole row for each of them."""


class Archived(Struct, frozen=True):
    """A session whose ledger is kept elsewhere. `noted` is the event of the server's own ledger that says
    so."""

    session_id: str
    head: Head
    place: str
    file_sha256: str
    at: str
    by: str
    noted: int


class SessionArchived(BeliefdError):
    """The ledger of a session is not in the store. It says where it is, wherever that comes up."""

    def __init__(self, stub: Archived) -> None:
        self.stub = stub
        details = {
            "session_id": stub.session_id,
            "place": stub.place,
            "events": stub.head.seq,
            "head": {"seq": stub.head.seq, "event_id": stub.head.event_id, "hash": stub.head.hash},
            "file_sha256": stub.file_sha256,
            "archived_at": stub.at,
            "archived_by": stub.by,
        }
        super().__init__(
            Code.SESSION_ARCHIVED,
            f"session `{stub.session_id}` is archived: {stub.head.seq} events, to be found at"
            f" `{stub.place}`, head hash {stub.head.hash}",
            details,
        )


class ArchiveStore(Protocol):
    """INVARIANT: an event of a session is in the store, or the session has a stub with the hash of every one
    of its events. There is a stub only for a ledger that ends with its seal, all of whose events are leaves
    of the log; without one nothing is removed, and while there is one nothing is appended.

    `head` raises SessionArchived for a session that has one, and `sessions` leaves it out.
    """

    async def keep_hashes(self, session_id: str, first_seq: int, hashes: Sequence[str]) -> None:
        """The hashes of events from this one on, in order, before their session is archived. Each call but
        the last has a multiple of `HASHES`."""
        ...

    async def archive(self, stub: Archived, cited: Collection[str]) -> None:
        """Say that a session is archived, and which content its events cite, in one transaction. Raise
        HeadMoved or StorageUnavailable, and change nothing, if its head is another, it does not end with its
        seal, or hashes or leaves are missing."""
        ...

    async def remove_archived(self, session_id: str, limit: int) -> int:
        """Remove so many events of an archived session at most; how many."""
        ...

    async def put_archived(self, session_id: str, entries: Sequence[Sealed]) -> None:
        """Put events of an archived session back; those that are back already stay."""
        ...

    async def unarchive(self, session_id: str) -> bool:
        """Take the stub away: the session is here again. False, or StorageUnavailable, and no change, unless
        all its events are back."""
        ...

    async def archived(self, session_id: str) -> Archived | None: ...

    async def archives(self, after: str | None, limit: int, within: Within = None) -> list[Archived]:
        """Archived sessions ordered by id, past `after`."""
        ...

    async def archived_hashes(self, session_id: str, after: int, limit: int) -> list[bytes]:
        """The hashes of the events of an archived session past this one, in order."""
        ...

    async def cited_in_archives(self, hashes: Collection[str]) -> set[str]:
        """Those of `hashes` that archived sessions cite."""
        ...
