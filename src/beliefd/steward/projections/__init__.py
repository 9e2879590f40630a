"""Projections: what all ledgers say, as rows that can be asked for across sessions.

Rows are a function of the state, and are written with the events that change them. So a projection can be
dropped and built anew, and compared with the ledgers it comes from.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec import Struct

from beliefd.kernel.state import Session
from beliefd.steward.projections import erased, graph, inbox
from beliefd.stores import projections as kept
from beliefd.stores.projections import Row


class Projection(Struct, frozen=True):
    """`touching` are the types of the events that may change rows.

    INVARIANT: the rows of all events one after the other, later ones in the place of earlier ones with their
    key, are `all_rows` of the state that the events lead to.
    """

    name: str
    about: str
    touching: frozenset[type[Any]]
    rows: Callable[[Any, Session], Iterable[Row]]
    """The rows that an event changes, as they stand in the state after it."""
    all_rows: Callable[[Session], Iterable[Row]]


INBOX: Final = Projection(
    kept.INBOX,
    "what waits: approvals for a person, calls and runs for their outcome",
    inbox.TOUCHING,
    inbox.inbox_rows,
    inbox.all_rows,
)
GRAPH: Final = Projection(
    kept.GRAPH,
    "propositions, the evidence for them, and what ties them together",
    graph.TOUCHING,
    graph.graph_rows,
    graph.all_rows,
)
ERASED: Final = Projection(
    kept.ERASED,
    "what people had erased, and is not kept",
    erased.TOUCHING,
    erased.erased_rows,
    erased.all_rows,
)
PROJECTIONS: Final = (INBOX, GRAPH, ERASED)

TOUCHED_BY: Final[dict[type[Any], tuple[Projection, ...]]] = {
    kind: tuple(one for one in PROJECTIONS if kind in one.touching)
    for kind in frozenset().union(*(one.touching for one in PROJECTIONS))
}
"""Which projections an event changes. Most events change none, and that must cost nothing."""


def all_projected(session: Session) -> dict[str, tuple[Row, ...]]:
    """The rows of a session in all projections, for a ledger that comes from elsewhere."""
    return {one.name: rows for one in PROJECTIONS if (rows := tuple(one.all_rows(session)))}
