"""The tables in which databases keep projections: how rows become cells, and cells rows."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import astuple

from beliefd.knowledge.graph import LinkRow, NodeRow
from beliefd.knowledge.schema import RELATIONS
from beliefd.stores.base import Token
from beliefd.stores.projections import ERASED, GRAPH, INBOX, TOKENS, ErasedRow, InboxRow

R = TypeVar("R")


class Table(Struct, Generic[R], frozen=True):
    """One table. All its cells are text; `columns` are those that are written and read."""

    name: str
    kind: type[R]
    columns: tuple[str, ...]
    key: tuple[str, ...]
    """The columns by which a later row takes the place of an earlier one; none if rows never change."""
    cells: Callable[[R], tuple[str | None, ...]]
    row: Callable[[Sequence[Any]], R]

    @property
    def listed(self) -> str:
        return ", ".join(self.columns)

    @property
    def select(self) -> str:
        return f"SELECT {self.listed} FROM {self.name}"  # noqa: S608 - made of constants

    @property
    def select_session(self) -> str:
        return f"{self.select} WHERE session_id = $1"

    @property
    def delete_session(self) -> str:
        return f"DELETE FROM {self.name} WHERE session_id = $1"  # noqa: S608 - made of constants

    @property
    def on_conflict(self) -> str:
        if not self.key:
            return "ON CONFLICT DO NOTHING"
        rest = (f"{name} = excluded.{name}" for name in self.columns if name not in self.key)
        return f"ON CONFLICT ({', '.join(self.key)}) DO UPDATE SET {', '.join(rest)}"


def _node(cells: Sequence[Any]) -> NodeRow:
    # What somebody put there that is no text comes as another one, which no ledger says.
    kind, session_id, name, claim_id, status, document = map(str, cells)
    return NodeRow(kind, session_id, name, claim_id, status, document.encode())


def _link_cells(link: LinkRow) -> tuple[str, ...]:
    relation = RELATIONS.get(link.relation)
    roles = ("", "?") if relation is None else (relation.first, relation.second)
    return (
        link.relation,
        link.session_id,
        link.first_kind,
        link.first_id,
        link.second_kind,
        link.second_id,
        *roles,
    )


APPROVALS: Final = Table(
    name="inbox",
    kind=InboxRow,
    columns=("approval_id", "session_id", "status", "opened_at", "expires_at", "principal"),
    key=("approval_id",),
    cells=lambda row: (
        *(row.approval_id, row.session_id, row.status, row.opened_at, row.expires_at, row.principal),
    ),
    row=lambda cells: InboxRow(*cells),
)
NODES: Final = Table(
    name="graph_nodes",
    kind=NodeRow,
    columns=("kind", "session_id", "id", "claim_id", "status", "document"),
    key=("session_id", "kind", "id"),
    cells=lambda row: (row.kind, row.session_id, row.id, row.claim_id, row.status, row.document.decode()),
    row=_node,
)
# Foreign keys say which kind may play which role; Python is not asked.
LINKS: Final = Table(
    name="graph_links",
    kind=LinkRow,
    columns=(
        *("relation", "session_id", "first_kind", "first_id", "second_kind", "second_id"),
        *("first_role", "second_role"),
    ),
    key=(),
    cells=_link_cells,
    row=lambda cells: LinkRow(*cells[:6]),
)

# A trigger removes the content of every row that comes in.
ERASURES: Final = Table(
    name="erased",
    kind=ErasedRow,
    columns=ErasedRow.__struct_fields__,
    key=("session_id", "sha256"),
    cells=astuple,
    row=lambda cells: ErasedRow(*cells),
)

# Not of a session: nobody asks for its rows by one, and nobody replaces them.
CREDENTIALS: Final = Table(
    name="tokens",
    kind=Token,
    columns=Token.__struct_fields__,
    key=("token_id",),
    cells=astuple,
    row=lambda cells: Token(*cells),
)

TABLES: Final[dict[str, tuple[Table[Any], ...]]] = {
    INBOX: (APPROVALS,),
    GRAPH: (NODES, LINKS),
    TOKENS: (CREDENTIALS,),
    ERASED: (ERASURES,),
}
"""By projection. A table comes after those that it refers to."""
