"""The graph in dicts, with the checks that databases do by foreign keys."""

from collections.abc import Sequence

from beliefd.knowledge.graph import GraphRows, LinkRefused, LinkRow, NodeKey, NodeRow, check_roles, in_order


class MemoryGraph:
    """Small graphs only: every question looks at every row."""

    def __init__(self) -> None:
        self._nodes: dict[NodeKey, NodeRow] = {}
        self._links: set[LinkRow] = set()

    def add(self, rows: GraphRows) -> None:
        """Add or change rows; all of them, or none and an exception."""
        self._check(rows, {*self._nodes, *(row.key for row in rows.nodes)})
        self._nodes.update((row.key, row) for row in rows.nodes)
        self._links.update(rows.links)

    def replace(self, session_id: str, rows: GraphRows) -> bool:
        if self.of(session_id) == rows:
            return False
        self._check(rows, {row.key for row in rows.nodes})
        self._nodes = {key: row for key, row in self._nodes.items() if row.session_id != session_id}
        self._links = {link for link in self._links if link.session_id != session_id}
        self.add(rows)
        return True

    def _check(self, rows: GraphRows, keys: set[NodeKey]) -> None:
        check_roles(rows.links)
        for link in rows.links:
            if not link.players <= keys:
                raise LinkRefused(f"a player of `{link.relation}` is not there")

    def of(self, session_id: str) -> GraphRows:
        return in_order(
            (row for row in self._nodes.values() if row.session_id == session_id),
            (link for link in self._links if link.session_id == session_id),
        )

    def node_ids(self, kind: str, statuses: Sequence[str], after: str | None, limit: int) -> list[str]:
        found = {
            row.id
            for row in self._nodes.values()
            if row.kind == kind and (not statuses or row.status in statuses) and row.id > (after or "")
        }
        return sorted(found)[:limit]

    def nodes(self, kind: str, claim_ids: Sequence[str], limit: int) -> list[NodeRow]:
        found = [row for row in self._nodes.values() if row.kind == kind and row.claim_id in claim_ids]
        return sorted(found, key=lambda row: (row.claim_id, row.session_id, row.id))[:limit]

    def links(self, relation: str, second_id: str) -> list[LinkRow]:
        return sorted(
            link for link in self._links if link.relation == relation and link.second_id == second_id
        )
