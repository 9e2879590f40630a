"""What is shipped for others' tests does what it says."""

import asyncio
import subprocess
import sys

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.commands import Command, verb_of
from beliefd.kernel.values import OntologyBundle
from beliefd.ledger.envelope import Sealed
from beliefd.protocol.wire import convert
from beliefd.steward.bootstrap import bootstrap
from beliefd.stores.memory import MemoryStore
from beliefd.testing.frozen import frozen_outside
from beliefd.testing.strategies import commands, declarations, ontologies
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


def test_the_contract_needs_neither_pytest_nor_hypothesis() -> None:
    program = (
        "import sys; sys.modules['hypothesis'] = sys.modules['pytest'] = None;"
        "import beliefd.testing.store_contract, beliefd.testing.frozen"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_in_a_frozen_world_the_same_story_gives_the_same_bytes() -> None:
    async def story() -> list[Sealed]:
        steward = bootstrap(MemoryStore(), environment=frozen_outside()).steward
        session_id = (await steward.declare(declaration(), ALICE)).session.session_id
        await steward.submit(session_id, eliminate("h0001"), ALICE)
        entries = await steward.store.entries(session_id)
        await steward.store.close()
        return entries

    first, second = asyncio.run(story()), asyncio.run(story())
    assert first == second
    assert len({entry.event_id for entry in first}) == 2
