"""Authority is judged when it is used: by the tokens, the tiers, the grants and the policy of that moment."""

from functools import partial
from typing import Any

import pytest

from beliefd.kernel.approvals.standing import people_among
from beliefd.kernel.errors import Code
from beliefd.kernel.values import Principal, Role
from beliefd.testing.world import ONTOLOGY, Person, World, policy, refused
from tests.claims.conftest import Build
from tests.claims.credentials import fired, hired
from tests.claims.support import alarmed, bundle, claim, delete, nothing_happens
from tests.substrate.conftest import Build as BuildTools
from tests.substrate.conftest import build as build_tools  # noqa: F401 - a fixture
from tests.substrate.support import ALLOW_ALL, deny, one, rules, tool_call

TWO = {"approvers": {"DELETE": {"required": 2}}}
NEEDS_MORE = ["MODIFY", "DELETE", "PRIVILEGE"]
LAB = "lab"
GRANT: dict[str, Any] = {"principal": "agent://writer", "tiers": ["MODIFY"], "expires_in_seconds": 3600}


# -- who proposed it --------------------------------------------------------------------------------------


def test_what_a_revoked_agent_proposed_is_not_published(house: World) -> None:
    session = house.session()
    agent = hired(house, "agent://gone", Role.AGENT)
    waiting = agent.submit_claims(session, delete(origin_agent="agent://gone"))
    fired(house, agent)
    card = house.ann.show_approval(str(waiting.approval_id))
    assert "revoked" in str(card.cannot_run)
    for act in (partial(house.ann.approve, card), partial(house.ann.modify, card, claim("DELETE"))):
        why = nothing_happens(house, session, Code.CONFLICT, act)
        assert "agent://gone" in why
    hired(house, "agent://gone", Role.AGENT)
    assert house.ann.show_approval(card.approval_id).cannot_run is None
    assert house.ann.approve(card).outcome == "PUBLISH", "the agent may speak again, and nothing was used up"
    house.check(session)


def test_what_a_revoked_editor_made_of_it_is_not_published(house: World) -> None:
    session = house.session()
    editor = hired(house, "human://ed", Role.APPROVER)
    waiting = house.agent.submit_claims(session, delete())
    edited = editor.modify(waiting, claim("DELETE", statement="less")).bundle
    assert edited is not None
    fired(house, editor)
    nothing_happens(house, session, Code.CONFLICT, lambda: house.ann.approve(edited))
    assert house.ann.reject(edited).status == "rejected"


def test_the_tier_of_now_counts(house: World) -> None:
    session = house.session()
    agent = hired(house, "agent://lowered", Role.AGENT)
    waiting = agent.submit_claims(session, delete(origin_agent="agent://lowered"))
    fired(house, agent)
    hired(house, "agent://lowered", Role.AGENT, "WRITE_LIMITED")
    decided = house.ann.approve(waiting)
    assert decided.outcome == "REFUSE"
    assert decided.bundle is not None
    assert decided.bundle.audit_trail.gates_failed == ("security",)
    house.check(session)


@pytest.mark.parametrize("tier", [None, "READ_ONLY"])
def test_a_call_of_an_agent_that_may_no_longer_is_not_made(
    build_tools: BuildTools,  # noqa: F811
    tier: str | None,
) -> None:
    house = build_tools(policy=rules(all=ALLOW_ALL, asks=deny("email.send", on_fail="ask")))
    session = house.session()
    agent = hired(house, "agent://x", Role.AGENT)
    token = house.token(session, agent.principal)
    asked = one(agent.propose(session, [tool_call("email.send", token, "k", to="ana")]))
    card = house.ann.show_approval(str(asked.approval_id))
    fired(house, agent)
    if tier is not None:
        hired(house, "agent://x", Role.AGENT, tier)
    assert house.ann.show_approval(card.approval_id).cannot_run is not None
    refused(Code.CONFLICT, lambda: house.ann.approve(card))
    assert house.toolbox.count == 0
    assert house.ann.show_approval(card.approval_id).status == "pending"
    house.check(session)


# -- who agreed -------------------------------------------------------------------------------------------


def test_a_yes_of_somebody_who_may_no_longer_does_not_count(build: Build) -> None:
    house = build(policy=policy(approvals=TWO))
    session = house.session()
    cat = hired(house, "human://cat", Role.APPROVER)
    waiting = house.agent.submit_claims(session, delete())
    cat.approve(waiting)
    assert house.ann.show_approval(str(waiting.approval_id)).progress.text.startswith("1 of 2")  # type: ignore[union-attr]
    fired(house, cat)
    shown = house.ann.show_approval(str(waiting.approval_id))
    assert shown.progress is not None
    assert (shown.progress.text, [word.approver for word in shown.approvals]) == (
        "0 of 2 approved",
        ["human://cat"],
    )
    assert house.ann.approve(waiting).status == "pending"
    assert house.bob.approve(waiting).outcome == "PUBLISH"
    house.check(session)


def test_a_yes_of_somebody_who_is_no_approver_any_more_does_not_count(build: Build) -> None:
    house = build(policy=policy(approvals=TWO))
    session = house.session()
    cat = hired(house, "human://cat", Role.APPROVER)
    waiting = house.agent.submit_claims(session, delete())
    cat.approve(waiting)
    fired(house, cat)
    hired(house, "human://cat", Role.TOOL)
    assert house.ann.approve(waiting).status == "pending"
    assert house.bob.approve(waiting).outcome == "PUBLISH"


def test_a_yes_counts_under_the_policy_of_the_last_one(build: Build) -> None:
    house = build(policy=policy(approvals=TWO))
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    house.ann.approve(waiting)
    strict = {"approvers": {"DELETE": {"roles": ["admin"], "required": 2}}}
    house.steward.in_force.adopt(policy(approvals=strict))
    assert house.root.approve(waiting).status == "pending", "Ann is no admin"
    card = house.root.show_approval(str(waiting.approval_id))
    assert [word.approver for word in (card.progress.given if card.progress else [])] == ["human://root"]


def test_a_card_says_how_many_must_agree_today(build: Build) -> None:
    house = build()
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    assert house.ann.show_approval(str(waiting.approval_id)).required == 1
    rule = {"approvers": {"DELETE": {"roles": ["admin"], "required": 3}}}
    house.steward.in_force.adopt(policy(approvals=rule))
    (card,) = house.ann.list_approvals().approvals
    assert (card.required, card.required_approvals) == (3, ["role://admin"])
    assert card.progress is not None
    assert card.progress.text == "0 of 3 approved"
    assert card.on_approval.startswith("2 more approvals")
    assert house.root.approve(card).status == "pending"


def test_an_answer_to_an_earlier_gate_ends_with_who_gave_it(build: Build) -> None:
    house = build(detector=alarmed)
    session = house.session()
    cat = hired(house, "human://cat", Role.APPROVER)
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE", value=0.9)))
    first = cat.approve(waiting)
    assert (first.outcome, first.approval.asking) == ("DEFER", ["uncertainty", "human"])
    fired(house, cat)
    (card,) = house.ann.list_approvals().approvals
    assert card.gate == "adversarial"
    again = house.ann.approve(card)
    (card,) = house.ann.list_approvals().approvals
    assert (again.outcome, card.asking) == ("DEFER", ["uncertainty", "human"])
    assert house.bob.approve(card).outcome == "PUBLISH"
    house.check(session)


# -- grants -----------------------------------------------------------------------------------------------


def granted(build: Build) -> tuple[World, str, Any]:
    house = build(policy=policy(approvals={"require_human": NEEDS_MORE}))
    session = house.session()
    cat = hired(house, "human://cat", Role.APPROVER)
    cat.give_grant(session, **GRANT)
    assert house.agent.submit_claims(session, bundle(claim("MODIFY"))).decision == "PUBLISH"
    return house, session, cat


def test_a_grant_ends_with_the_token_of_who_gave_it(build: Build) -> None:
    house, session, cat = granted(build)
    fired(house, cat)
    assert house.agent.submit_claims(session, bundle(claim("MODIFY"))).decision == "ESCALATE"
    house.check(session)


def test_a_grant_ends_when_its_giver_is_no_approver_any_more(build: Build) -> None:
    house, session, cat = granted(build)
    fired(house, cat)
    hired(house, "human://cat", Role.TOOL)
    assert house.agent.submit_claims(session, bundle(claim("MODIFY"))).decision == "ESCALATE"


@pytest.mark.parametrize("with_token", [True, False])
def test_a_grant_does_not_outlive_a_stricter_policy(build: Build, with_token: bool) -> None:
    house, session, cat = granted(build)
    if not with_token:
        fired(house, cat)
        house.ann.give_grant(session, **GRANT)
        assert house.agent.submit_claims(session, bundle(claim("MODIFY"))).decision == "PUBLISH"
    strict = {"require_human": NEEDS_MORE, "approvers": {"MODIFY": {"roles": ["admin"]}}}
    house.steward.in_force.adopt(policy(approvals=strict))
    assert house.agent.submit_claims(session, bundle(claim("MODIFY"))).decision == "ESCALATE"
    house.root.give_grant(session, **GRANT)
    assert house.agent.submit_claims(session, bundle(claim("MODIFY"))).decision == "PUBLISH"
    house.check(session)


# -- one person, several names ----------------------------------------------------------------------------


def signed_in(house: World, owner: str, name: str = "human://corp/ana") -> Person:
    """Somebody without a token of this server, as a sign-in tells of them."""
    return house.person(Principal(id=name, role=Role.APPROVER, tier="PRIVILEGE", owner=owner))


def test_an_account_that_changes_its_owner_is_still_one_person(build: Build) -> None:
    house = build(policy=policy(approvals=TWO))
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    signed_in(house, "ana@example.org").approve(waiting)
    renamed = signed_in(house, "ana@example.com")
    nothing_happens(house, session, Code.CONFLICT, lambda: renamed.approve(waiting))
    alias = signed_in(house, "ana@example.org", "human://corp/ana.b")
    nothing_happens(house, session, Code.CONFLICT, lambda: alias.approve(waiting))
    assert house.bob.approve(waiting).outcome == "PUBLISH"
    house.check(session)


def test_words_that_a_third_one_joins_are_of_one_person(build: Build) -> None:
    """Two accounts said yes as two people; then both turn out to be one."""
    house = build(policy=policy(approvals={"approvers": {"DELETE": {"required": 3}}}))
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    first, second = (hired(house, f"human://{name}", Role.APPROVER) for name in ("a", "b"))
    for one_of in (first, second):
        one_of.approve(waiting)
        fired(house, one_of)
    for name in ("human://a", "human://b"):
        hired(house, name, Role.APPROVER, owner="ana")
    assert house.ann.approve(waiting).status == "pending", "Ana once, and Ann"
    assert house.bob.approve(waiting).outcome == "PUBLISH"
    house.check(session)


def test_who_edited_it_under_another_owner_does_not_approve_it(build: Build) -> None:
    house = build()
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    edited = signed_in(house, "ana@example.org").modify(waiting, claim("DELETE", statement="less")).bundle
    assert edited is not None
    house.agent.withdraw_approval(str(edited.approval_id))
    again = house.agent.submit_claims(session, bundle(claim("DELETE", statement="less")))
    renamed = signed_in(house, "ana@example.com")
    why = nothing_happens(house, session, Code.FORBIDDEN, lambda: renamed.approve(again))
    assert "shaped" in why
    assert house.ann.approve(again).outcome == "PUBLISH"
    house.check(session)


def test_a_grant_to_an_agent_that_has_become_the_givers_own_is_none(build: Build) -> None:
    house = build(policy=policy(approvals={"require_human": NEEDS_MORE}))
    session = house.session()
    cat = hired(house, "human://cat", Role.APPROVER, "PRIVILEGE", "cat@example.org")
    cat.give_grant(session, **GRANT)
    fired(house, cat)
    hired(house, "human://cat", Role.APPROVER, "PRIVILEGE", "cat@example.com")
    hers = house.person(
        Principal(id="agent://writer", role=Role.AGENT, tier="PRIVILEGE", owner="cat@example.org")
    )
    assert hers.submit_claims(session, bundle(claim("MODIFY"))).decision == "ESCALATE"
    other = bundle(claim("MODIFY", statement="restart the checkout service"))
    assert house.agent.submit_claims(session, other).decision == "PUBLISH"
    house.check(session)


def test_people_are_counted_by_all_names_that_join_them() -> None:
    named = [frozenset(one.split()) for one in ("a 1", "b 2", "c 3", "b 1", "d")]
    assert [sorted(one) for one in people_among(named)] == [["1", "2", "a", "b"], ["3", "c"], ["d"]]


# -- rights in the space of the session -------------------------------------------------------------------


def lab(build: Build, **approvals: Any) -> tuple[World, str]:
    house = build(policy=policy(approvals=approvals))
    house.root.create_space(LAB)
    return house, house.agent.declare_session(["h1", "h2"], ONTOLOGY, space=LAB).session_id


def moved(house: World, who: Person, *spaces: str) -> None:
    """All tokens of somebody are revoked, and there is one for other spaces."""
    fired(house, who)
    hired(house, who.principal.id, who.principal.role, "PRIVILEGE", None, *spaces)


def test_a_yes_does_not_outlive_the_right_to_approve_there(build: Build) -> None:
    house, session = lab(build, **TWO)
    cat = hired(house, "human://cat", Role.APPROVER, "PRIVILEGE", None, "lab=approve")
    waiting = house.agent.submit_claims(session, delete())
    cat.approve(waiting)
    moved(house, cat, "default=approve", "lab=propose")
    shown = house.ann.show_approval(str(waiting.approval_id))
    assert shown.progress is not None
    assert shown.progress.text == "0 of 2 approved"
    assert house.ann.approve(waiting).status == "pending"
    assert house.bob.approve(waiting).outcome == "PUBLISH"
    house.check(session)


def test_a_grant_does_not_outlive_the_right_to_approve_there(build: Build) -> None:
    house, session = lab(build, require_human=NEEDS_MORE)
    cat = hired(house, "human://cat", Role.APPROVER, "PRIVILEGE", None, "lab=approve")
    cat.give_grant(session, **GRANT)
    assert house.agent.submit_claims(session, bundle(claim("MODIFY"))).decision == "PUBLISH"
    moved(house, cat, "default=approve")
    assert house.agent.submit_claims(session, bundle(claim("MODIFY"))).decision == "ESCALATE"
    house.check(session)


def test_what_somebody_proposed_who_may_not_propose_there_any_more_is_not_published(build: Build) -> None:
    house, session = lab(build)
    agent = hired(house, "agent://bot", Role.AGENT, "PRIVILEGE", None, "lab=propose")
    waiting = agent.submit_claims(session, delete(origin_agent="agent://bot"))
    moved(house, agent, "default=propose", "lab=read")
    card = house.ann.show_approval(str(waiting.approval_id))
    assert "no right in this space" in str(card.cannot_run)
    nothing_happens(house, session, Code.CONFLICT, lambda: house.ann.approve(card))
    hired(house, "agent://bot", Role.AGENT, "PRIVILEGE", None, "lab=propose")
    assert house.ann.approve(card).outcome == "PUBLISH"
    house.check(session)


def test_an_edit_by_somebody_who_may_only_approve_there_counts(build: Build) -> None:
    house, session = lab(build)
    cat = hired(house, "human://cat", Role.APPROVER, "PRIVILEGE", None, "lab=approve")
    edited = cat.modify(
        house.agent.submit_claims(session, delete()), claim("DELETE", statement="less")
    ).bundle
    assert edited is not None
    assert house.ann.approve(edited).outcome == "PUBLISH"
    house.check(session)


def test_whose_an_agent_is_does_not_depend_on_its_rights_there(build: Build) -> None:
    house, session = lab(build, require_human=NEEDS_MORE)
    cat = hired(house, "human://cat", Role.APPROVER, "PRIVILEGE", None, "lab=approve")
    hired(house, "agent://writer", Role.AGENT, "PRIVILEGE", "cat", "default=propose")
    nothing_happens(house, session, Code.FORBIDDEN, lambda: cat.give_grant(session, **GRANT))
