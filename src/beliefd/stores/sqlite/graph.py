"""The graph in SQLite. Foreign keys say which kind may play which role; Python is not asked."""

import json
from collections.abc import Sequence
from typing import Final

from beliefd.knowledge.graph import LinkRow, NodeRow
from beliefd.stores.sqlite.database import Database, text
from beliefd.stores.tables import LINKS, NODES

_IDS: Final = "SELECT DISTINCT id FROM graph_nodes WHERE kind = ? AND id > ? ORDER BY id LIMIT ?"
_IDS_OF_STATUS: Final = (
    "SELECT DISTINCT id FROM graph_nodes WHERE kind = ? AND status = ? AND id > ? ORDER BY id LIMIT ?"
)


class Graph(Database):
    """The graph's part of the store."""

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
            f"SELECT {NODES.listed} FROM graph_nodes"  # noqa: S608
            " WHERE kind = ? AND claim_id IN (SELECT value FROM json_each(?))"
            " ORDER BY claim_id, session_id, id LIMIT ?",
            kind,
            json.dumps(list(claim_ids)),
            limit,
        )
        return [NODES.row(text(row)) for row in rows]

    async def links(self, relation: str, second_id: str) -> list[LinkRow]:
        rows = self._all(
            f"SELECT {LINKS.listed} FROM graph_links WHERE relation = ? AND second_id = ?",  # noqa: S608
            relation,
            second_id,
        )
        return sorted(LINKS.row(text(row)) for row in rows)
