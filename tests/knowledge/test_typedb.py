"""The TypeDB adapter: its schema, its queries, and exports that can be repeated and resumed."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from typedb.common.exception import TypeDBDriverException
from typedb.driver import TypeDB

from beliefd.knowledge import schema as say
from beliefd.knowledge.graph import LinkRow
from beliefd.knowledge.typedb import Cursor, GraphUnavailable, TypeDBGraph, schema
from beliefd.knowledge.typedb_queries import (
    PUT_CURSOR,
    READ_CURSOR,
    READ_SESSION_KEY,
    node_key,
    node_row,
    put_link,
    put_node,
)
from beliefd.ledger.envelope import Sealed
from beliefd.steward import knowledge
from beliefd.steward.knowledge import Exported, export
from beliefd.steward.projections.graph import all_rows
from beliefd.stores.base import Append
from beliefd.stores.memory import MemoryStore
from tests.knowledge.fake_typedb import FakeDriver, TransactionType
from tests.knowledge.story import Story, refuted, supported
from tests.knowledge.typeql import Query, Schema


def copy_in(driver: FakeDriver) -> TypeDBGraph:
    graph = TypeDBGraph(driver, TransactionType, "beliefs")
    graph.define()
    return graph


def exported(driver: FakeDriver, *stories: Story) -> Exported:
    async def run() -> Exported:
        store = MemoryStore()
        for story in stories:
            await story.write(store)
        return await export(store, copy_in(driver))

    return asyncio.run(run())


def held(driver: FakeDriver) -> tuple[list[str], list[Any]]:
    """All that is in the copy but its cursors, in an order of its own."""
    names = {
        name: (kind, owned["node-key"])
        for name, (kind, owned) in driver.data.things.items()
        if kind != "ledger-cursor"
    }
    things = [json.dumps([kind, owned], sort_keys=True) for kind, owned in driver.data.things.values()]
    links = [
        (relation, sorted((role, names[player]) for role, player in players))
        for relation, players in driver.data.links
    ]
    return sorted(thing for thing in things if "ledger-cursor" not in thing), sorted(links)


# -- schema and queries ----------------------------------------------------------------------------


def test_the_schema_file_has_the_roles_of_the_table_and_no_others() -> None:
    defined = Schema(schema())
    assert defined.plays == say.PLAYS
    assert {name: {relation.first, relation.second} for name, relation in say.RELATIONS.items()} == (
        defined.roles
    )
    assert defined.entities == {*say.KINDS, "artifact", "ledger-cursor"}


def test_every_query_we_send_fits_the_schema() -> None:
    defined = Schema(schema())
    for kind in say.KINDS:
        Query(put_node(kind), defined)
    for name, relation in say.RELATIONS.items():
        for first in relation.first_kinds:
            for second in relation.second_kinds:
                Query(put_link(name, first, second), defined)
    Query(READ_CURSOR, defined)
    Query(READ_SESSION_KEY, defined)
    Query(PUT_CURSOR, defined)


def test_every_attribute_that_a_kind_owns_is_filled() -> None:
    defined = Schema(schema())
    for kind in say.KINDS:
        assert {f"has {name} ==" for name in defined.owns(kind)} == {
            f"has {name} ==" for name in defined.attributes if f"has {name} ==" in put_node(kind)
        }


@pytest.mark.parametrize("kind", say.SPECULATIVE_KINDS)
def test_the_schema_refuses_speculation_in_the_role_of_evidence(kind: str) -> None:
    defined = Schema(schema())
    with pytest.raises(TypeDBDriverException, match="cannot play"):
        Query(put_link(say.EVIDENCE_FOR_PROPOSITION, kind, say.PROPOSITION), defined)
    with pytest.raises(TypeDBDriverException, match="cannot play"):
        Query(put_link(say.INTENT_RESTS_ON_EVIDENCE, say.INTENT, kind), defined)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("given $v: string; put $x isa session, has claim-id == $v;", "does not own"),
        ("given $v: integer; put $x isa run, has claim-id == $v;", "no value for"),
        ("given $v: string; put $x isa artifact, has node-key == $v;", "is abstract"),
        ("given $v: string; put $x isa belief, has node-key == $v;", "no type `belief`"),
        ("given $v: string; update $x has node-key == $v;", "has no type"),
        ("match $a isa run; put $l isa run-of-experiment, links (evidence: $a);", "does not relate"),
        ("match $a isa run; delete $a;", "neither a stage"),
    ],
)
def test_the_fake_is_as_strict_as_the_schema(query: str, why: str) -> None:
    with pytest.raises(TypeDBDriverException, match=why):
        Query(query, Schema(schema()))


def test_no_value_ever_stands_in_a_query() -> None:
    """INVARIANT: whatever agents write, the same few texts are sent."""
    texts: list[set[str]] = []
    hostile = '"; delete $x; #'
    for statement in ("plain words", hostile):
        driver = FakeDriver()
        story = Story(f"session {statement}")
        story.propose(f"claim {statement}", statement)
        story.speculate(f"claim {statement}", statement)
        exported(driver, story)
        (proposition,) = driver.data.of(say.PROPOSITION)
        assert proposition["statement"] == statement
        texts.append(set(driver.sent))
    assert texts[0] == texts[1]
    assert not any(hostile in text for text in texts[1])


def test_keys_of_different_nodes_differ() -> None:
    assert (
        len({node_key(*parts) for parts in (
            ("run", "a", "b,c"), ("run", "a,b", "c"), ("run", 'a","b', "c"), ("run", "a", 'b","c'),
            ("intent", "a", "b,c"), ('run","a', "b", "c"),
        )}) == 6
    )  # fmt: skip


@pytest.mark.parametrize("name", ["a", "ev-9", "run-9"])
def test_a_claim_may_have_the_name_of_anything_else(name: str) -> None:
    """Keys are unique over all kinds, names only within one."""
    story = Story("a")
    story.evidence(name)
    story.propose(name)
    taken = [node.id for node in all_rows(story.session).nodes if node.kind != say.PROPOSITION]
    story.propose(taken[-1])
    driver = FakeDriver()
    assert exported(driver, story).failed == {}
    assert {owned["artifact-id"] for owned in driver.data.of(say.PROPOSITION)} == {name, taken[-1]}
    assert len(held(driver)[0]) == len(all_rows(story.session).nodes)
    assert len(held(driver)[1]) == len(all_rows(story.session).links)


def test_the_driver_itself_takes_every_row_we_make() -> None:
    for story in (supported(), refuted()):
        for node in all_rows(story.session).nodes:
            assert TypeDB.Concept.given_rows_from_map([node_row(node)]) is not None


def test_a_string_with_nul_in_it_is_not_cut() -> None:
    story = Story()
    story.propose("c", "before\x00after")
    driver = FakeDriver()
    exported(driver, story)
    (proposition,) = driver.data.of(say.PROPOSITION)
    assert proposition["statement"] == "before\ufffdafter"
    assert json.loads(proposition["document"])["statement"] == "before\x00after"


# -- exports ---------------------------------------------------------------------------------------


def test_an_export_holds_every_node_and_link_of_every_ledger() -> None:
    stories = (supported("a", 1), refuted("b", 2))
    driver = FakeDriver()
    assert exported(driver, *stories) == Exported(2, sum(len(story.entries) for story in stories))
    rows = [all_rows(story.session) for story in stories]
    things, links = held(driver)
    assert len(things) == sum(len(one.nodes) for one in rows)
    assert len(links) == sum(len(one.links) for one in rows)
    documents = {
        owned["document"].encode() for _, owned in driver.data.things.values() if "document" in owned
    }
    assert documents == {node.document for one in rows for node in one.nodes}


def test_exporting_twice_changes_nothing_and_reads_no_ledger_again() -> None:
    driver, story = FakeDriver(), supported()
    exported(driver, story)
    before, writes = held(driver), driver.writes

    class Unread(MemoryStore):
        async def stream(self, session_id: str, after: int = 0) -> AsyncIterator[list[Sealed]]:
            raise AssertionError("a ledger that has not grown was read again")
            yield []

    async def again() -> Exported:
        store = Unread()
        await story.write(store)
        return await export(store, copy_in(driver))

    assert asyncio.run(again()) == Exported(1, 0)
    assert (held(driver), driver.writes) == (before, writes)


def test_rows_that_are_written_twice_are_there_once() -> None:
    driver, story = FakeDriver(), supported()
    graph = copy_in(driver)
    for _ in range(2):
        graph.write("s", all_rows(story.session), Cursor(seq=1, hash="h"))
    once = FakeDriver()
    copy_in(once).write("s", all_rows(story.session), Cursor(seq=1, hash="h"))
    assert held(driver) == held(once)


@pytest.mark.parametrize("fail_at", range(1, 8))
def test_an_export_that_breaks_off_goes_on_where_it_was(
    fail_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knowledge, "EVENTS_PER_WRITE", 3)
    stories = (supported("a", 1), refuted("b", 2))
    whole = FakeDriver()
    total = exported(whole, *stories).events
    broken = FakeDriver(fail_at=fail_at)
    first = exported(broken, *stories)
    (why,) = first.failed.values()
    assert "connection was lost" in why
    done = sum(owned["last-seq"] for owned in broken.data.of("ledger-cursor"))
    assert first.events == done
    assert exported(broken, *stories) == Exported(2, total - done)
    assert held(broken) == held(whole)


@pytest.mark.parametrize("bad", ["a", "b", "c"])
def test_a_session_that_cannot_be_exported_stops_no_other(bad: str) -> None:
    stories = {name: supported(name, lane) for lane, name in enumerate("abc", 1)}
    driver = FakeDriver()
    exported(driver, supported(bad, 9))  # the copy has another ledger of this name
    left = exported(driver, *stories.values())
    assert list(left.failed) == [bad]
    assert "another ledger" in left.failed[bad]
    assert (left.sessions, left.broken) == (3, {})
    others = [story for name, story in stories.items() if name != bad]
    assert left.events == sum(len(story.entries) for story in others)
    alone = FakeDriver()
    exported(alone, *others)
    assert {*held(alone)[0]} < {*held(driver)[0]}


def test_a_ledger_that_does_not_verify_stops_no_other() -> None:
    class Forged(MemoryStore):
        async def stream(self, session_id: str, after: int = 0) -> AsyncIterator[list[Sealed]]:
            async for chunk in super().stream(session_id, after):
                yield chunk[1:] if session_id == "a" else chunk

    async def run() -> Exported:
        store = Forged()
        for story in (supported("a", 1), supported("b", 2)):
            await story.write(store)
        return await export(store, copy_in(FakeDriver()))

    left = asyncio.run(run())
    assert (list(left.broken), left.failed) == (["a"], {})
    assert left.events == len(supported("b", 2).entries)


def test_a_copy_that_does_not_answer_at_all_stops_the_export() -> None:
    driver = FakeDriver()
    graph = copy_in(driver)

    async def run() -> Exported:
        store = MemoryStore()
        for story in (supported("a", 1), supported("b", 2)):
            await story.write(store)
        driver.names.clear()
        return await export(store, graph)

    with pytest.raises(GraphUnavailable, match="no database"):
        asyncio.run(run())


def test_a_copy_with_keys_of_an_earlier_form_is_not_gone_on_with() -> None:
    driver, story = FakeDriver(), supported("a", 1)
    exported(driver, story)
    (session,) = driver.data.of(say.SESSION)
    session["node-key"] = '["a","a"]'
    story.propose("more")
    assert "export to a new database" in exported(driver, story).failed["a"]


def test_a_grown_ledger_brings_only_what_is_new() -> None:
    async def run() -> None:
        story, store, driver = Story("a"), MemoryStore(), FakeDriver()
        story.propose("c")
        name = story.evidence("c")
        await story.write(store)
        copy = copy_in(driver)
        await export(store, copy)
        (proposition,) = driver.data.of(say.PROPOSITION)
        assert proposition["epistemic-status"] == "unresolved"
        at, head = len(story.entries), story.head
        story.promote("c", "supported", [name])
        await store.append(Append("a", head, story.entries[at:], ""))
        assert await export(store, copy) == Exported(1, len(story.entries) - at)
        (proposition,) = driver.data.of(say.PROPOSITION)
        assert proposition["epistemic-status"] == proposition["artifact-status"] == "supported"
        (cursor,) = driver.data.of("ledger-cursor")
        assert (cursor["last-seq"], cursor["event-hash"]) == (story.head.seq, story.head.hash)

    asyncio.run(run())


def test_a_copy_does_not_go_on_with_another_ledger_of_the_same_name() -> None:
    driver = FakeDriver()
    exported(driver, supported("a", 1))
    longer, shorter = supported("a", 2), Story("a", 1)
    longer.propose("more")
    before = held(driver)
    for other in (longer, shorter):
        assert "another ledger" in exported(driver, other).failed["a"]
    assert held(driver) == before


def test_a_link_that_the_schema_does_not_allow_takes_the_whole_write_back() -> None:
    driver, story = FakeDriver(), supported()
    graph = copy_in(driver)
    rows = all_rows(story.session)
    (idea, *_) = [node for node in rows.nodes if node.kind == say.SPECULATIVE_HYPOTHESIS]
    forged = LinkRow(say.EVIDENCE_FOR_PROPOSITION, "s", idea.kind, idea.id, say.PROPOSITION, "c")
    with pytest.raises(GraphUnavailable, match="cannot play"):
        graph.write("s", type(rows)(rows.nodes, (*rows.links, forged)), Cursor(seq=9, hash="h"))
    assert driver.data.things == {}
    assert graph.cursor("s") is None
