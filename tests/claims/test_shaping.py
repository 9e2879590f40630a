"""Nobody approves what they had a hand in: under no name of theirs, and whoever says it again."""

from functools import partial
from typing import Any

import msgspec
import pytest

from beliefd.kernel.approvals.commands import DecideApproval
from beliefd.kernel.approvals.findings import AuthorityFindings
from beliefd.kernel.approvals.shaping import content_of, marks_of
from beliefd.kernel.errors import Code
from beliefd.kernel.intents.commands import StageIntent
from beliefd.kernel.intents.events import IntentStaged
from beliefd.kernel.intents.state import Change
from beliefd.kernel.substrate.commands import Propose
from beliefd.kernel.substrate.proposals import CallCandidate
from beliefd.kernel.substrate.provenance import Provenance
from beliefd.kernel.substrate.tools import ProposalFindings
from beliefd.kernel.values import Principal, Role
from beliefd.protocol.claims import JudgedBundle
from beliefd.testing.world import AGENT, ANN, BOB, OTHER_AGENT, World, policy, refused
from tests.claims.conftest import Build
from tests.claims.credentials import hired
from tests.claims.support import bundle, claim, delete, inbox_is_the_fold_of_all_ledgers, nothing_happens
from tests.firewall.lab import Lab, code_of
from tests.substrate.conftest import Build as BuildTools
from tests.substrate.conftest import build as build_tools  # noqa: F401 - a fixture
from tests.substrate.support import ALLOW_ALL, deny, one, rules, tool_call, with_tools

LESS = "delete last year's only"
EDIT = claim("DELETE", statement=LESS)
POINTER = {
    "source": "s",
    "evidence_hash": "0" * 64,
    "retrieved_at": "2026-01-01T00:00:00Z",
    "source_confidence": 0.9,
}
SURER = {"method": "confidence_score", "value": 0.11}
REQUESTS = ("origin_agent", "claims", "id", "timestamp")


def said_again(answer: JudgedBundle, **changes: Any) -> dict[str, Any]:
    """A bundle as its answer shows it, ready to be submitted."""
    told = msgspec.to_builtins(answer)
    return {**{name: told[name] for name in REQUESTS}, **changes}


SAID_AGAIN: dict[str, dict[str, Any]] = {
    "verbatim": {},
    "under another id": {"id": "another"},
    "at another time": {"id": "another", "timestamp": "2026-01-01T00:00:01Z"},
    "its claims under other ids": {"id": "another", "claims": [{**EDIT, "id": "renamed"}]},
    "with another uncertainty": {"id": "another", "claims": [EDIT | {"uncertainty": SURER}]},
    "with another cost": {"id": "another", "claims": [EDIT | {"if_wrong_cost": "much more"}]},
    "with other evidence": {"id": "another", "claims": [EDIT | {"evidence_pointers": [POINTER]}]},
    "with a space at the end": {"id": "another", "claims": [EDIT | {"statement": f"{LESS} "}]},
    "with an unseen character": {"id": "another", "claims": [EDIT | {"statement": f"\u200b{LESS}"}]},
    "in other letters": {"id": "another", "claims": [EDIT | {"statement": f"{LESS.upper()}!"}]},
    "about a hypothesis": {"id": "another", "claims": [EDIT | {"about": {"hypothesis": "h1"}}]},
    "as another type": {"id": "another", "claims": [claim("DELETE", "INFERENCE", statement=LESS)]},
    "in look-alikes": {"id": "another", "claims": [EDIT | {"statement": "de1ete Iast year's 0nly"}]},
    "with other gaps": {"id": "another", "claims": [EDIT | {"statement": "delete-last years only"}]},
    "with another claim": {"id": "another", "claims": [EDIT, claim("READ_ONLY", id="more")]},
}


@pytest.mark.parametrize("changes", SAID_AGAIN.values(), ids=SAID_AGAIN)
@pytest.mark.parametrize("by_another", [False, True])
def test_an_editor_does_not_approve_her_edit_when_somebody_says_it_again(
    house: World, changes: dict[str, Any], by_another: bool
) -> None:
    session = house.session()
    edited = house.ann.modify(house.agent.submit_claims(session, delete()), EDIT).bundle
    assert edited is not None
    who, changes = house.agent, dict(changes)
    if by_another:
        who = house.person(OTHER_AGENT)
        changes |= {"origin_agent": OTHER_AGENT.id, "id": "another"}
    again = who.submit_claims(session, said_again(edited, **changes))
    assert again.decision == "ESCALATE"
    why = nothing_happens(house, session, Code.FORBIDDEN, lambda: house.ann.approve(again))
    assert "shaped" in why
    nothing_happens(house, session, Code.FORBIDDEN, lambda: house.ann.modify(again, claim("DELETE")))
    assert house.bob.approve(again).outcome == "PUBLISH"
    house.check(session)
    inbox_is_the_fold_of_all_ledgers(house)


def test_an_edit_that_was_refused_is_remembered_too(house: World) -> None:
    session = house.session()
    unproven = claim("DELETE", "FACT", evidence_pointers=[])
    waiting = house.agent.submit_claims(session, delete())
    refused_edit = house.ann.modify(waiting, unproven).bundle
    assert refused_edit is not None
    assert refused_edit.decision == "REFUSE"
    shapers = house.state(session).approvals.shapers
    assert sorted(people for people in shapers.values() if ANN.id in people) == [("agent://writer", ANN.id)]


def test_somebody_who_had_no_hand_in_it_may_approve_what_was_said_again(house: World) -> None:
    """What Ann edited is hers; what the agent says instead of it is not."""
    session = house.session()
    house.ann.modify(house.agent.submit_claims(session, delete()), EDIT)
    other = house.agent.submit_claims(session, bundle(claim("DELETE", statement="delete this year's only")))
    assert house.ann.approve(other).outcome == "PUBLISH"


# -- by owner ---------------------------------------------------------------------------------------------


def test_a_person_does_not_approve_what_her_agent_proposed_but_may_stop_it(house: World) -> None:
    session = house.session()
    agent, person = (
        hired(house, f"{kind}://x", role) for kind, role in (("agent", Role.AGENT), ("human", Role.APPROVER))
    )
    waiting = agent.submit_claims(session, delete(origin_agent="agent://x"))
    nothing_happens(house, session, Code.FORBIDDEN, lambda: person.approve(waiting))
    nothing_happens(house, session, Code.FORBIDDEN, lambda: person.modify(waiting, EDIT))
    assert person.reject(waiting).status == "rejected"
    another = agent.submit_claims(session, delete(origin_agent="agent://x"))
    assert house.bob.approve(another).outcome == "PUBLISH"
    house.check(session)


def test_an_owner_is_named_with_the_token_and_counts_more_than_a_name(house: World) -> None:
    session = house.session()
    agent = hired(house, "agent://nightly", Role.AGENT, owner="ann")
    ann = hired(house, "human://ann", Role.APPROVER)
    namesake = hired(house, "human://nightly", Role.APPROVER, owner="bob")
    waiting = agent.submit_claims(session, delete(origin_agent="agent://nightly"))
    nothing_happens(house, session, Code.FORBIDDEN, lambda: ann.approve(waiting))
    assert namesake.approve(waiting).outcome == "PUBLISH"


def test_a_yes_is_not_offered_to_whose_own_agents_item_it_is(house: World) -> None:
    session = house.session()
    agent = hired(house, "agent://nightly", Role.AGENT, owner="ann")
    ann, bob = (hired(house, f"human://{name}", Role.APPROVER) for name in ("ann", "bob"))
    waiting = agent.submit_claims(session, delete(origin_agent="agent://nightly"))
    assert waiting.approval_id is not None
    for who, offered in ((ann, ["REJECTED"]), (bob, ["APPROVED", "REJECTED", "MODIFIED"]), (agent, None)):
        listed = who.list_approvals().approvals[0]
        shown = who.show_approval(waiting.approval_id)
        assert listed.allowed_decisions == shown.allowed_decisions
        assert sorted(shown.allowed_decisions) == sorted(offered or ["APPROVED", "REJECTED", "MODIFIED"])
    assert ann.reject(waiting).status == "rejected"


def test_one_person_with_two_names_is_one_person(build: Build) -> None:
    house = build(policy=policy(approvals={"approvers": {"DELETE": {"required": 2}}}))
    session = house.session()
    office, home = (
        hired(house, f"human://{name}", Role.APPROVER, owner="ann") for name in ("office", "home")
    )
    waiting = house.agent.submit_claims(session, delete())
    assert office.approve(waiting).status == "pending"
    why = nothing_happens(house, session, Code.CONFLICT, lambda: home.approve(waiting))
    assert "already" in why
    assert house.bob.approve(waiting).outcome == "PUBLISH"


def test_whom_a_relay_speaks_for_does_not_approve_it_under_a_name_of_theirs(build: Build) -> None:
    house = build(policy=policy(security={"relays": {"agent://writer": ["agent://x"]}}))
    session = house.session()
    hired(house, "agent://x", Role.AGENT)
    person = hired(house, "human://x", Role.APPROVER)
    waiting = house.agent.submit_claims(session, delete(origin_agent="agent://x"))
    nothing_happens(house, session, Code.FORBIDDEN, lambda: person.approve(waiting))
    assert house.bob.approve(waiting).outcome == "PUBLISH"


@pytest.mark.parametrize("relayed", [False, True])
def test_what_her_agent_said_first_is_hers_whoever_says_it_again(build: Build, relayed: bool) -> None:
    house = build(policy=policy(security={"relays": {"agent://writer": ["agent://x"]}}))
    session = house.session()
    agent, person = hired(house, "agent://x", Role.AGENT), hired(house, "human://x", Role.APPROVER)
    first = (house.agent if relayed else agent).submit_claims(session, delete(origin_agent="agent://x"))
    house.bob.reject(first)
    again = house.person(OTHER_AGENT).submit_claims(session, delete(origin_agent=OTHER_AGENT.id))
    nothing_happens(house, session, Code.FORBIDDEN, lambda: person.approve(again))
    assert house.bob.approve(again).outcome == "PUBLISH"


@pytest.mark.parametrize("known", [True, False])
def test_nobody_grants_to_an_agent_of_their_own(build: Build, known: bool) -> None:
    house = build(policy=policy(approvals={"require_human": ["MODIFY", "DELETE", "PRIVILEGE"]}))
    session = house.session()
    ann = hired(house, "human://ann", Role.APPROVER)
    grant: dict[str, Any] = {"principal": "agent://ann", "tiers": ["MODIFY"], "expires_in_seconds": 60}
    if known:
        hired(house, "agent://ann", Role.AGENT)
        nothing_happens(house, session, Code.FORBIDDEN, lambda: ann.give_grant(session, **grant))
        return
    # Nothing is known of the agent yet: then the grant is worth nothing when it is used.
    ann.give_grant(session, **grant)
    agent = hired(house, "agent://ann", Role.AGENT)
    said = bundle(claim("MODIFY"), origin_agent="agent://ann")
    assert agent.submit_claims(session, said).decision == "ESCALATE"
    house.bob.give_grant(session, **grant)
    assert agent.submit_claims(session, said).decision == "PUBLISH"


@pytest.mark.parametrize("owner", ["ann", "somebody"])
def test_a_grant_to_a_relay_does_not_cover_an_agent_of_the_givers_own(build: Build, owner: str) -> None:
    house = build(
        policy=policy(
            approvals={"require_human": ["MODIFY", "DELETE", "PRIVILEGE"]},
            security={"relays": {"agent://relay": ["agent://hers"]}},
        )
    )
    session = house.session()
    ann = hired(house, "human://ann", Role.APPROVER)
    relay = hired(house, "agent://relay", Role.AGENT, owner="ops")
    hired(house, "agent://hers", Role.AGENT, owner=owner)
    ann.give_grant(session, principal="agent://relay", tiers=["MODIFY"], expires_in_seconds=60, max_uses=9)
    own = relay.submit_claims(session, bundle(claim("MODIFY"), origin_agent="agent://relay"))
    assert own.decision == "PUBLISH"
    passed_on = relay.submit_claims(session, bundle(claim("MODIFY"), origin_agent="agent://hers"))
    assert passed_on.decision == ("ESCALATE" if owner == "ann" else "PUBLISH")
    house.check(session)


def test_a_call_is_not_confirmed_by_whose_agent_asked_for_it(build_tools: BuildTools) -> None:  # noqa: F811
    house = build_tools(policy=rules(all=ALLOW_ALL, asks=deny("email.send", on_fail="ask")))
    session = house.session()
    agent, person = hired(house, "agent://x", Role.AGENT), hired(house, "human://x", Role.APPROVER)
    token = house.token(session, agent.principal)
    asked = one(agent.propose(session, [tool_call("email.send", token, "k", to="ana")]))
    card = house.bob.show_approval(str(asked.approval_id))
    refused(Code.FORBIDDEN, lambda: person.approve(card))
    # The same call, brought in by somebody else, under whatever key, is still what her agent wanted.
    for key in ("k", "l"):
        again = one(
            house.agent.propose(session, [tool_call("email.send", house.token(session), key, to="ana")])
        )
        theirs = house.bob.show_approval(str(again.approval_id))
        refused(Code.FORBIDDEN, partial(person.approve, theirs))
    another = one(
        house.agent.propose(session, [tool_call("email.send", house.token(session), "m", to="bert")])
    )
    decided = person.approve(house.bob.show_approval(str(another.approval_id)))
    assert (decided.status, house.toolbox.count) == ("approved", 1)
    house.check(session)


@pytest.mark.parametrize("tool", ["email.send", "mail"], ids=["run by the server", "run by its caller"])
@pytest.mark.parametrize("owner", [None, "ann"], ids=["her own", "of her agent"])
def test_a_call_that_was_denied_to_somebody_is_not_confirmed_by_them(
    build_tools: BuildTools,  # noqa: F811
    tool: str,
    owner: str | None,
) -> None:
    execute = "caller" if tool == "mail" else "server"
    asks = rules(all=ALLOW_ALL, asks=deny(tool, on_fail="ask"))
    house = build_tools(policy=with_tools(asks, mail={"executor": "caller", "schema": {"type": "object"}}))
    session = house.session()
    ann = hired(house, "human://ann", Role.APPROVER)
    first = ann if owner is None else hired(house, "agent://nightly", Role.AGENT, owner=owner)
    denied = one(first.propose(session, [tool_call(tool, None, "a", to="ana")], execute=execute))
    assert (denied.verdict, denied.reason_code) == ("deny", "NO_CAPABILITY")

    def card(to: str) -> Any:
        call = tool_call(tool, house.token(session), to, to=to)
        return house.bob.show_approval(
            str(one(house.agent.propose(session, [call], execute=execute)).approval_id)
        )

    hers = card("ana")
    refused(Code.FORBIDDEN, partial(ann.approve, hers))
    assert house.bob.approve(hers).status == "approved"
    assert ann.approve(card("bert")).status == "approved", "another call is nobody's yet"
    house.check(session)


@pytest.mark.parametrize("again", [{}, {"authority": {}, "by_words": True}], ids=["then", "since"])
def test_who_weakened_an_intent_does_not_approve_it_when_it_is_asked_for_again(again: Any) -> None:
    lab = Lab()
    lab.proposition("c")
    ids = tuple(lab.evidence("c", body=body).evidence_id for body in (1, 2))
    lab.findings = AuthorityFindings()
    lab.stage("update_epistemic_status", "c", to_status="proven", evidence_ids=ids)
    lab.decide("MODIFIED", ANN, to_status="supported")
    lab.decide("DEFERRED", BOB)
    lab.findings = AuthorityFindings(**again)
    asked = lab.stage(
        "update_epistemic_status", "c", to_status="supported", evidence_ids=ids, reason="as she said"
    )
    assert isinstance(asked, IntentStaged)
    assert lab.waiting.proposers == (AGENT.id,)
    assert code_of(lab.decide("APPROVED", ANN)) == "FORBIDDEN"
    also_hers = Principal(id="human://other", role=Role.APPROVER, owner=ANN.id)
    assert code_of(lab.decide("APPROVED", also_hers)) == "FORBIDDEN"
    lab.decide("APPROVED", BOB)
    assert lab.status("c") == "supported"


def test_an_intent_of_somebody_who_may_no_longer_is_not_carried_out() -> None:
    lab = Lab()
    lab.stage("create_proposition", "c", statement="s")
    lab.findings = AuthorityFindings(authority={AGENT.id: None})
    assert code_of(lab.decide("APPROVED")) == "CONFLICT"
    assert lab.waiting.status == "pending"
    lab.findings = AuthorityFindings()
    lab.decide("APPROVED")
    assert lab.status("c") == "unresolved"


def test_old_words_are_decided_as_they_were() -> None:
    """An entry without what is known of authority remembers nothing, and asks nothing about it."""
    lab = Lab()
    lab.stage("create_proposition", "c", statement="s")
    assert lab.waiting.shaped is msgspec.UNSET
    word = DecideApproval(
        approval_id=lab.waiting.approval_id, decision="APPROVED", content_hash=lab.waiting.content_hash
    )
    event = lab.ask(word, ANN)
    assert event.approval.approvals[0].gates is msgspec.UNSET  # type: ignore[union-attr]
    assert not lab.session.approvals.shapers


@pytest.mark.parametrize("by_rights", [True, msgspec.UNSET])
def test_entries_from_before_ids_counted_beside_owners_are_decided_as_they_were(
    by_rights: bool | msgspec.UnsetType,
) -> None:
    lab = Lab()
    lab.findings = AuthorityFindings(by_rights=by_rights)
    hers = Principal(id="agent://x", role=Role.AGENT, tier="PRIVILEGE", owner="old")
    change = Change(type="create_proposition", claim_id="c", statement="s")
    assert isinstance(lab.ask(StageIntent(change=change), hers), IntentStaged)
    (names,) = lab.session.approvals.shapers.values()
    assert names == (("old", "agent://x") if by_rights else ("old",))


@pytest.mark.parametrize("by_words", [True, msgspec.UNSET])
def test_entries_from_before_words_alone_counted_are_decided_as_they_were(
    by_words: bool | msgspec.UnsetType,
) -> None:
    lab = Lab()
    lab.findings = AuthorityFindings(by_words=by_words)
    change = Change(type="create_proposition", claim_id="c", statement="s")
    assert isinstance(lab.ask(StageIntent(change=change), AGENT), IntentStaged)
    told = (marks_of if by_words else content_of)(change)
    assert tuple(lab.session.approvals.shapers) == told
    lab.findings = ProposalFindings(calls=(None,), authority={}, by_words=by_words)
    lab.ask(Propose(provenance=Provenance(source="agent"), candidates=(CallCandidate(tool_id="t"),)), ANN)
    assert len(lab.session.approvals.shapers) == (2 if by_words else 1)


@pytest.mark.parametrize("first", [True, False], ids=["granted before", "granted after"])
def test_a_grant_does_not_cover_what_its_giver_shaped(first: bool) -> None:
    said = claim("MODIFY", statement="swap the disk and wipe the old one")
    with World(policy=policy(approvals={"require_human": ["MODIFY", "DELETE", "PRIVILEGE"]})) as house:
        session = house.session()

        def grant() -> None:
            house.ann.give_grant(session, principal=AGENT.id, tiers=["MODIFY"], expires_in_seconds=60)

        waiting = house.agent.submit_claims(session, bundle(claim("MODIFY", statement="swap the disk")))
        if first:
            grant()
        house.ann.modify(waiting, said)
        if not first:
            grant()
        assert house.agent.submit_claims(session, bundle(said, id="again")).decision == "ESCALATE"
        other = claim("MODIFY", statement="restart the checkout service")
        assert house.agent.submit_claims(session, bundle(other, id="new")).decision == "PUBLISH"
        house.check(session)
