"""What a store keeps of projections: rows computed from events, to be found across sessions."""

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from msgspec import Struct

from beliefd.kernel.values import Head
from beliefd.knowledge.graph import LinkRow, NodeRow
from beliefd.stores.within import Within

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


class ProjectionStore(Protocol):
    """The inbox, the graph and other rows. They come in with the appends of their events (`Append`)."""

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
