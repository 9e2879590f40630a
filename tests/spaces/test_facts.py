"""What a decision rests on comes from the space of its session; and the one question that feeds ask again."""

from collections.abc import Iterator

import pytest

from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import DEFAULT_SPACE, Role
from beliefd.testing.world import AGENT, BOB, ONTOLOGY, World
from tests.claims.support import PAPER, PAPER_HASH, bundle, claim
from tests.spaces.support import LAB, with_rights

SAID = bundle(claim("DELETE", statement="remove the old table"))


@pytest.fixture
def world() -> Iterator[World]:
    with World() as made:
        made.root.create_space(LAB)
        yield made


def session_in(world: World, space: str) -> str:
    return world.agent.declare_session(["h1", "h2"], ONTOLOGY, space=space).session_id


def test_words_that_people_rejected_are_told_in_their_space_only(world: World) -> None:
    world.ann.reject(world.agent.submit_claims(session_in(world, LAB), SAID))
    for space, told in ((LAB, True), (DEFAULT_SPACE, False)):
        session_id = session_in(world, space)
        world.agent.submit_claims(session_id, SAID)
        facts = world.agent.audit_trace(session_id).events[-1]["facts"]
        assert bool(facts["rejected"]) is told
    for rights, told in (("lab=read", True), ("default=read", False)):
        tried = world.person(*with_rights(Role.AGENT, rights)).check_claims(SAID)
        assert ("rejected" in str(tried.gates)) is told, tried.gates


def test_content_of_another_space_is_no_evidence_and_names_nobody(world: World) -> None:
    world.bob.store_content(PAPER, space=LAB)
    for space, found in ((LAB, [BOB.id]), (DEFAULT_SPACE, [])):
        session_id = session_in(world, space)
        world.agent.submit_claims(session_id, bundle(claim(kind="FACT")))
        facts = world.agent.audit_trace(session_id).events[-1]["facts"]
        assert list(facts["content"]) == ([PAPER_HASH] if found else [])
        assert [one["id"] for one in facts.get("brought", {}).get(PAPER_HASH, [])] == found


def test_a_session_that_was_declared_elsewhere_is_looked_up_once(world: World) -> None:
    """Another process has declared it: nothing is known here until the first question."""
    session_id = session_in(world, LAB)
    world.forget()
    reader = world.person(AGENT, with_rights(Role.AGENT, "lab=read")[1])
    asked = 0
    look = world.store.space_of

    async def counted(session_id: str) -> str | None:
        nonlocal asked
        asked += session_id != SYSTEM
        return await look(session_id)

    world.store.space_of = counted  # type: ignore[method-assign]
    for _ in range(5):
        assert reader.query_belief(session_id).session_id == session_id
    assert asked == 2, "for the rights of who asks, and when its chain is followed"
