"""The graph in a database. Foreign keys say which kind may play which role; Python is not asked."""

from collections.abc import Sequence

from beliefd.knowledge.graph import LinkRow, NodeRow
from beliefd.stores.sql.database import Database
from beliefd.stores.sql.tables import LINKS, NODES
from beliefd.stores.within import Within


class Graph(Database):
    """The graph's part of the store."""

    async def node_ids(
        self, kind: str, statuses: Sequence[str], after: str | None, limit: int, within: Within = None
    ) -> list[str]:
        wanted = "kind = $1 AND id > $2"
        if not statuses:
            return await self._ids(wanted, within, kind, after or "", limit)
        # Each status is walked in the order of its index, as far as the page can need of it.
        found: set[str] = set()
        for status in statuses:
            found |= set(
                await self._ids(f"{wanted} AND status = $4", within, kind, after or "", limit, status)
            )
        return sorted(found)[:limit]

    async def _ids(self, where: str, within: Within, *values: object) -> list[str]:
        seen, spaces = self._within(within, len(values) + 1, "graph_nodes")
        statement = f"SELECT DISTINCT id FROM graph_nodes WHERE {where}{seen} ORDER BY id LIMIT $3"  # noqa: S608
        return [name for (name,) in await self._all(statement, *values, *spaces)]

    async def nodes(
        self, kind: str, claim_ids: Sequence[str], limit: int, within: Within = None
    ) -> list[NodeRow]:
        seen, spaces = self._within(within, 4, "graph_nodes")
        where = f"claim_id {self.AMONG} AND kind = $2{seen} ORDER BY claim_id, session_id, id LIMIT $3"
        asked = (self._list(claim_ids), kind, limit, *spaces)
        return [NODES.row(row) for row in await self._all(f"{NODES.select} WHERE {where}", *asked)]

    async def any_node(self, kind: str) -> bool:
        return await self._one(f"{NODES.select} WHERE kind = $1 LIMIT 1", kind) is not None

    async def links(self, relation: str, second_id: str) -> list[LinkRow]:
        rows = await self._all(f"{LINKS.select} WHERE relation = $1 AND second_id = $2", relation, second_id)
        return sorted(LINKS.row(row) for row in rows)
