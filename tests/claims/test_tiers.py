"""The tier that counts: never lower than declared, raised by what is decided and by policy."""

import unicodedata
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefd.conformance.tools import NAMES, registry
from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.claims.events import BundleGated
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.claims.tiers import effective_tiers, riskiest, tiers_of
from beliefd.kernel.errors import Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.scan.whole_words import first_said, phrases, whole_words
from beliefd.kernel.values import Principal, Role, Tier
from beliefd.steward.handlers.claims import read_bundle
from beliefd.testing.world import AGENT, OTHER_AGENT, World, policy, refused
from tests.claims.conftest import Build
from tests.claims.support import TIERS, bundle, claim
from tests.substrate.support import Toolbox

MOST = ["MODIFY", "DELETE", "PRIVILEGE"]
TOOL_TIERS = {name: tier.name for tier, name in NAMES.items()}
texts = st.text(st.sampled_from("adé x_-.\u200b\u0301ＤDfﬁаi"), min_size=1, max_size=12)
tiers = st.sampled_from(TIERS)
rules = st.fixed_dictionaries(
    {"to": tiers},
    optional={
        "agents": st.lists(st.sampled_from(["*", AGENT.id, "agent://team/*", "agent://x"]), max_size=2),
        "types": st.lists(st.sampled_from(["FACT", "INFERENCE", "DECISION"]), max_size=2),
        "words": st.lists(st.sampled_from(["ad", "fi", "d x", "dé"]), max_size=2),
    },
)
policies = st.fixed_dictionaries(
    {},
    optional={
        "raise": st.lists(rules, max_size=4),
        "tools": st.dictionaries(st.sampled_from(["*", "staging.*", *TOOL_TIERS]), tiers, max_size=3),
        "propositions": st.sampled_from(TIERS[1:]),
    },
)


@st.composite
def said(draw: st.DrawFn) -> ClaimBundle:
    claims = []
    for place in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["FACT", "INFERENCE", "DECISION"]))
        actions = st.sampled_from([*({"tool": name} for name in [*TOOL_TIERS, "lost"]), {"proposition": "p"}])
        more = {"action": draw(actions)} if kind == "DECISION" and draw(st.booleans()) else {}
        one: dict[str, Any] = {**claim(draw(tiers), kind, statement=draw(texts), id=f"c{place}"), **more}
        claims.append(one)
    return read_bundle(bundle(*claims, origin_agent=draw(st.sampled_from([AGENT.id, "agent://team/a"]))))


def judged(spoken: ClaimBundle, given: dict[str, Any]) -> dict[str, Tier]:
    return effective_tiers(spoken, AGENT.id, policy(tiers=given), TOOL_TIERS).by_claim  # type: ignore[arg-type]


# -- what counts -----------------------------------------------------------------------------------


@given(said(), policies)
def test_no_tier_is_lower_than_declared_and_none_is_raised_without_a_reason(
    spoken: ClaimBundle, given: dict[str, Any]
) -> None:
    found = effective_tiers(spoken, AGENT.id, policy(tiers=given), TOOL_TIERS)  # type: ignore[arg-type]
    raised = {one.claim_id: one for one in found.raised}
    for one in spoken.claims:
        assert found.of(one) >= Tier[one.risk_tier]
        assert (found.of(one) > Tier[one.risk_tier]) == (one.id in raised)
        if one.id in raised:
            assert raised[one.id].tier == found.of(one).name
            assert raised[one.id].reason
    # What is recorded says all that was worked out.
    assert tiers_of(spoken, found.raised) == found
    assert found.of(riskiest(spoken, found.raised)) == found.highest


@given(said(), policies, rules, st.dictionaries(st.sampled_from(["*", *TOOL_TIERS]), tiers, max_size=2))
def test_a_policy_that_says_more_lowers_nothing(
    spoken: ClaimBundle, given: dict[str, Any], rule: dict[str, Any], tools: dict[str, str]
) -> None:
    more = {**given, "raise": [*given.get("raise", ()), rule]}
    held = given.get("tools", {})
    more["tools"] = {**tools, **held} if set(tools) & set(held) else {**held, **tools}
    before, without, after = judged(spoken, given), judged(spoken, {}), judged(spoken, more)
    assert all(without[name] <= before[name] <= after[name] for name in before)


def test_a_decision_takes_the_tier_of_the_tool_and_an_unknown_one_the_highest() -> None:
    for tool, tier in {**TOOL_TIERS, "lost": "PRIVILEGE"}.items():
        spoken = read_bundle(bundle(claim("READ_ONLY", "DECISION", action={"tool": tool})))
        assert judged(spoken, {})["c1"].name == tier
    spoken = read_bundle(bundle(claim("READ_ONLY", "DECISION", action={"proposition": "p"})))
    assert judged(spoken, {})["c1"] is Tier.WRITE_LIMITED
    assert judged(spoken, {"propositions": "DELETE"})["c1"] is Tier.DELETE
    spoken = read_bundle(bundle(claim("READ_ONLY", "DECISION", action={"tool": "staging.look"})))
    assert judged(spoken, {"tools": {"staging.*": "MODIFY"}})["c1"] is Tier.MODIFY
    named = policy(tools={"staging.look": {"tier": "DELETE"}})
    assert effective_tiers(spoken, AGENT.id, named, {"staging.look": "READ_ONLY"}).highest is Tier.DELETE


# -- words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "text", "occurs"),
    [
        ("delete", "please DELETE it", True),
        ("delete", "undeleted", False),
        ("delete", "delete_all", True),
        ("delete", "ｄｅｌｅｔｅ", True),
        ("delete", "de\u200blete", True),
        ("delete", "d\u0435lete", True),
        ("supprimé", "SUPPRIME\u0301!", True),
        ("straße", "STRASSE", True),
        ("удалить", "надо УДАЛИТЬ всё", True),
        ("drop table", "drop\n  the table", False),
        ("drop table", "drop\n  table", True),
        ("rm -rf", "`rm -rf /`", True),
    ],
)
def test_words_are_whole_and_spelling_does_not_hide_them(wanted: str, text: str, occurs: bool) -> None:
    assert (first_said(whole_words(text), phrases((wanted,))) is not None) is occurs


@given(texts, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_the_words_of_a_text_are_the_same_however_it_is_composed(text: str, form: Any) -> None:
    assert whole_words(unicodedata.normalize(form, text)) == whole_words(text)


def test_a_text_is_normalised_character_by_character(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a run of marks a normaliser takes quadratic time; each of them alone takes none."""
    sizes: list[int] = []
    normalise = unicodedata.normalize

    def measured(form: Any, text: str) -> str:
        sizes.append(len(text))
        return normalise(form, text)

    monkeypatch.setattr(unicodedata, "normalize", measured)
    assert whole_words("a" + "\u0315\u0300" * 10_000 + "b \u0344") == ["ab"]
    assert max(sizes, default=1) <= 4


@pytest.mark.parametrize(
    "given",
    [
        {"tiers": {"raise": [{"words": ["--"], "to": "DELETE"}]}},
        {"tiers": {"raise": [{"agents": ["agent://a*"], "to": "DELETE"}]}},
        {"tiers": {"raise": [{"words": ["a"]}]}},
        {"tiers": {"tools": {"d*b": "DELETE"}}},
        {"tiers": {"propositions": "READ_ONLY"}},
        {"approvals": {"tools_without_person": ["db.*"]}},
        {"security": {"relays": {"agent://a": ["*"]}}},
        {"security": {"relays": {"agent://a": ["agent://b*"]}}},
    ],
)
def test_a_policy_that_is_loose_by_mistake_is_not_taken(given: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(given, Policy)


# -- where it counts -------------------------------------------------------------------------------

RAISING = {"raise": [{"words": ["purge"], "to": "MODIFY"}, {"words": ["erase"], "to": "PRIVILEGE"}]}
PURGE = bundle(claim(statement="purge the log"))


def test_the_tier_that_counts_is_recorded_and_told_with_its_reason(build: Build) -> None:
    house = build(policy=policy(tiers=RAISING))
    session = house.session()
    answer = house.agent.submit_claims(session, PURGE)
    assert (answer.decision, answer.tier, answer.claims[0].risk_tier) == ("PUBLISH", "MODIFY", "READ_ONLY")
    (raised,) = answer.raised
    assert (raised.claim_id, raised.tier) == ("c1", "MODIFY")
    assert "`purge`" in raised.reason
    (event,) = [one for one in house.deltas(session) if isinstance(one, BundleGated)]
    assert event.gated.raised == (raised,)
    assert house.state(session).claims.recent_tiers == ((AGENT.id, int(Tier.MODIFY)),)
    # It is told for information, as every MODIFY is.
    (card,) = house.ann.list_approvals(status="information").approvals
    assert (card.tier, card.title, card.raised, card.proposer) == (
        "MODIFY",
        "purge the log",
        [raised],
        AGENT.id,
    )
    assert house.agent.list_claims(session).claims == [answer]
    house.check(session)


def test_what_raises_nothing_leaves_no_mark_in_the_ledger(house: World) -> None:
    session = house.session()
    house.agent.submit_claims(session, bundle(claim("DELETE")))
    assert b'"raised"' not in house.entries(session)[-1].record
    assert b'"action"' not in house.entries(session)[-1].record


def test_a_detector_is_told_the_tier_that_counts() -> None:
    seen: list[int] = []

    def listening(_: Sequence[tuple[str, str]], tier: int, trail: Sequence[int]) -> Threat:
        seen.append(tier)
        return Threat(detector="listening")

    with World(policy=policy(tiers=RAISING), detector=listening) as house:
        house.agent.submit_claims(house.session(), PURGE)
    assert seen == [int(Tier.MODIFY)]


def test_grants_are_for_the_tier_that_counts(build: Build) -> None:
    house = build(policy=policy(tiers=RAISING, approvals={"require_human": ["READ_ONLY", *MOST]}))
    session = house.session()
    for tiers_granted, decision in ((["READ_ONLY"], "ESCALATE"), (["MODIFY"], "PUBLISH")):
        house.ann.give_grant(session, principal=AGENT.id, tiers=tiers_granted, expires_in_seconds=60)
        assert house.agent.submit_claims(session, PURGE).decision == decision


def test_no_grant_covers_a_decision_that_names_no_action(build: Build) -> None:
    house = build(policy=policy(approvals={"require_human": MOST}), registry=registry())
    session = house.session()
    house.ann.give_grant(session, principal=AGENT.id, tiers=["MODIFY"], expires_in_seconds=60)
    named = claim("MODIFY", "DECISION", action={"tool": "staging.resize"})
    assert house.agent.submit_claims(session, bundle(named)).decision == "PUBLISH"
    idle = claim("MODIFY", "DECISION")
    assert house.agent.submit_claims(session, bundle(idle, id="idle")).decision == "ESCALATE"
    (grant,) = house.agent.list_grants(session).grants
    assert grant.uses == 1


def test_a_tier_that_policy_has_raised_since_takes_the_approvers_of_today(build: Build) -> None:
    two = {"approvers": {"PRIVILEGE": {"required": 2}}}
    house = build(policy=policy(approvals={"require_human": MOST, **two}))
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("MODIFY", statement="erase it")))
    assert waiting.tier == "MODIFY"
    house.steward.in_force.adopt(policy(approvals={"require_human": MOST, **two}, tiers=RAISING))
    first = house.ann.approve(waiting)
    assert (first.status, first.bundle) == ("pending", None)
    second = house.bob.approve(waiting)
    assert second.outcome == "ESCALATE", "the card said that it was MODIFY"
    (card,) = house.ann.list_approvals().approvals
    assert (card.asking, card.tier, card.required) == (["human"], "PRIVILEGE", 2)
    assert house.ann.approve(card).status == "pending"
    published = house.bob.approve(card)
    assert published.bundle is not None
    assert (published.outcome, published.bundle.tier) == ("PUBLISH", "PRIVILEGE")
    house.check(session)


def test_a_policy_that_has_become_looser_does_not_make_it_easier(build: Build) -> None:
    two = {"approvers": {"PRIVILEGE": {"required": 2}}}
    house = build(policy=policy(approvals=two, tiers=RAISING))
    waiting = house.agent.submit_claims(house.session(), bundle(claim(statement="erase it")))
    assert (waiting.decision, waiting.tier) == ("ESCALATE", "PRIVILEGE")
    house.steward.in_force.adopt(policy())
    assert house.ann.approve(waiting).status == "pending"
    assert house.bob.approve(waiting).outcome == "PUBLISH"


def test_a_tool_that_is_gone_when_a_person_says_yes_is_refused(build: Build) -> None:
    known = registry()
    house = build(registry=known)
    session = house.session()
    drop = claim("DELETE", "DECISION", action={"tool": "staging.drop"})
    waiting = house.agent.submit_claims(session, bundle(drop))
    del known._tools["staging.drop"]
    decided = house.ann.approve(waiting)
    assert decided.outcome == "REFUSE"
    assert decided.bundle is not None
    assert "no tool `staging.drop` is registered" in decided.bundle.reason
    house.check(session)


def test_an_edit_names_what_is_there(build: Build) -> None:
    house = build(registry=registry())
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE")))
    for action in ({"tool": "lost"}, {"proposition": "lost"}):
        edit = claim("READ_ONLY", "DECISION", action=action)
        error = refused(Code.INVALID_REQUEST, lambda edit=edit: house.ann.modify(waiting, edit))  # type: ignore[misc]
        assert (error.details or {})["path"] == f"$.claims[0].action.{next(iter(action))}"
    edited = house.ann.modify(waiting, claim("READ_ONLY", "DECISION", action={"tool": "staging.drop"}))
    assert edited.bundle is not None
    assert (edited.bundle.tier, edited.outcome) == ("DELETE", "ESCALATE")
    house.check(session)


def test_checking_knows_tools_and_origins_as_submitting_does(build: Build) -> None:
    house = build(registry=registry())
    drop = claim("READ_ONLY", "DECISION", action={"tool": "staging.drop"})
    assert house.agent.check_claims(bundle(drop)).tier == "DELETE"
    assert house.agent.check_claims({"claims": [claim()]}).proposer == AGENT.id
    assert house.agent.check_claims(bundle(origin_agent="agent://x")).decision == "REFUSE"
    lost = claim("READ_ONLY", "DECISION", action={"tool": "lost"})
    error = refused(Code.INVALID_REQUEST, lambda: house.agent.check_claims(bundle(lost)))
    assert (error.details or {})["path"] == "$.claims[0].action.tool"


# -- who speaks ------------------------------------------------------------------------------------


def test_an_origin_that_is_left_out_is_the_principal_in_both_spellings_and_with_answers(house: World) -> None:
    session = house.session()
    sampled = claim(uncertainty={"method": "semantic_entropy", "samples": ["yes", "yes"]})
    for spoken in ({"claims": [claim()]}, {"claims": [sampled]}):
        answer = house.person(OTHER_AGENT).submit_claims(session, spoken)
        assert (answer.origin_agent, answer.proposer, answer.decision) == (*[OTHER_AGENT.id] * 2, "PUBLISH")
    kebab = house.agent.submit_claims(session, {"origin-agent": "agent://x", "claims": [claim()]})
    assert (kebab.origin_agent, kebab.decision) == ("agent://x", "REFUSE")
    house.check(session)


def test_a_relay_speaks_for_whom_policy_names_while_it_does(build: Build) -> None:
    house = build(policy=policy(security={"relays": {AGENT.id: ["agent://team/*"]}}))
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE"), origin_agent="agent://team/a"))
    assert (waiting.decision, waiting.origin_agent, waiting.proposer) == (
        "ESCALATE",
        "agent://team/a",
        AGENT.id,
    )
    # An edit keeps the origin and the relay.
    edited = house.ann.modify(waiting, claim("MODIFY"))
    assert edited.bundle is not None
    assert (edited.bundle.origin_agent, edited.bundle.proposer) == ("agent://team/a", AGENT.id)
    house.steward.in_force.adopt(policy())
    assert edited.approval.successor is not None
    last = house.bob.approve(house.bob.show_approval(edited.approval.successor))
    assert last.outcome == "REFUSE"
    house.check(session)


def test_the_first_item_of_equal_tiers_gives_the_title(house: World) -> None:
    spoken = bundle(claim("DELETE", statement="one", id="1"), claim("DELETE", statement="two", id="2"))
    house.agent.submit_claims(house.session(), spoken)
    (card,) = house.ann.list_approvals().approvals
    assert card.title == "one"


def test_a_box_of_tools_shows_the_tiers_that_count() -> None:
    with World(policy=policy(tiers={"tools": {"note.*": "DELETE"}}), registry=Toolbox().registry) as house:
        shown = {tool.tool_id: (tool.tier, tool.definition.tier) for tool in house.agent.list_tools().tools}
    assert shown["note.read"] == ("DELETE", "READ_ONLY")
    assert shown["email.send"] == ("MODIFY", "MODIFY")


def test_people_decide_without_an_action_only_where_policy_opens_it(build: Build) -> None:
    person = Principal(id="human://pat", role=Role.APPROVER, tier="PRIVILEGE")
    house = build(policy=policy(approvals={"decisions_without_action": ["approver"]}))
    session = house.session()
    idle = {"claims": [claim("READ_ONLY", "DECISION")]}
    assert house.person(person).submit_claims(session, idle).decision == "PUBLISH"
    assert house.agent.submit_claims(session, idle).decision == "ESCALATE"
