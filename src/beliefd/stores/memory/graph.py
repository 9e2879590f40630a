"""The graph in dicts, with the checks that databases do by foreign keys."""

from collections.abc import Callable, Collection, Iterable, Sequence

from beliefd.knowledge.graph import LinkRefused, LinkRow, NodeRow, check_roles


class MemoryGraph:
    """Small graphs only: every question looks at every row."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, ...], NodeRow] = {}
        self._links: set[LinkRow] = set()

    def check(self, rows: Collection[NodeRow | LinkRow]) -> None:
        links = [row for row in rows if isinstance(row, LinkRow)]
        check_roles(links)
        known = self._nodes.keys() | {(row.session_id, *row.key) for row in rows if isinstance(row, NodeRow)}
        for link in links:
            if not all((link.session_id, *player) in known for player in link.players):
                raise LinkRefused(f"a player of `{link.relation}` is not there")

    def put(self, rows: Iterable[NodeRow | LinkRow]) -> None:
        """Add or change rows that were checked."""
        for row in rows:
            if isinstance(row, NodeRow):
                self._nodes[row.session_id, *row.key] = row
            else:
                self._links.add(row)

    def replace(self, session_id: str, rows: Collection[NodeRow | LinkRow]) -> None:
        kept = MemoryGraph()
        kept.put(row for row in self.rows if row.session_id != session_id)
        kept.check(rows)
        kept.put(rows)
        self._nodes, self._links = kept._nodes, kept._links

    @property
    def rows(self) -> Iterable[NodeRow | LinkRow]:
        return [*self._nodes.values(), *self._links]

    def node_ids(
        self, kind: str, statuses: Sequence[str], after: str | None, limit: int, seen: Callable[[str], bool]
    ) -> list[str]:
        found = {
            row.id
            for row in self._nodes.values()
            if row.kind == kind
            and (not statuses or row.status in statuses)
            and row.id > (after or "")
            and seen(row.session_id)
        }
        return sorted(found)[:limit]

    def nodes(
        self, kind: str, claim_ids: Sequence[str], limit: int, seen: Callable[[str], bool]
    ) -> list[NodeRow]:
        found = [
            row
            for row in self._nodes.values()
            if row.kind == kind and row.claim_id in claim_ids and seen(row.session_id)
        ]
        return sorted(found, key=lambda row: (row.claim_id, row.session_id, row.id))[:limit]

    def any_node(self, kind: str) -> bool:
        return any(row.kind == kind for row in self._nodes.values())

    def links(self, relation: str, second_id: str) -> list[LinkRow]:
        return sorted(
            link for link in self._links if link.relation == relation and link.second_id == second_id
        )
