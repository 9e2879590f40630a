"""What every store promises about projections, and with that all promises there are.

Subclass `ProjectionContract` (with `DurableStoreContract` beside it if the data outlives the object), and say
in `open` how to get a store.
"""

import asyncio
from collections.abc import Iterable

from msgspec.structs import replace

from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.speculation.commands import Speculate
from beliefd.kernel.speculation.state import Alternative
from beliefd.knowledge.graph import NodeRow
from beliefd.ledger.envelope import head_of
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.projections import PROJECTIONS
from beliefd.steward.projections.rebuilding import (
    Difference,
    differences,
    rebuild,
    remove_strays,
    stray_differences,
)
from beliefd.steward.write.steward import Steward
from beliefd.stores.base import HeadMoved, Store
from beliefd.stores.projections import ERASED, GRAPH, INBOX, ErasedRow, InboxRow, Row
from beliefd.testing.appends import CREATED, batch, chain, entry, outcomes_of, raises
from beliefd.testing.graph_contract import graph_of
from beliefd.testing.promises import promise
from beliefd.testing.spaces_contract import SpacesContract
from beliefd.testing.world import AGENT, ONTOLOGY

LATER = "2026-01-02T00:00:00.000000Z"


def waiting(session_id: str, name: str, status: str = "pending", expires_at: str | None = None) -> InboxRow:
    return InboxRow(f"{session_id}-{name}", session_id, status, CREATED, expires_at)


def rows_of(session_id: str, text: str = "pending") -> dict[str, tuple[Row, ...]]:
    """Some rows in every projection."""
    return {
        INBOX: (waiting(session_id, "one", text), waiting(session_id, "two", text, LATER)),
        GRAPH: tuple(graph_of(session_id, text)),
        ERASED: tuple(ErasedRow(session_id, f"{session_id}-{name}", text) for name in ("one", "two")),
    }


async def stored(store: Store, session_id: str) -> dict[str, set[Row]]:
    return {one.name: await store.projected(one.name, session_id) for one in PROJECTIONS}


def sets(rows: dict[str, tuple[Row, ...]]) -> dict[str, set[Row]]:
    return {name: set(some) for name, some in rows.items()}


NOTHING: dict[str, set[Row]] = {one.name: set() for one in PROJECTIONS}


class ProjectionContract(SpacesContract):
    """The promises of `beliefd.stores.projections.ProjectionStore`."""

    # -- rows come with their events -----------------------------------------------------------------

    @promise
    async def test_rows_are_stored_with_the_events_and_later_ones_replace_earlier(self, store: Store) -> None:
        assert sets(rows_of("s")).keys() == NOTHING.keys(), "these tests know no rows of a projection"
        assert await stored(store, "s") == NOTHING
        await store.append(batch("s", None, chain("s", 1), projected=rows_of("s")))
        assert await stored(store, "s") == sets(rows_of("s"))
        await store.append(batch("s", await store.head("s"), [entry("s", 2)], projected=rows_of("s", "done")))
        assert await stored(store, "s") == sets(rows_of("s", "done"))
        await store.append(batch("s", await store.head("s"), [entry("s", 3)]))
        assert await stored(store, "s") == sets(rows_of("s", "done"))
        assert await stored(store, "t") == NOTHING

    @promise
    async def test_rows_of_an_append_that_failed_are_absent(self, store: Store) -> None:
        await store.append(batch("s", None, chain("s", 1), projected=rows_of("s")))
        for name, rows in rows_of("s", "lost").items():
            with raises(HeadMoved):
                await store.append(batch("s", None, chain("s", 1, "other"), projected={name: rows}))
        assert await stored(store, "s") == sets(rows_of("s"))
        works = [
            store.append(
                batch("t", None, [entry("t", 1, f"racer {n}")], projected=rows_of("t", f"racer {n}"))
            )
            for n in range(8)
        ]
        outcomes = await outcomes_of(works)
        assert await stored(store, "t") == sets(rows_of("t", f"racer {outcomes.index(None)}"))

    @promise
    async def test_rows_of_the_inbox_are_counted_by_principal_and_status(self, store: Store) -> None:
        """In all sessions; rows that are there because of nobody count for nobody."""
        for session_id in ("s", "t"):
            rows = [
                waiting(session_id, "nobody"),
                replace(waiting(session_id, "mine"), principal="agent://a"),
                replace(waiting(session_id, "done", "done"), principal="agent://a"),
                replace(waiting(session_id, "other"), principal="agent://b"),
            ]
            await store.append(batch(session_id, None, chain(session_id, 1), projected={INBOX: rows}))
        assert await store.inbox_count("agent://a", "pending") == 2
        assert await store.inbox_count("agent://a", "done") == 2
        assert await store.inbox_count("agent://c", "pending") == 0
        decided = replace(waiting("s", "mine", "done"), principal="agent://a")
        await store.replace_projection("s", await store.head("s"), INBOX, [decided])
        assert await store.inbox_count("agent://a", "pending") == 1

    @promise
    async def test_the_inbox_is_listed_by_status_page_and_time(self, store: Store) -> None:
        rows = [
            waiting("s", f"{n}", "pending" if n % 2 else "done", LATER if n < 3 else None) for n in range(6)
        ]
        await store.append(batch("s", None, chain("s", 1), projected={INBOX: rows}))
        assert await store.inbox(None, None, 10) == rows
        assert await store.inbox("pending", None, 10) == rows[1::2]
        assert await store.inbox("pending", rows[1].approval_id, 1) == [rows[3]]
        assert await store.inbox_row("s-4") == rows[4]
        assert await store.inbox_row("t-4") is None
        assert await store.inbox_due(CREATED, 10) == []
        assert sorted(row.approval_id for row in await store.inbox_due(LATER, 10)) == ["s-0", "s-1", "s-2"]

    # -- replacing them ------------------------------------------------------------------------------

    @promise
    async def test_rows_are_replaced_only_if_they_are_others(self, store: Store) -> None:
        await store.append(batch("other", None, chain("other", 1), projected=rows_of("other")))
        await store.append(batch("s", None, chain("s", 1), projected=rows_of("s", "wrong")))
        head = head_of(entry("s", 1))
        for name, right in rows_of("s", "right").items():
            for rows in (right, right[:1], (), right):
                assert await store.replace_projection("s", head, name, rows)
                assert await store.projected(name, "s") == set(rows)
                assert not await store.replace_projection("s", head, name, rows)
        assert await stored(store, "other") == sets(rows_of("other"))

    @promise
    async def test_rows_folded_at_another_head_replace_nothing(self, store: Store) -> None:
        await store.append(batch("s", None, chain("s", 1), projected=rows_of("s")))
        old = head_of(entry("s", 1))
        await store.append(batch("s", old, [entry("s", 2)]))
        for name in NOTHING:
            for session_id, expected in (("s", old), ("s", None), ("nowhere", old)):
                with raises(HeadMoved):
                    await store.replace_projection(session_id, expected, name, ())
        assert await stored(store, "s") == sets(rows_of("s"))

    @promise
    async def test_a_row_that_was_moved_to_another_session_comes_back(self, store: Store) -> None:
        mine = waiting("s", "one")
        await store.append(batch("s", None, chain("s", 1)))
        stolen = {INBOX: [InboxRow(mine.approval_id, "t", "done", LATER, LATER)]}
        await store.append(batch("t", None, chain("t", 1), projected=stolen))
        assert await store.replace_projection("s", head_of(entry("s", 1)), INBOX, [mine])
        assert await store.inbox(None, None, 10) == [mine]

    @promise
    async def test_what_a_webhook_was_told_is_known_after_the_rows_were_lost(self, store: Store) -> None:
        told, untold = waiting("s", "told"), waiting("s", "untold")
        await store.append(batch("s", None, chain("s", 1), projected={INBOX: [told, untold]}))
        assert await store.inbox_untold(10) == [told, untold]
        await store.inbox_told(told.approval_id)
        await store.inbox_told(told.approval_id)
        assert await store.inbox_untold(10) == [untold]
        head = head_of(entry("s", 1))
        for rows in ([], [told, untold]):
            assert await store.replace_projection("s", head, INBOX, rows)
        assert await store.inbox_untold(10) == [untold]

    @promise
    async def test_what_a_webhook_was_told_of_is_settled_once_it_waits_no_longer(self, store: Store) -> None:
        told, untold = waiting("s", "told"), waiting("s", "untold")
        await store.append(batch("s", None, chain("s", 1), projected={INBOX: [told, untold]}))
        await store.inbox_told(told.approval_id)
        assert await store.inbox_settled(10) == []
        ended = [InboxRow(one.approval_id, "s", "approved", one.opened_at, None) for one in (told, untold)]
        await store.append(batch("s", head_of(entry("s", 1)), [entry("s", 2)], projected={INBOX: ended}))
        assert await store.inbox_settled(10) == ended[:1]
        assert await store.inbox_settled(0) == []
        await store.inbox_forgotten(told.approval_id)
        await store.inbox_forgotten(told.approval_id)
        assert (await store.inbox_settled(10), await store.inbox_untold(10)) == ([], [])

    # -- comparing and building anew -----------------------------------------------------------------

    @promise
    async def test_a_row_that_is_missing_changed_or_extra_is_found_and_mended(self, store: Store) -> None:
        steward, session_id = await _speculated(store)
        position = await steward.positions.existing(session_id)
        right = await store.projected(GRAPH, session_id)
        assert len(right) > 1
        assert await differences(store, session_id) == []
        for wrong, expected in _damages(session_id, right):
            for name, rows in wrong.items():
                assert await store.replace_projection(session_id, position.head, name, rows)
            found = await differences(store, session_id)
            assert {(one.projection, one.row, one.problem) for one in found} == expected
            assert {one.session_id for one in found} == {session_id}
            assert set(await rebuild(store, session_id)) == wrong.keys()
            assert await differences(store, session_id) == []
            assert await store.projected(GRAPH, session_id) == right
        assert await rebuild(store, session_id) == []

    @promise
    async def test_rows_of_sessions_that_have_no_ledger_are_found_and_removed(self, store: Store) -> None:
        await store.append(batch("s", None, chain("s", 1), projected=rows_of("s")))
        assert await stray_differences(store) == []
        lost = rows_of("nowhere")
        for name, rows in lost.items():
            assert await store.strays(name) == []
            assert await store.replace_projection("nowhere", None, name, rows)
            assert await store.strays(name) == ["nowhere"]
        found = await stray_differences(store)
        assert set(found) == {
            Difference(name, "nowhere", row.key, "extra") for name, rows in lost.items() for row in rows
        }
        assert set(await remove_strays(store)) == lost.keys()
        assert await stray_differences(store) == []
        assert await stored(store, "s") == sets(rows_of("s"))

    @promise
    async def test_rebuilding_while_others_write_loses_nothing(self, store: Store) -> None:
        steward, session_id = await _speculated(store)
        writing = [
            asyncio.ensure_future(steward.submit(session_id, _idea(f"idea {n}"), AGENT)) for n in range(40)
        ]
        while not all(work.done() for work in writing):
            await asyncio.gather(rebuild(store, session_id), rebuild(store, session_id))
            assert await differences(store, session_id) == []
        await asyncio.gather(*writing)
        assert await rebuild(store, session_id) == []
        ideas = await store.nodes("speculative-hypothesis", ["c"], 100)
        assert len(ideas) == 41


def _idea(statement: str) -> Speculate:
    return Speculate(claim_id="c", hypotheses=(Alternative(statement=statement),))


async def _speculated(store: Store) -> tuple[Steward, str]:
    """A session of which the graph knows something."""
    steward = bootstrap(store).steward
    begun = await steward.declare(DeclareSession(ontology=ONTOLOGY, hypotheses=("a", "b")), AGENT)
    session_id = begun.session.session_id
    await steward.submit(session_id, _idea("another cause"), AGENT)
    return steward, session_id


Damage = tuple[dict[str, Iterable[Row]], set[tuple[str, tuple[str, ...], str]]]


def _damages(session_id: str, graph: set[Row]) -> list[Damage]:
    """Wrong rows, and what has to be found wrong with them."""
    extra, other = waiting(session_id, "extra"), graph_of(session_id, "other")
    dropped: Damage = ({GRAPH: ()}, {(GRAPH, row.key, "missing") for row in graph})
    forged: Damage = (
        {INBOX: [extra], GRAPH: [*graph, *other]},
        {(INBOX, extra.key, "extra"), *((GRAPH, row.key, "extra") for row in other)},
    )
    node = next(row for row in graph if isinstance(row, NodeRow))
    changed: Damage = (
        {GRAPH: [*(graph - {node}), replace(node, status="forged")]},
        {(GRAPH, node.key, "changed")},
    )
    return [dropped, forged, changed]
