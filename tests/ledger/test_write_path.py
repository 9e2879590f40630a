"""Laws 4, 5 and 7 as far as the write path keeps them: one way in, nothing on refusal, all or nothing."""

import ast
import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import beliefd
from beliefd.client.requests import Request
from beliefd.kernel.beliefs.commands import DeclareConclusion
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger.replay import fold
from beliefd.protocol.operations import BY_NAME
from beliefd.stores.base import Append, HeadMoved, StorageUnavailable
from beliefd.stores.memory import MemoryStore
from beliefd.stores.sqlite import SqliteStore
from beliefd.testing.strategies import stories
from beliefd.testing.world import ONTOLOGY, ROOT, World
from tests.ledger.test_replay import Story

SOURCE = Path(beliefd.__file__).parent


def test_law_4_two_functions_append_and_both_decide_or_verify_first() -> None:
    """INVARIANT: the steward's turn decides, the import re-decides; nothing else reaches `store.append`."""
    callers = set()
    for path in SOURCE.rglob("*.py"):
        if path.is_relative_to(SOURCE / "testing"):
            continue  # the contract that stores are shipped with
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                callers |= {
                    f"{path.relative_to(SOURCE)}:{function.name}"
                    for node in ast.walk(function)
                    if isinstance(node, ast.Attribute)
                    and node.attr == "append"
                    and isinstance(node.value, ast.Attribute)
                    and node.value.attr in ("store", "_store")
                }
    assert callers == {"steward/write/turn.py:write", "steward/handlers/transfer.py:import_ledger"}


@settings(max_examples=50)
@given(stories())
def test_law_5_a_refusal_is_recorded_and_leaves_survivors_and_state_as_they_were(story: Story) -> None:
    with World() as world:
        session_id = world.declare(story[0])
        for command, known in story[1]:
            before = world.query_belief(session_id)
            outcome = world.submit(session_id, command, known.principal)
            after = world.query_belief(session_id)
            assert after.seq == before.seq + 1
            if outcome.event.__struct_config__.tag == "refused":
                assert unplaced(after) == unplaced(before)


def unplaced(snapshot: Any) -> tuple[Any, ...]:
    """A snapshot without its place in the chain."""
    return (
        snapshot.survivors_hash,
        snapshot.status,
        snapshot.obligations,
        snapshot.conclusions,
        snapshot.active_obligation_id,
    )


BAD_BODIES: list[dict[str, Any]] = [
    {},
    {"source_id": "s", "observation_id": "o", "eliminated": ["a"]},
    {"source_id": "s", "observation_id": "o", "eliminated": "a", "justification": {}},
    {"source_id": "s", "observation_id": "o", "eliminated": [1], "justification": {}},
    {"source_id": "", "observation_id": "o", "eliminated": [], "justification": {}},
    {"source_id": "s\n", "observation_id": "o", "eliminated": [], "justification": {}},
    {"source_id": "s" * 513, "observation_id": "o", "eliminated": [], "justification": {}},
    {"source_id": "s", "observation_id": "o", "eliminated": ["\x00"], "justification": {}},
    {"source_id": "s", "observation_id": "o", "eliminated": [], "justification": {}, "more": 1},
    {"source_id": "s", "observation_id": "o", "eliminated": [], "justification": []},
    {"source_id": "s", "observation_id": "o", "eliminated": [], "justification": {"n": float("nan")}},
    {"source_id": "s", "observation_id": "o", "eliminated": [], "justification": {"n": 2**53}},
    {"source_id": "s", "observation_id": "o", "eliminated": [], "justification": {"n": 1e20}},
    {"source_id": "s", "observation_id": "o", "eliminated": [], "justification": {"t": "\ud800"}},
    {"source_id": "s", "observation_id": "o", "eliminated": ["\ud800"], "justification": {}},
]


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"deeper": value}
    return value


@pytest.mark.parametrize("body", BAD_BODIES, ids=range(len(BAD_BODIES)))
def test_what_does_not_parse_as_a_command_is_answered_and_not_recorded(body: dict[str, Any]) -> None:
    with World() as world:
        session_id = world.declare_session(["a", "b"], ONTOLOGY).session_id
        with pytest.raises(BeliefdError) as caught:
            world._send(Request(BY_NAME["eliminate"], {"session_id": session_id}, {}, body))
        assert caught.value.code is Code.INVALID_REQUEST
        assert "path" in (caught.value.details or {})
        assert world.query_belief(session_id).seq == 1


def test_a_value_is_accepted_to_the_depth_at_which_its_record_can_be_verified() -> None:
    """The record nests a payload one level deeper than the body did."""
    with World() as world:
        session_id = world.declare_session(["a", "b"], ONTOLOGY).session_id

        def justify(levels: int) -> None:
            world.eliminate(
                session_id, source_id="s", observation_id="o", eliminated=[], justification=nested(levels)
            )

        justify(62)
        for levels in (63, 64, 200):
            with pytest.raises(BeliefdError, match="nested deeper") as caught:
                justify(levels)
            assert caught.value.code is Code.INVALID_REQUEST
        assert world.verify(session_id).ok


def test_one_callers_bad_value_does_not_fail_the_calls_beside_it() -> None:
    with World() as world:
        session_id = world.declare_session(["a", "b"], ONTOLOGY).session_id

        async def together() -> list[Any]:
            contexts: list[dict[str, Any]] = [{}, {"n": float("inf")}, {"t": "\udfff"}, {}]
            calls = [
                world.steward.submit(session_id, DeclareConclusion(conclusion_id="c", context=context), ROOT)
                for context in contexts
            ]
            return await asyncio.gather(*calls, return_exceptions=True)

        outcomes = world.run(together)
        assert [isinstance(outcome, BeliefdError) for outcome in outcomes] == [False, True, True, False]
        assert world.query_belief(session_id).seq == 3
        assert world.verify(session_id).ok


class Flaky(MemoryStore):
    """Fails when told to: before writing, or after (the answer is lost, the entry is not)."""

    def __init__(self) -> None:
        super().__init__()
        self.plan: list[str] = []

    async def append(self, batch: Append) -> None:
        if await self.head(batch.session_id) != batch.expected:
            raise HeadMoved(batch.session_id)
        fate = self.plan.pop(0) if self.plan else "works"
        if fate == "fails":
            raise StorageUnavailable("disk full")
        await super().append(batch)
        if fate == "answer lost":
            raise StorageUnavailable("connection lost")


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["works", "fails", "answer lost"]), max_size=12))
def test_law_7_what_was_acknowledged_is_stored_and_what_was_not_is_whole_or_absent(plan: list[str]) -> None:
    store = Flaky()
    acknowledged: list[str] = []
    with World() as world:
        world.forget(store)
        session_id = world.declare_session(["a", "b"], ONTOLOGY).session_id
        store.plan = list(plan)
        for at, fate in enumerate(plan):
            if fate == "works":
                acknowledged.append(world.declare_conclusion(session_id, f"c{at}").audit_event_id)
                continue
            with pytest.raises(BeliefdError) as caught:
                world.declare_conclusion(session_id, f"c{at}")
            assert caught.value.code is Code.STORAGE_UNAVAILABLE
        stored = [entry.event_id for entry in world.entries(session_id)]
        assert [event_id for event_id in stored if event_id in acknowledged] == acknowledged
        assert len(stored) == 1 + sum(fate != "fails" for fate in plan)
        assert world.verify(session_id).ok
        assert world.query_belief(session_id).seq == len(stored)


def test_law_7_an_answer_comes_after_its_event_is_in_the_file(tmp_path: Path) -> None:
    """Another reader of the same file, asked right after each answer, finds the event and its chain whole."""

    async def read(path: Path, session_id: str) -> list[str]:
        store = await SqliteStore.open(path)
        entries = await store.entries(session_id)
        await store.close()
        assert fold(entries) is not None
        return [entry.event_id for entry in entries]

    path = tmp_path / "b.db"
    with beliefd.open(path) as writer:
        session_id = writer.declare_session(["a", "b", "c"], ONTOLOGY).session_id
        for at in range(5):
            answer = writer.declare_conclusion(session_id, f"c{at}")
            assert asyncio.run(read(path, session_id))[-1] == answer.audit_event_id
