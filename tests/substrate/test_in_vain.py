"""A yes that would lead to nothing is not used up."""

from beliefd.testing.world import policy
from tests.substrate.conftest import Build
from tests.substrate.support import ALLOW_ALL, ToolWorld, deny, rules
from tests.substrate.test_asking import ASKS, ask, asking, confirmed, in_vain, revoke  # noqa: F401 - a fixture


def test_a_yes_that_was_in_vain_counts_once_it_is_not(asking: ToolWorld) -> None:  # noqa: F811
    session = asking.session()
    card = ask(asking, session, asking.token(session))
    tools = asking.toolbox.registry._tools
    gone = tools.pop("email.send")
    in_vain(asking, session, card)
    tools["email.send"] = gone
    assert asking.ann.show_approval(card.approval_id).cannot_run is None
    assert confirmed(asking.ann.approve(card)).status == "ok"
    shown = asking.ann.show_approval(card.approval_id)
    assert (shown.status, shown.came_to) == ("approved", "approved, and it ran")


def test_nobody_of_several_people_says_yes_in_vain(build: Build) -> None:
    two = policy(constraints=ASKS.constraints, approvals={"otherwise": {"required": 2}})
    house = build(policy=two)
    session = house.session()
    token = house.token(session)
    card = ask(house, session, token)
    revoke(house, session, token)
    in_vain(house, session, card)
    assert house.ann.reject(card).status == "rejected"
    house.check(session)


def test_a_degrading_policy_degrades_though_a_person_said_yes(asking: ToolWorld) -> None:  # noqa: F811
    session = asking.session()
    card = ask(asking, session, asking.token(session))
    asking.steward.in_force.adopt(rules(all=ALLOW_ALL, a=deny("email.send", on_fail="degrade")))
    decided = asking.ann.approve(card)
    assert (decided.status, confirmed(decided).reason_code) == ("approved", "DENIED")
    assert asking.toolbox.count == 0
    asking.check(session)
