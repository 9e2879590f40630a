"""The graph in PostgreSQL. Foreign keys say which kind may play which role; Python is not asked."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from beliefd.kernel.values import Head
from beliefd.knowledge.graph import GraphRows, LinkRow, NodeRow, in_order
from beliefd.knowledge.schema import RELATIONS
from beliefd.stores.base import HeadMoved

T = TypeVar("T")
_NODE: Final = "kind, session_id, id, claim_id, status, document"
_IDS: Final = "SELECT DISTINCT id FROM graph_nodes WHERE kind = $1 AND id > $2 ORDER BY id LIMIT $3"
_IDS_OF_STATUS: Final = (
    "SELECT DISTINCT id FROM graph_nodes WHERE kind = $1 AND status = $2 AND id > $3 ORDER BY id LIMIT $4"
)
_LINK: Final = "relation, session_id, first_kind, first_id, second_kind, second_id"


def put_graph(first: int, source: str = "") -> str:
    """Two more parts of a statement that begins with WITH; `first` is the number of their first parameter."""
    text = [f"${number}::text[]" for number in range(first, first + 14)]
    return f"""
, noded AS (
    INSERT INTO graph_nodes ({_NODE})
    SELECT node.* FROM {source}unnest({", ".join(text[:6])}) AS node
    ON CONFLICT (session_id, kind, id) DO UPDATE SET
        claim_id = excluded.claim_id, status = excluded.status, document = excluded.document
), linked AS (
    INSERT INTO graph_links ({_LINK}, first_role, second_role)
    SELECT link.* FROM {source}unnest({", ".join(text[6:])}) AS link
    ON CONFLICT DO NOTHING
)"""  # noqa: S608 - made of constants


def graph_parameters(rows: GraphRows) -> list[list[str]]:
    """Fourteen columns: six of the nodes, eight of the links."""
    nodes = [
        (row.kind, row.session_id, row.id, row.claim_id, row.status, row.document.decode())
        for row in rows.nodes
    ]
    links = [
        (
            link.relation,
            link.session_id,
            link.first_kind,
            link.first_id,
            link.second_kind,
            link.second_id,
            *_roles(link),
        )
        for link in rows.links
    ]
    return [[row[n] for row in nodes] for n in range(6)] + [[row[n] for row in links] for n in range(8)]


def _roles(link: LinkRow) -> tuple[str, str]:
    relation = RELATIONS.get(link.relation)
    return ("", "?") if relation is None else (relation.first, relation.second)


_PUT: Final = "WITH begun AS (SELECT 1)" + put_graph(1) + "SELECT 1"


class PostgresGraph(ABC):
    """The graph's part of the store."""

    @abstractmethod
    async def _all(self, statement: str, *values: object) -> list[Any]: ...

    @abstractmethod
    async def _in_transaction(self, work: Callable[[Any], Awaitable[T]]) -> T: ...

    async def node_ids(self, kind: str, statuses: Sequence[str], after: str | None, limit: int) -> list[str]:
        if not statuses:
            return [name for (name,) in await self._all(_IDS, kind, after or "", limit)]
        # Each status is walked in the order of its index, as far as the page can need of it.
        found: set[str] = set()
        for status in statuses:
            found |= {name for (name,) in await self._all(_IDS_OF_STATUS, kind, status, after or "", limit)}
        return sorted(found)[:limit]

    async def nodes(self, kind: str, claim_ids: Sequence[str], limit: int) -> list[NodeRow]:
        rows = await self._all(
            f"SELECT {_NODE} FROM graph_nodes WHERE kind = $1 AND claim_id = ANY($2::text[])"  # noqa: S608
            " ORDER BY claim_id, session_id, id LIMIT $3",
            kind,
            list(claim_ids),
            limit,
        )
        return [_node(row) for row in rows]

    async def links(self, relation: str, second_id: str) -> list[LinkRow]:
        rows = await self._all(
            f"SELECT {_LINK} FROM graph_links WHERE relation = $1 AND second_id = $2",  # noqa: S608
            relation,
            second_id,
        )
        return sorted(LinkRow(*row) for row in rows)

    async def graph(self, session_id: str) -> GraphRows:
        return await _graph(self._all, session_id)

    async def replace_graph(self, session_id: str, expected: Head, rows: GraphRows) -> bool:
        async def work(connection: Any) -> bool:
            # INVARIANT: rows and head are compared under the lock that every append takes.
            head = await connection.fetchrow(
                "SELECT head_seq, head_hash FROM sessions WHERE session_id = $1 FOR UPDATE", session_id
            )
            if head is None or tuple(head) != (expected.seq, expected.hash):
                raise HeadMoved(session_id)
            if await _graph(connection.fetch, session_id) == rows:
                return False
            await connection.execute("DELETE FROM graph_links WHERE session_id = $1", session_id)
            await connection.execute("DELETE FROM graph_nodes WHERE session_id = $1", session_id)
            await connection.execute(_PUT, *graph_parameters(rows))
            return True

        return await self._in_transaction(work)


async def _graph(ask: Callable[..., Awaitable[list[Any]]], session_id: str) -> GraphRows:
    nodes = await ask(f"SELECT {_NODE} FROM graph_nodes WHERE session_id = $1", session_id)  # noqa: S608
    links = await ask(f"SELECT {_LINK} FROM graph_links WHERE session_id = $1", session_id)  # noqa: S608
    return in_order(map(_node, nodes), (LinkRow(*row) for row in links))


def _node(row: Any) -> NodeRow:
    kind, session_id, name, claim_id, status, document = row
    return NodeRow(kind, session_id, name, claim_id, status, document.encode())
