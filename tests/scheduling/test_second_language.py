"""Modes, interrupts and episodes fold to the same state in the second language."""

from pathlib import Path

import pytest

from beliefd.kernel.policy import Policy
from beliefd.kernel.values import later
from beliefd.ledger.state_hash import STATE_HASH_EVERY, state_document
from beliefd.testing.world import OTHER_AGENT, policy
from beliefd.tools.registry import ToolResult
from tests.substrate.support import ALLOW_ALL, ToolWorld, deny, tool_call
from tests.substrate.test_second_language import verifies_elsewhere


def scheduled(version: int) -> Policy:
    return policy(
        constraints={"constraint.all": ALLOW_ALL, "constraint.busy": deny("calc.add", on_fail="degrade")},
        scheduling={
            "episode": {"planning_depth": 3, "tokens": 1_000, "rest_seconds": 10},
            "interrupts": {"wakes": 5, "rising": 0.5, "falling": 0.2},
        },
        arbitration={"scheduling": version},
    )


def story(house: ToolWorld, session: str) -> None:
    """Something of each kind of event, each in more than one way."""
    token = house.token(session)
    house.toolbox.add("think", lambda: ToolResult("so", tokens=10), network=False)
    call = [tool_call("think", token)]
    house.ann.set_mode(session, "boost", "an incident", until=later(house.clock.now(), 100))
    house.agent.propose(session, [tool_call("calc.add", token, a=1, b=1)])
    house.agent.set_mode(session, "throttled", "careful")
    for _ in range(5):
        house.agent.propose(session, call)
    house.clock.advance(101)
    house.agent.propose(session, call)
    for level in (0.4, 0.6, 0.7, 0.1):
        house.agent.interrupt(session, "surprisal", "odd", level=level)
        house.person(OTHER_AGENT).interrupt(session, "surprisal", "odd", level=level / 2)
    house.agent.resume(session, "looked")
    house.ann.interrupt(session, "user_intent", "stop", running="cancel")
    house.ann.resume(session, "go on")
    house.ann.set_mode(session, "eco", "all day")
    house.agent.interrupt(session, "surprisal", "odd", level=0.9)


def filled_to_the_hash(house: ToolWorld, session: str) -> None:
    """Entries that change nothing here, up to the one that carries the hash of the state."""
    while len(house.entries(session)) < STATE_HASH_EVERY:
        house.agent.eliminate(session, source_id="oracle://x", observation_id="o", eliminated=[])


@pytest.mark.parametrize(("version", "raised"), [(1, {"wakes", "excited"}), (2, {"raised"})])
@pytest.mark.parametrize("resumed", [False, True], ids=["interrupted", "in an episode"])
def test_node_recomputes_when_a_session_may_act(
    tmp_path: Path, resumed: bool, version: int, raised: set[str]
) -> None:
    with ToolWorld(policy=scheduled(version)) as house:
        session = house.session()
        story(house, session)
        if resumed:
            house.agent.resume(session, "looked")
            house.agent.propose(session, [tool_call("think", house.token(session))])
            house.agent.propose(session, [tool_call("calc.add", house.token(session), a=1, b=1)])
        filled_to_the_hash(house, session)
        written = state_document(house.state(session))
        assert "set_mode" in written
        assert {"wakes", "excited", "raised"} & written.keys() == raised
        assert ("interruption" in written, "episode" in written) == (not resumed, resumed)
        if resumed:
            assert written["episode"]["tokens"] == 10
            assert written["lowered_mode"] == "throttled"
            assert written["lowered_by"].keys() == {"by", "reason"}
        house.check(session)
        exported = tmp_path / "ledger.jsonl"
        exported.write_bytes(house.root.export(session))
        assert '"state_hash"' in exported.read_text().splitlines()[STATE_HASH_EVERY]
    verifies_elsewhere(exported)
