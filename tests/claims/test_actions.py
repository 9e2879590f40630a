"""A DECISION about a tool takes the tier of that tool, wherever its calls would find it."""

from typing import Any

import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.values import Principal, Role
from beliefd.testing.world import World, policy, refused
from tests.claims.conftest import Build
from tests.claims.support import bundle, claim
from tests.conformance.node import verify_with_node

GATEWAY = Principal(id="gateway://files", role=Role.TOOL, tier="PRIVILEGE")
DECLARED: dict[str, Any] = {
    "mail": {"executor": "caller", "tier": "MODIFY"},
    "*": {"executor": "caller", "tier": "DELETE"},
}
PINNED: dict[str, Any] = {"name": "wipe", "annotations": {"destructiveHint": True}}


def decides(tool: str, **more: Any) -> dict[str, Any]:
    return bundle(claim("READ_ONLY", "DECISION", action={"tool": tool, **more}))


def tier_in(house: World, session: str, spoken: dict[str, Any]) -> str:
    """The tier that counts, the same for a try without a session."""
    told = house.agent.submit_claims(session, spoken)
    assert house.agent.check_claims(spoken).tier == told.tier
    house.check(session)
    return told.tier


@pytest.mark.parametrize(("tool", "tier"), [("mail", "MODIFY"), ("anything", "DELETE")])
def test_a_tool_that_callers_run_counts_as_policy_declares_it(build: Build, tool: str, tier: str) -> None:
    house = build(policy=policy(tools=DECLARED))
    assert tier_in(house, house.session(), decides(tool)) == tier


def test_what_only_looks_like_a_declared_tool_is_not_taken_for_any_tool(build: Build) -> None:
    house = build(policy=policy(tools=DECLARED))
    error = refused(Code.INVALID_REQUEST, lambda: house.agent.check_claims(decides("Mail")))
    assert error.message == "no tool `Mail` is registered"


def test_a_pinned_tool_counts_as_its_catalogue_has_it_while_it_is_there(build: Build) -> None:
    trusting = policy(catalogues={"trust_annotations": True}, tiers={"tools": {"look": "DELETE"}})
    house = build(policy=trusting)
    gateway, session = house.person(GATEWAY), house.session()
    gateway.pin_tools("files", [PINNED, {"name": "look", "annotations": {"readOnlyHint": True}}])
    for tool in ("wipe", "look"):
        assert tier_in(house, session, decides(tool, upstream="files")) == "DELETE"
    waiting = house.agent.submit_claims(session, {**decides("wipe", upstream="files"), "id": "again"})
    gateway.pin_tools("files", [{**PINNED, "description": "and more"}])
    decided = house.ann.approve(waiting)
    assert decided.outcome == "REFUSE"
    assert decided.bundle is not None
    assert "no tool `wipe` is pinned in catalogue `files`" in decided.bundle.reason
    house.check(session)
    assert verify_with_node(house.root.export(session)).code == 0


def test_a_pinned_tool_is_known_by_its_catalogue_alone(build: Build) -> None:
    house = build()
    house.person(GATEWAY).pin_tools("files", [PINNED])
    for spoken in (decides("wipe"), decides("wipe", upstream="mails"), decides("files: wipe")):
        error = refused(Code.INVALID_REQUEST, lambda spoken=spoken: house.agent.check_claims(spoken))  # type: ignore[misc]
        assert (error.details or {})["path"] == "$.claims[0].action.tool"
    both = {"proposition": "p", "upstream": "files"}
    odd = bundle(claim("READ_ONLY", "DECISION", action=both))
    assert "`upstream`" in refused(Code.INVALID_REQUEST, lambda: house.agent.check_claims(odd)).message
