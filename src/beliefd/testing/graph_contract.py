"""What every store promises about the graph; part of `ProjectionContract`."""

import asyncio
from typing import Any

from beliefd.kernel.canonical import canonical
from beliefd.knowledge import schema as say
from beliefd.knowledge.graph import GraphRows, LinkRefused, LinkRow, NodeRow, in_order
from beliefd.ledger.envelope import head_of
from beliefd.stores.base import HeadMoved, Store
from beliefd.stores.projections import GRAPH
from beliefd.testing.appends import batch, chain, entry, raises
from beliefd.testing.promises import promise
from beliefd.testing.store_contract import AWKWARD_TEXTS, IDS_IN_BYTE_ORDER, StoreContract


def node(
    kind: str, session_id: str, name: str, status: str = "", text: str = "", claim: str = "c"
) -> NodeRow:
    claim_id = name if kind == say.PROPOSITION else claim
    return NodeRow(kind, session_id, name, claim_id, status, canonical({"text": text}))


def link(relation: str, session_id: str, first: NodeRow, second: NodeRow) -> LinkRow:
    return LinkRow(relation, session_id, first.kind, first.id, second.kind, second.id)


def graph_of(session_id: str, text: str = "") -> GraphRows:
    """A proposition with a piece of evidence and an idea that targets it."""
    proposition = node(say.PROPOSITION, session_id, "c", "supported", text)
    evidence = node(say.VALIDATION_EVIDENCE, session_id, "ev", "support", text)
    idea = node(say.SPECULATIVE_HYPOTHESIS, session_id, "shyp", "speculative", text)
    return in_order(
        [proposition, evidence, idea],
        [
            link(say.EVIDENCE_FOR_PROPOSITION, session_id, evidence, proposition),
            link(say.HYPOTHESIS_TARGETS_PROPOSITION, session_id, idea, proposition),
        ],
    )


async def begin(store: Store, session_id: str, graph: GraphRows, **rest: Any) -> None:
    await store.append(batch(session_id, None, chain(session_id, 1), projected={GRAPH: tuple(graph)}, **rest))


class GraphContract(StoreContract):
    """The promises of the graph's part of `beliefd.stores.projections.ProjectionStore`."""

    @promise
    async def test_a_new_store_has_an_empty_graph(self, store: Store) -> None:
        assert await store.projected(GRAPH, "s") == set()
        assert await store.node_ids(say.PROPOSITION, (), None, 10) == []
        assert await store.nodes(say.PROPOSITION, ["c"], 10) == []
        assert await store.links(say.EVIDENCE_FOR_PROPOSITION, "c") == []

    @promise
    async def test_the_graph_comes_back_byte_for_byte_with_its_append(self, store: Store) -> None:
        written = graph_of("s", "".join(AWKWARD_TEXTS))
        await begin(store, "s", written)
        assert await store.projected(GRAPH, "s") == set(written)
        assert await store.projected(GRAPH, "t") == set()

    @promise
    async def test_a_node_changes_and_a_link_stays_one(self, store: Store) -> None:
        await begin(store, "s", graph_of("s", "before"))
        later = graph_of("s", "after")
        await store.append(
            batch("s", head_of(entry("s", 1)), [entry("s", 2)], projected={GRAPH: tuple(later)})
        )
        assert await store.projected(GRAPH, "s") == set(later)

    @promise
    async def test_an_append_that_lost_its_race_leaves_the_graph_alone(self, store: Store) -> None:
        await begin(store, "s", graph_of("s", "first"))
        with raises(HeadMoved):
            await begin(store, "s", graph_of("s", "second"))
        assert await store.projected(GRAPH, "s") == set(graph_of("s", "first"))

    # -- roles -------------------------------------------------------------------------------------

    @promise
    async def test_a_speculative_hypothesis_cannot_play_evidence(self, store: Store) -> None:
        """INVARIANT: neither as evidence for a proposition nor as what an intent rests on."""
        for kind in say.SPECULATIVE_KINDS:
            idea, proposition = node(kind, "s", "idea"), node(say.PROPOSITION, "s", "c")
            intent = node(say.INTENT, "s", "i")
            for wrong in (
                link(say.EVIDENCE_FOR_PROPOSITION, "s", idea, proposition),
                link(say.INTENT_RESTS_ON_EVIDENCE, "s", intent, idea),
                link(say.EVIDENCE_FROM_RUN, "s", idea, proposition),
            ):
                with raises(LinkRefused):
                    await begin(store, "s", in_order([idea, proposition, intent], [wrong]))
        await _nothing(store, "s")

    @promise
    async def test_only_the_kinds_in_the_table_may_play_a_role(self, store: Store) -> None:
        for name, relation in say.RELATIONS.items():
            first = node(relation.first_kinds[0], "s", "one")
            for kind in sorted(set(say.KINDS) - set(relation.second_kinds)):
                second = node(kind, "s", "two")
                with raises(LinkRefused):
                    await begin(store, "s", in_order([first, second], [link(name, "s", first, second)]))
        await _nothing(store, "s")

    @promise
    async def test_every_role_in_the_table_can_be_played(self, store: Store) -> None:
        nodes = [node(kind, "s", f"{n}") for kind in say.KINDS for n in (1, 2)]
        links = [
            LinkRow(name, "s", first, "1", second, "2")
            for name, relation in say.RELATIONS.items()
            for first in relation.first_kinds
            for second in relation.second_kinds
        ]
        await begin(store, "s", in_order(nodes, links))
        assert await store.projected(GRAPH, "s") == set(in_order(nodes, links))

    @promise
    async def test_a_relation_that_is_not_in_the_table_is_refused(self, store: Store) -> None:
        one, two = node(say.VALIDATION_EVIDENCE, "s", "ev"), node(say.PROPOSITION, "s", "c")
        with raises(LinkRefused):
            await begin(store, "s", in_order([one, two], [link("truth-by-decree", "s", one, two)]))
        await _nothing(store, "s")

    @promise
    async def test_a_link_needs_both_its_players_in_its_own_session(self, store: Store) -> None:
        await begin(store, "other", graph_of("other"))
        evidence = node(say.VALIDATION_EVIDENCE, "s", "ev2")
        dangling = LinkRow(say.EVIDENCE_FOR_PROPOSITION, "s", evidence.kind, "ev2", say.PROPOSITION, "c")
        with raises(LinkRefused):
            await begin(store, "s", in_order([evidence], [dangling]))
        await _nothing(store, "s")

    @promise
    async def test_a_refused_link_does_not_spoil_the_appends_beside_it(self, store: Store) -> None:
        idea, proposition = node(say.SPECULATIVE_HYPOTHESIS, "bad", "x"), node(say.PROPOSITION, "bad", "c")
        wrong = in_order([idea, proposition], [link(say.EVIDENCE_FOR_PROPOSITION, "bad", idea, proposition)])
        outcomes = await asyncio.gather(
            *(begin(store, f"good {n}", graph_of(f"good {n}")) for n in range(4)),
            begin(store, "bad", wrong),
            *(begin(store, f"good {n}", graph_of(f"good {n}")) for n in range(4, 8)),
            return_exceptions=True,
        )
        assert [type(one) for one in outcomes if one is not None] == [LinkRefused]
        await _nothing(store, "bad")
        for n in range(8):
            assert await store.projected(GRAPH, f"good {n}") == set(graph_of(f"good {n}"))

    # -- questions ---------------------------------------------------------------------------------

    @promise
    async def test_ids_are_listed_once_each_in_byte_order_by_status_and_page(self, store: Store) -> None:
        for n, session_id in enumerate(("s", "t")):
            rows = [
                node(say.PROPOSITION, session_id, name, ("supported", "refuted")[(at + n) % 2])
                for at, name in enumerate(IDS_IN_BYTE_ORDER)
            ]
            await begin(store, session_id, in_order([*rows, node(say.RUN, session_id, "A", "supported")], []))
        everything = list(IDS_IN_BYTE_ORDER)
        assert await store.node_ids(say.PROPOSITION, (), None, 100) == everything
        assert await store.node_ids(say.PROPOSITION, ("supported",), None, 100) == everything
        assert await store.node_ids(say.PROPOSITION, ("refuted", "supported"), None, 100) == everything
        assert await store.node_ids(say.PROPOSITION, ("proven",), None, 100) == []
        paged: list[str] = []
        while page := await store.node_ids(say.PROPOSITION, (), paged[-1] if paged else None, 5):
            paged += page
        assert paged == everything

    @promise
    async def test_nodes_are_found_by_claim_in_all_sessions(self, store: Store) -> None:
        for session_id in ("t", "s"):
            rows = [
                node(say.VALIDATION_EVIDENCE, session_id, f"ev-{claim}", claim=claim) for claim in ("b", "a")
            ]
            await begin(store, session_id, in_order(rows, []))
        found = await store.nodes(say.VALIDATION_EVIDENCE, ["a", "b", "z"], 10)
        assert [(row.claim_id, row.session_id) for row in found] == [
            ("a", "s"),
            ("a", "t"),
            ("b", "s"),
            ("b", "t"),
        ]
        assert await store.nodes(say.VALIDATION_EVIDENCE, ["a", "b"], 3) == found[:3]
        assert await store.nodes(say.VALIDATION_EVIDENCE, ["a", "b"], 2**62) == found
        assert await store.nodes(say.NEGATIVE_EVIDENCE, ["a"], 10) == []
        assert await store.any_node(say.VALIDATION_EVIDENCE)
        assert not await store.any_node(say.NEGATIVE_EVIDENCE)
        assert await store.nodes(say.VALIDATION_EVIDENCE, [], 10) == []

    @promise
    async def test_links_are_found_by_whom_they_point_at(self, store: Store) -> None:
        for session_id in ("t", "s"):
            await begin(store, session_id, graph_of(session_id))
        found = await store.links(say.EVIDENCE_FOR_PROPOSITION, "c")
        assert [(one.session_id, one.first_id) for one in found] == [("s", "ev"), ("t", "ev")]
        assert await store.links(say.EVIDENCE_FOR_PROPOSITION, "ev") == []

    @promise
    async def test_questions_with_text_that_no_store_can_hold_find_nothing(self, store: Store) -> None:
        await begin(store, "s", graph_of("s"))
        for text in ("\x00", "\ud800"):
            assert await store.nodes(say.PROPOSITION, [text], 10) == []
            assert await store.links(say.EVIDENCE_FOR_PROPOSITION, text) == []
            assert await store.projected(GRAPH, text) == set()


async def _nothing(store: Store, session_id: str) -> None:
    assert await store.head(session_id) is None
    assert await store.projected(GRAPH, session_id) == set()
