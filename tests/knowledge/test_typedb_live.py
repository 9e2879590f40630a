"""The same promises against a TypeDB that runs: collected only when TYPEDB_ADDRESS names one.

The password comes from the address or from TYPEDB_PASSWORD. Each test makes a database of its own in that
server and deletes it; the database that the address names is left alone.
"""

import asyncio
import os
import uuid
from collections.abc import Iterator

import pytest
from msgspec.structs import replace
from typedb.driver import TransactionType

from beliefd.knowledge import schema as say
from beliefd.knowledge.graph import LinkRow
from beliefd.knowledge.typedb import Cursor, GraphUnavailable, TypeDBGraph, parse_address
from beliefd.steward.knowledge import Exported, export
from beliefd.steward.projections.graph import all_rows
from beliefd.stores.base import Append
from beliefd.stores.memory import MemoryStore
from tests.knowledge.story import Story, refuted, supported


@pytest.fixture
def graph() -> Iterator[TypeDBGraph]:
    address = parse_address(os.environ["TYPEDB_ADDRESS"])
    password = address.password or os.environ["TYPEDB_PASSWORD"]
    own = replace(address, database=f"beliefd-test-{uuid.uuid4().hex}")
    opened = TypeDBGraph.open(own, password)
    yield opened
    opened._driver.databases.get(own.database).delete()
    opened.close()


def counted(graph: TypeDBGraph, kind: str) -> int:
    with graph._driver.transaction(graph._database, TransactionType.READ) as transaction:
        answer = transaction.query(f"match $x isa! {kind};").resolve()
        return len(list(answer.as_concept_rows()))


def test_the_schema_can_be_defined_again(graph: TypeDBGraph) -> None:
    graph.define()


def test_an_export_holds_every_node_and_link_and_can_be_repeated(graph: TypeDBGraph) -> None:
    async def run() -> None:
        store, stories = MemoryStore(), (supported("a", 1), refuted("b", 2))
        for story in stories:
            await story.write(store)
        assert (await export(store, graph)).events == sum(len(story.entries) for story in stories)
        assert await export(store, graph) == Exported(2, 0)
        for story in stories:  # written again in spite of the cursor
            place = Cursor(seq=story.head.seq, hash=story.head.hash)
            graph.write(story.session.session_id, all_rows(story.session), place)
        rows = [all_rows(story.session) for story in stories]
        for kind in say.KINDS:
            assert counted(graph, kind) == sum(node.kind == kind for one in rows for node in one.nodes)
        for name in say.RELATIONS:
            assert counted(graph, name) == sum(link.relation == name for one in rows for link in one.links)

    asyncio.run(run())


def test_a_grown_ledger_changes_what_is_there(graph: TypeDBGraph) -> None:
    async def run() -> None:
        story, store = Story("a"), MemoryStore()
        name = story.evidence("c")
        story.propose("c", 'words "; delete $x; #')
        await story.write(store)
        await export(store, graph)
        at, head = len(story.entries), story.head
        story.promote("c", "supported", [name])
        await store.append(Append("a", head, story.entries[at:], ""))
        assert (await export(store, graph)).events == len(story.entries) - at
        assert graph.cursor("a") == Cursor(seq=story.head.seq, hash=story.head.hash)
        assert counted(graph, say.PROPOSITION) == 1

    asyncio.run(run())


def test_a_claim_may_have_the_name_of_its_session(graph: TypeDBGraph) -> None:
    async def run() -> None:
        story, store = Story("a"), MemoryStore()
        story.propose("a")
        await story.write(store)
        assert await export(store, graph) == Exported(1, len(story.entries))
        assert counted(graph, say.SESSION_HAS_PROPOSITION) == 1

    asyncio.run(run())


def test_the_server_refuses_speculation_in_the_role_of_evidence(graph: TypeDBGraph) -> None:
    rows = all_rows(supported().session)
    idea = next(node for node in rows.nodes if node.kind == say.SPECULATIVE_HYPOTHESIS)
    forged = LinkRow(say.EVIDENCE_FOR_PROPOSITION, "s", idea.kind, idea.id, say.PROPOSITION, "c")
    with pytest.raises(GraphUnavailable):
        graph.write("s", type(rows)(rows.nodes, (*rows.links, forged)), Cursor(seq=9, hash="h"))
    assert graph.cursor("s") is None
    assert counted(graph, say.PROPOSITION) == 0
