"""Rows of the graph, as the stores keep them."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from beliefd.knowledge.schema import PLAYS, RELATIONS

NodeKey = tuple[str, str]
"""Kind and id of a node in its session."""


class NodeRow(Struct, frozen=True, order=True):
    """A node: `document` is the artifact as canonical JSON, the rest is what nodes are found by."""

    kind: str
    session_id: str
    id: str
    claim_id: str
    status: str
    document: bytes

    @property
    def key(self) -> NodeKey:
        return self.kind, self.id


class LinkRow(Struct, frozen=True, order=True):
    """A link between two nodes of one session. Nothing is linked across sessions, and links do not change."""

    relation: str
    session_id: str
    first_kind: str
    first_id: str
    second_kind: str
    second_id: str

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        return self.relation, self.first_kind, self.first_id, self.second_kind, self.second_id

    @property
    def players(self) -> set[NodeKey]:
        return {(self.first_kind, self.first_id), (self.second_kind, self.second_id)}

    @property
    def first_role(self) -> str:
        return RELATIONS[self.relation].first

    @property
    def second_role(self) -> str:
        return RELATIONS[self.relation].second


class GraphRows(Struct, frozen=True):
    """Nodes of one session as they stand now, and links that exist now; each at most once, in order."""

    nodes: tuple[NodeRow, ...] = ()
    links: tuple[LinkRow, ...] = ()

    def __iter__(self) -> Iterator[NodeRow | LinkRow]:
        yield from self.nodes
        yield from self.links


NOTHING = GraphRows()


class LinkRefused(ValueError):
    """A link was to be written whose player may not play its role, or is not there."""


def check_roles(links: Iterable[LinkRow]) -> None:
    """What the databases do by foreign keys, for stores that have none."""
    for link in links:
        if link.relation not in RELATIONS:
            raise LinkRefused(f"there is no relation `{link.relation}`")
        for role, kind in ((link.first_role, link.first_kind), (link.second_role, link.second_kind)):
            if (link.relation, role, kind) not in PLAYS:
                raise LinkRefused(f"`{kind}` may not play `{role}` in `{link.relation}`")


def in_order(nodes: Iterable[NodeRow], links: Iterable[LinkRow]) -> GraphRows:
    return GraphRows(tuple(sorted(nodes)), tuple(sorted(links)))


def merged(parts: Iterable[GraphRows]) -> GraphRows:
    """Later rows replace earlier ones."""
    nodes: dict[NodeKey, NodeRow] = {}
    links: set[LinkRow] = set()
    for part in parts:
        nodes.update((row.key, row) for row in part.nodes)
        links.update(part.links)
    return in_order(nodes.values(), links)
