"""What callers report of calls that they ran: whose word it is, what is kept of it and what rests on it."""

import msgspec
import pytest
from msgspec.structs import replace

from beliefd.kernel.context.policy import ContextPolicy
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal, Role
from beliefd.testing.world import AGENT, OTHER_AGENT
from tests.claims.support import bundle, claim, pointer
from tests.substrate.conftest import Build
from tests.substrate.support import ToolWorld
from tests.substrate.test_permits import RULES, ask, wants

GATEWAY = Principal(id="gateway://files", role=Role.TOOL, tier="PRIVILEGE")


@pytest.fixture
def house(build: Build) -> ToolWorld:
    return build(policy=RULES)


def test_a_gateway_witnesses_what_goes_through_it(house: ToolWorld) -> None:
    session = house.session()
    gateway = house.person(GATEWAY)
    token = house.token(session, GATEWAY)
    call_id = str(ask(gateway, session, wants("Bash", token, "use-1", command="ls")).call_id)
    told = gateway.report_outcome(session, call_id, "ok", result="text", structured={"files": ["a", "b"]})
    assert told.label == "witnessed"
    kept = house.agent.read_content(str(told.content))
    assert msgspec.json.decode(kept) == {"result": "text", "structured": {"files": ["a", "b"]}}


def test_policy_says_who_witnesses(build: Build) -> None:
    hook = Principal(id="hook://laptop", role=Role.TOOL, tier="PRIVILEGE")
    house = build(policy=replace(RULES, context=ContextPolicy(witnesses=("hook://*",))))
    session = house.session()
    for who, label in ((hook, "witnessed"), (GATEWAY, "attested")):
        call = wants("Bash", house.token(session, who), f"use-{who.id}", command="ls")
        call_id = str(ask(house.person(who), session, call).call_id)
        assert house.person(who).report_outcome(session, call_id, "ok", result="text").label == label


@pytest.mark.parametrize(("who", "label"), [(AGENT, "attested"), (GATEWAY, "witnessed")])
def test_a_claim_that_cites_a_reported_result_rests_on_what_the_report_is_worth(
    house: ToolWorld, who: Principal, label: str
) -> None:
    session = house.session()
    caller = house.person(who)
    token = house.token(session, who)
    call_id = str(ask(caller, session, wants("Bash", token, "use-1", command="uptime")).call_id)
    told = caller.report_outcome(session, call_id, "ok", result={"load": [17.25, 18.5, 19.75]})
    cited = pointer(source=f"call://{call_id}", evidence_hash=str(told.result_hash))
    other = house.person(OTHER_AGENT)
    said = claim(kind="FACT", evidence_pointers=[cited])
    judged = other.submit_claims(session, bundle(said, origin_agent=OTHER_AGENT.id))
    (found,) = judged.standings["c1"].evidence
    assert (found.state, who.id in found.by) == (label, True)
    seen = other.observe(session, quantity="load", call_id=call_id, pointer="/load")
    assert (seen.label, seen.count) == (label, 3)
    house.check(session)


def test_a_result_of_any_length_leaves_a_digest_in_the_ledger(house: ToolWorld) -> None:
    session = house.session()
    call_id = str(ask(house.agent, session, wants("Bash", house.token(session), "use-1", x=1)).call_id)
    told = house.agent.report_outcome(session, call_id, "ok", result="x" * 3_000_000)
    assert len(house.entries(session)[-1].record) < 5_000
    assert house.agent.show_call(session, call_id).size == 3_000_000 + len('{"result":""}')
    assert len(house.agent.read_content(str(told.content))) > 3_000_000


def test_a_result_that_is_more_than_its_reporter_may_bring_is_recorded_and_not_kept(build: Build) -> None:
    content = {"max_items_per_principal": 1}
    held = msgspec.to_builtins(RULES)
    house = build(policy=msgspec.convert({**held, "content": content}, Policy))
    session = house.session()
    token = house.token(session)
    for number, kept in ((1, True), (2, False)):
        call = wants("Bash", token, f"use-{number}", command="ls")
        call_id = str(ask(house.agent, session, call).call_id)
        told = house.agent.report_outcome(session, call_id, "ok", result=number)
        assert (told.status, told.content is not None, told.result_hash is not None) == ("ok", kept, True)
    house.check(session)
