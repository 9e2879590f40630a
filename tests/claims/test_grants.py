"""Standing grants: scoped, counted, visible, revocable, and never for DELETE or PRIVILEGE."""

from functools import partial
from typing import Any

import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.values import Principal, Role
from beliefd.testing.world import AGENT, OTHER_AGENT, Person, World, policy, refused
from tests.claims.conftest import Build
from tests.claims.support import bundle, bundle_of, claim

ALL = ["READ_ONLY", "WRITE_LIMITED", "MODIFY", "DELETE", "PRIVILEGE"]


@pytest.fixture
def house(build: Build) -> World:
    """Where MODIFY needs a person."""
    return build(policy=policy(approvals={"require_human": ["MODIFY", "DELETE", "PRIVILEGE"]}))


def grant(person: Person, session: str, **changes: Any) -> str:
    given = {"principal": AGENT.id, "tiers": ["MODIFY"], "expires_in_seconds": 60, **changes}
    return person.give_grant(session, **given).grant.grant_id


def modify(person: Person, session: str) -> str:
    said = bundle(claim("MODIFY"), origin_agent=person.principal.id)
    return person.submit_claims(session, said).decision


def test_a_grant_stands_for_a_person_and_says_so(house: World) -> None:
    session = house.session()
    assert modify(house.agent, session) == "ESCALATE"
    name = grant(house.ann, session)
    answer = house.agent.submit_claims(session, bundle(claim("MODIFY")))
    assert answer.decision == "PUBLISH"
    assert any(name in result.reason for result in answer.gates if result.gate == "human")
    (shown,) = house.agent.list_grants(session).grants
    assert (shown.grant_id, shown.granted_by, shown.uses) == (name, "human://ann", 1)
    # People are told of what they consented to in advance.
    (card,) = house.ann.list_approvals(status="information").approvals
    assert bundle_of(card) == answer.id
    assert house.agent.verify(session).ok


def test_a_grant_is_for_one_principal_and_one_session(house: World) -> None:
    session, elsewhere = house.session(), house.session()
    grant(house.ann, session)
    assert modify(house.person(OTHER_AGENT), session) == "ESCALATE"
    assert modify(house.agent, elsewhere) == "ESCALATE"
    assert modify(house.agent, session) == "PUBLISH"


def test_a_grant_is_for_the_tiers_it_names(build: Build) -> None:
    house = build(policy=policy(approvals={"require_human": ALL}))
    session = house.session()
    grant(house.ann, session, tiers=["WRITE_LIMITED"])
    assert modify(house.agent, session) == "ESCALATE"
    assert house.agent.submit_claims(session, bundle(claim("WRITE_LIMITED"))).decision == "PUBLISH"
    mixed = bundle(claim("WRITE_LIMITED", id="1"), claim("READ_ONLY", id="2"))
    assert house.agent.submit_claims(session, mixed).decision == "ESCALATE"


@pytest.mark.parametrize("tier", ["DELETE", "PRIVILEGE"])
def test_nobody_can_grant_delete_or_privilege(house: World, tier: str) -> None:
    session = house.session()
    refused(Code.FORBIDDEN, lambda: grant(house.root, session, tiers=["MODIFY", tier]))
    grant(house.root, session)
    beside = bundle(claim("MODIFY", id="1"), claim(tier, id="2"))
    assert house.agent.submit_claims(session, beside).decision == "ESCALATE"
    (shown,) = house.agent.list_grants(session).grants
    assert shown.uses == 0


def test_a_grant_ends_with_its_time(house: World) -> None:
    session = house.session()
    grant(house.ann, session)
    house.clock.advance(59.999999)
    assert modify(house.agent, session) == "PUBLISH"
    house.clock.advance(0.000001)
    assert modify(house.agent, session) == "ESCALATE"


def test_a_grant_ends_with_its_uses_and_only_what_was_published_counts(house: World) -> None:
    session = house.session()
    grant(house.ann, session, max_uses=2)
    vague = bundle(claim("MODIFY", value=0.9))
    assert house.agent.submit_claims(session, vague).decision == "DEFER"
    assert [modify(house.agent, session) for _ in range(3)] == ["PUBLISH", "PUBLISH", "ESCALATE"]


def test_a_revoked_grant_ends_at_once(house: World) -> None:
    session = house.session()
    name = grant(house.ann, session)
    for program in (house.agent, house.person(OTHER_AGENT)):
        refused(Code.FORBIDDEN, partial(program.revoke_grant, session, name))
    revoked = house.bob.revoke_grant(session, name).grant
    assert revoked.revoked_at is not None
    assert modify(house.agent, session) == "ESCALATE"
    house.clock.advance(1)
    assert house.bob.revoke_grant(session, name).grant == revoked
    refused(Code.NOT_FOUND, lambda: house.bob.revoke_grant(session, "grant-x"))


def test_only_who_may_approve_a_tier_may_grant_it(build: Build) -> None:
    rules = {"require_human": ALL, "approvers": {"MODIFY": {"roles": ["admin"]}}}
    house = build(policy=policy(approvals=rules))
    session = house.session()
    refused(Code.FORBIDDEN, lambda: grant(house.ann, session))
    grant(house.ann, session, tiers=["READ_ONLY"])
    grant(house.root, session)
    for role in (Role.AGENT, Role.ENCODER, Role.TOOL):
        program = house.person(Principal(id=f"{role}://p", role=role, tier="PRIVILEGE"))
        refused(Code.FORBIDDEN, partial(grant, program, session, tiers=["READ_ONLY"]))


def test_nobody_grants_to_themselves(house: World) -> None:
    session = house.session()
    refused(Code.FORBIDDEN, lambda: grant(house.ann, session, principal="human://ann"))


def test_one_person_s_grant_does_not_stand_for_two(build: Build) -> None:
    two = {"require_human": ALL, "approvers": {"MODIFY": {"required": 2}}}
    house = build(policy=policy(approvals=two))
    session = house.session()
    refused(Code.FORBIDDEN, lambda: grant(house.root, session))


@pytest.mark.parametrize("rule", [{"required": 2}, {"roles": []}])
def test_a_grant_does_not_outlive_a_stricter_policy(house: World, rule: dict[str, Any]) -> None:
    session = house.session()
    grant(house.ann, session)
    house.steward.in_force.adopt(
        policy(approvals={"require_human": ["MODIFY", "DELETE", "PRIVILEGE"], "approvers": {"MODIFY": rule}})
    )
    assert modify(house.agent, session) == "ESCALATE"


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"tiers": []}, "$.tiers"),
        ({"tiers": ["ALL"]}, "$.tiers[0]"),
        ({"expires_in_seconds": 0}, "$.expires_in_seconds"),
        ({"expires_in_seconds": 31 * 24 * 3600}, "$.expires_in_seconds"),
        ({"max_uses": 0}, "$.max_uses"),
        ({"max_uses": 10_001}, "$.max_uses"),
        ({"principal": ""}, "$.principal"),
    ],
)
def test_a_grant_has_bounds(house: World, changes: dict[str, Any], path: str) -> None:
    session = house.session()
    error = refused(Code.INVALID_REQUEST, lambda: grant(house.ann, session, **changes))
    assert error.details == {"path": path}
