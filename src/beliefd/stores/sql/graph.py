"""The graph in a database. Foreign keys say which kind may play which role; Python is not asked."""

from collections.abc import Sequence
from typing import Final

from beliefd.knowledge.graph import LinkRow, NodeRow
from beliefd.stores.sql.database import Database
from beliefd.stores.sql.tables import LINKS, NODES

_IDS: Final = "SELECT DISTINCT id FROM graph_nodes WHERE kind = $1 AND id > $2 ORDER BY id LIMIT $3"
_IDS_OF_STATUS: Final = (
    "SELECT DISTINCT id FROM graph_nodes WHERE kind = $1 AND status = $2 AND id > $3 ORDER BY id LIMIT $4"
)


class Graph(Database):
    """The graph's part of the store."""

    async def node_ids(self, kind: str, statuses: Sequence[str], after: str | None, limit: int) -> list[str]:
        if not statuses:
            return [name for (name,) in await self._all(_IDS, kind, after or "", limit)]
        # Each status is walked in the order of its index, as far as the page can need of it.
        found: set[str] = set()
        for status in statuses:
            found |= {name for (name,) in await self._all(_IDS_OF_STATUS, kind, status, after or "", limit)}
        return sorted(found)[:limit]

    async def nodes(self, kind: str, claim_ids: Sequence[str], limit: int) -> list[NodeRow]:
        where = f"claim_id {self.AMONG} AND kind = $2 ORDER BY claim_id, session_id, id LIMIT $3"
        rows = await self._all(f"{NODES.select} WHERE {where}", self._list(claim_ids), kind, limit)
        return [NODES.row(row) for row in rows]

    async def any_node(self, kind: str) -> bool:
        return await self._one(f"{NODES.select} WHERE kind = $1 LIMIT 1", kind) is not None

    async def links(self, relation: str, second_id: str) -> list[LinkRow]:
        rows = await self._all(f"{LINKS.select} WHERE relation = $1 AND second_id = $2", relation, second_id)
        return sorted(LINKS.row(row) for row in rows)
