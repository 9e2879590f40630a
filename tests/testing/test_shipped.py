"""What is shipped for others' tests does what it says."""

import asyncio
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.commands import Command, verb_of
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import OntologyBundle, Role
from beliefd.ledger.envelope import Sealed, read
from beliefd.protocol.wire import convert
from beliefd.steward.bootstrap import bootstrap
from beliefd.stores.memory import MemoryStore
from beliefd.testing.frozen import frozen_environment
from beliefd.testing.strategies import commands, declarations, ontologies
from beliefd.testing.world import AGENT, BY_ROLE, NOW, World, refused
from tests.steward.places import ALICE, declaration, eliminate


@given(st.one_of(commands(["a", "b"]), declarations(ontology=ontologies)))
def test_every_command_that_the_strategies_make_would_pass_the_wire(command: Command) -> None:
    body = msgspec.to_builtins(command)
    assert body.pop("verb") == verb_of(command)
    assert convert(body, type(command)) == command


@given(ontologies)
def test_ontologies_are_declared_as_they_are(ontology: OntologyBundle) -> None:
    declared = DeclareSession(ontology=ontology, hypotheses=("h",))
    assert msgspec.json.decode(msgspec.json.encode(declared), type=DeclareSession) == declared


def test_strategies_without_hypothesis_say_what_to_install() -> None:
    program = "import sys; sys.modules['hypothesis'] = None; import beliefd.testing.strategies"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "pip install hypothesis" in answer.stderr


def test_contract_and_world_need_neither_pytest_nor_hypothesis() -> None:
    program = (
        "import sys; sys.modules['hypothesis'] = sys.modules['pytest'] = None;"
        "import beliefd.testing.store_contract, beliefd.testing.kernel, beliefd.testing.world"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_in_a_frozen_world_the_same_story_gives_the_same_bytes() -> None:
    async def story() -> list[Sealed]:
        steward = bootstrap(MemoryStore(), environment=frozen_environment()).steward
        session_id = (await steward.declare(declaration(), ALICE)).session.session_id
        await steward.submit(session_id, eliminate("h0001"), ALICE)
        entries = await steward.store.entries(session_id)
        await steward.store.close()
        return entries

    first, second = asyncio.run(story()), asyncio.run(story())
    assert first == second
    assert len({entry.event_id for entry in first}) == 2


def test_a_world_is_spoken_to_by_every_role_and_each_is_known_by_its_name() -> None:
    with World() as world:
        session_id = world.session()
        for principal in BY_ROLE.values():
            world.submit(session_id, eliminate("h1"), principal)
        heard = [read(entry.record).actor for entry in world.entries(session_id)]
        assert [actor.id for actor in heard] == [AGENT.id, *(one.id for one in BY_ROLE.values())]
        assert BY_ROLE.keys() == set(Role)


def test_in_a_world_time_stands_still_until_it_is_moved_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    world = World(tmp_path / "ledger.db")
    session_id = world.session()
    world.clock.advance(90)
    with world.restarted() as again:
        again.eliminate(session_id, source_id="s", observation_id="o", eliminated=["h1"])
        times = [read(entry.record).ts for entry in again.entries(session_id)]
        assert times == [NOW, "2026-01-01T00:01:30.000000Z"]
        assert len({entry.event_id for entry in again.entries(session_id)}) == 2
        again.check(session_id)


def test_a_refusal_with_another_code_or_none_at_all_is_not_taken_for_the_expected_one() -> None:
    with World() as world:
        assert "nowhere" in refused(Code.SESSION_NOT_FOUND, lambda: world.query_belief("nowhere")).message
        with pytest.raises(BeliefdError):
            refused(Code.CONFLICT, lambda: world.query_belief("nowhere"))
        with pytest.raises(AssertionError, match="not refused"):
            refused(Code.CONFLICT, world.session)
