"""The graph in SQLite. Foreign keys say which kind may play which role; Python is not asked."""

import asyncio
import json
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from beliefd.kernel.values import Head
from beliefd.knowledge.graph import GraphRows, LinkRefused, LinkRow, NodeRow, in_order
from beliefd.knowledge.schema import RELATIONS
from beliefd.stores.base import HeadMoved

T = TypeVar("T")
_NODE: Final = "kind, session_id, id, claim_id, status, document"
_LINK: Final = "relation, session_id, first_kind, first_id, second_kind, second_id"
_IDS: Final = "SELECT DISTINCT id FROM graph_nodes WHERE kind = ? AND id > ? ORDER BY id LIMIT ?"
_IDS_OF_STATUS: Final = (
    "SELECT DISTINCT id FROM graph_nodes WHERE kind = ? AND status = ? AND id > ? ORDER BY id LIMIT ?"
)
_PUT_NODE: Final = (
    f"INSERT INTO graph_nodes ({_NODE}) VALUES (?, ?, ?, ?, ?, ?)"  # noqa: S608 - made of constants
    " ON CONFLICT (session_id, kind, id) DO UPDATE SET"
    " claim_id = excluded.claim_id, status = excluded.status, document = excluded.document"
)
_PUT_LINK: Final = (
    f"INSERT INTO graph_links ({_LINK}, first_role, second_role) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
    " ON CONFLICT DO NOTHING"
)


def write_graph(connection: sqlite3.Connection, rows: GraphRows) -> None:
    """Add or change rows inside the caller's transaction."""
    connection.executemany(
        _PUT_NODE,
        [
            (row.kind, row.session_id, row.id, row.claim_id, row.status, row.document.decode())
            for row in rows.nodes
        ],
    )
    try:
        connection.executemany(_PUT_LINK, [_link_values(link) for link in rows.links])
    except sqlite3.IntegrityError as error:
        raise LinkRefused(f"the database refuses a link of the graph: {error}") from None


def _link_values(link: LinkRow) -> tuple[str, ...]:
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


class SqliteGraph(ABC):
    """The graph's part of the store."""

    @abstractmethod
    def _all(self, statement: str, *values: object) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def _alone(self, work: Callable[[sqlite3.Connection], T]) -> T: ...

    async def node_ids(self, kind: str, statuses: Sequence[str], after: str | None, limit: int) -> list[str]:
        if not statuses:
            return [name.decode() for (name,) in self._all(_IDS, kind, after or "", limit)]
        # Each status is walked in the order of its index, as far as the page can need of it.
        found = {
            name.decode()
            for status in statuses
            for (name,) in self._all(_IDS_OF_STATUS, kind, status, after or "", limit)
        }
        return sorted(found)[:limit]

    async def nodes(self, kind: str, claim_ids: Sequence[str], limit: int) -> list[NodeRow]:
        rows = self._all(
            f"SELECT {_NODE} FROM graph_nodes"  # noqa: S608
            " WHERE kind = ? AND claim_id IN (SELECT value FROM json_each(?))"
            " ORDER BY claim_id, session_id, id LIMIT ?",
            kind,
            json.dumps(list(claim_ids)),
            limit,
        )
        return [_node(row) for row in rows]

    async def links(self, relation: str, second_id: str) -> list[LinkRow]:
        rows = self._all(
            f"SELECT {_LINK} FROM graph_links WHERE relation = ? AND second_id = ?",  # noqa: S608
            relation,
            second_id,
        )
        return sorted(_link(row) for row in rows)

    async def graph(self, session_id: str) -> GraphRows:
        return _graph(self._all, session_id)

    async def replace_graph(self, session_id: str, expected: Head, rows: GraphRows) -> bool:
        return await asyncio.to_thread(
            self._alone, lambda connection: _replaced(connection, session_id, expected, rows)
        )


def _replaced(connection: sqlite3.Connection, session_id: str, expected: Head, rows: GraphRows) -> bool:
    def ask(statement: str, *values: object) -> list[tuple[Any, ...]]:
        return connection.execute(statement, values).fetchall()

    # INVARIANT: rows and head are compared under the lock that every append takes.
    connection.execute("BEGIN IMMEDIATE")
    found = ask("SELECT head_seq, head_hash FROM sessions WHERE session_id = ?", session_id)
    if found != [(expected.seq, expected.hash.encode())]:
        raise HeadMoved(session_id)
    if _graph(ask, session_id) == rows:
        return False
    ask("DELETE FROM graph_links WHERE session_id = ?", session_id)
    ask("DELETE FROM graph_nodes WHERE session_id = ?", session_id)
    write_graph(connection, rows)
    connection.execute("COMMIT")
    return True


def _graph(ask: Callable[..., list[tuple[Any, ...]]], session_id: str) -> GraphRows:
    nodes = ask(f"SELECT {_NODE} FROM graph_nodes WHERE session_id = ?", session_id)  # noqa: S608
    links = ask(f"SELECT {_LINK} FROM graph_links WHERE session_id = ?", session_id)  # noqa: S608
    return in_order(map(_node, nodes), map(_link, links))


def _node(row: tuple[Any, ...]) -> NodeRow:
    kind, session_id, name, claim_id, status = (cell.decode() for cell in row[:5])
    return NodeRow(kind, session_id, name, claim_id, status, row[5])


def _link(row: tuple[Any, ...]) -> LinkRow:
    return LinkRow(*(cell.decode() for cell in row))
