"""Whoever may only look on changes no beliefs, one by one or in a batch; policy can say otherwise."""

import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.policy import Policy, recorded
from beliefd.kernel.values import Principal, Role
from beliefd.testing.world import World, policy, refused

ONLOOKER = Principal(id="agent://onlooker", role=Role.AGENT, tier="READ_ONLY")
LINE = {
    "verb": "ELIMINATE",
    "source_id": "s",
    "observation_id": "o",
    "eliminated": ["h1"],
    "justification": {},
}
DOWN = {
    "type": "update_epistemic_status",
    "claim_id": "w",
    "to_status": "unresolved",
    "reason": "I do not like it",
}


def test_a_principal_of_the_lowest_tier_eliminates_nothing_and_the_try_is_on_record() -> None:
    with World() as world:
        session_id = world.session()
        onlooker = world.person(ONLOOKER)
        for act in (
            lambda: onlooker.eliminate(session_id, source_id="s", observation_id="o", eliminated=["h1"]),
            lambda: onlooker.enter_obligation(session_id, "o", 1),
            lambda: onlooker.request_exit(session_id, "o"),
            lambda: onlooker.declare_conclusion(session_id, "h1"),
            lambda: onlooker.request_termination(session_id),
            lambda: onlooker.link_evidence(session_id, claim_id="c", run_id="r", role="support"),
            lambda: onlooker.stage_intent(session_id, DOWN),
            lambda: onlooker.retract_claims(session_id, "b", reason="no"),
        ):
            error = refused(Code.FORBIDDEN, act)
            assert "tier `READ_ONLY` changes no beliefs" in error.message
            assert world.deltas(session_id)[-1].code is Code.FORBIDDEN
        (line,) = onlooker.batch(session_id, [LINE])
        assert line["error"]["code"] == "FORBIDDEN"
        assert world.query_belief(session_id).n_survivors == 2
        world.check(session_id)


def test_policy_can_ask_for_less_or_for_more() -> None:
    for tier, allowed in (("READ_ONLY", True), ("WRITE_LIMITED", False), ("MODIFY", False)):
        with World(policy=policy(beliefs={"tier": tier})) as world:
            session_id = world.session()
            (line,) = world.person(ONLOOKER).batch(session_id, [LINE])
            assert ("error" not in line) == allowed


@pytest.mark.parametrize("document", [{}, {"beliefs": {}}, {"beliefs": {"conclusions": "free"}}])
def test_ledgers_from_before_are_decided_again_as_they_were(document: dict[str, object]) -> None:
    assert recorded(document).beliefs.tier == "READ_ONLY"
    assert Policy().beliefs.tier == "WRITE_LIMITED"
