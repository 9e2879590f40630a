"""Constraints of version 2 in use: one line asks before large payments, over HTTP, and a person approves."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from beliefd.policy.compiling import problems
from beliefd.policy.files import parse_policy
from beliefd.protocol.approvals import ApprovalCard
from beliefd.testing.world import policy
from beliefd.tools.registry import Registry
from tests.substrate.support import ALLOW_ALL, Toolbox, ToolWorld, codes, delta, one, rules, tool_call, when
from tests.substrate.test_http import Web
from tests.substrate.vectors import CASES, Case

FILE: Final = b"""
constraints:
  constraint.all: {v: 1, effect: allow, subject: null}
  constraint.big: {v: 2, effect: ask, subject: {tool_id: pay}, when: {op: gt, args: [call.args.amount, 100]}}
"""


@pytest.fixture
def web() -> Iterator[Web]:
    toolbox = Toolbox()
    toolbox.add("pay", lambda amount: f"paid {amount}", mutates=True, tier="MODIFY")
    with ToolWorld(policy=parse_policy(FILE), toolbox=toolbox) as house:
        yield Web(house)


def test_ask_before_payments_over_100_is_one_line_and_goes_to_the_inbox(web: Web) -> None:
    token = web.token()
    (small, large, odd) = web.propose(
        "agent",
        tool_call("pay", token, "a", amount=100),
        tool_call("pay", token, "b", amount=100.01),
        tool_call("pay", token, "c", amount="101"),
    )
    assert (small["verdict"], small["result"]) == ("allow", "paid 100")
    assert (large["verdict"], large["reason_code"], large["on_fail"]) == ("defer", "ASK", "ask")
    (reason,) = large["reasons"]
    assert reason["constraint"] == "constraint.big"
    assert reason["remedy"] == (
        "a person must approve, or `call.args.amount` is not more than 100 (now 100.01)"
    )
    assert odd["verdict"] == "allow", "a text is no number: the tool's schema is where that is said"
    (card,) = web.get("approver", "/v1/approvals")["approvals"]
    assert card["approval_id"] == large["approval_id"]
    path = f"/v1/approvals/{card['approval_id']}"
    shown = web.get("approver", path)
    decided = web.post(
        "approver", f"{path}/decision", decision="APPROVED", content_hash=shown["content_hash"], reason="ok"
    )
    assert decided["call"]["result"] == "paid 100.01"
    assert [args["amount"] for _, args in web.house.toolbox.ran] == [100, "101", 100.01]
    web.house.check(web.session)


def test_an_allow_with_a_condition_fails_closed() -> None:
    """What cannot be compared is asked about, too: so it is written where no schema says what comes."""
    up_to = when("le", "call.args.amount", 100)
    safe = {"v": 2, "effect": "allow", "subject": {"tool_id": "pay"}, "when": up_to, "on_fail": "ask"}
    toolbox = Toolbox()
    toolbox.add("pay", lambda **amount: "paid")
    with ToolWorld(policy=rules(safe=safe), toolbox=toolbox) as house:
        session = house.session()
        token = house.token(session)
        for given, code in ({"amount": 100}, "ALLOWED"), ({"amount": 101}, "ASK"), ({"amount": "101"}, "ASK"):
            answer = one(house.agent.propose(session, [tool_call("pay", token, **given)]))
            assert answer.reason_code == code
        nothing = one(house.agent.propose(session, [tool_call("pay", token)]))
        assert nothing.reason_code == "ASK"
        assert nothing.reasons[0].remedy == (
            "a person must approve, or `call.args.amount` is at most 100 (now missing)"
        )


def asked(**constraint: Any) -> ToolWorld:
    subject = {"tool_id": "note.read"}
    return ToolWorld(policy=rules(all=ALLOW_ALL, one={"v": 2, "subject": subject, **constraint}))


def read_note(house: ToolWorld, session: str) -> Any:
    return one(house.agent.propose(session, [tool_call("note.read", house.token(session))]))


def test_the_remedy_of_an_ask_without_a_condition_is_a_person() -> None:
    with asked(effect="ask") as house:
        session = house.session()
        answer = read_note(house, session)
        assert (answer.reason_code, codes(answer)) == ("ASK", ["DENIED"])
        assert answer.reasons[0].text == "a person decides about it"
        assert answer.reasons[0].remedy == "a person must approve"
        card: ApprovalCard = house.ann.show_approval(answer.approval_id)
        assert house.ann.approve(card).call is not None
        assert house.toolbox.count == 1
        house.check(session)


def test_a_defer_names_the_evidence_that_is_missing_and_ends_when_it_is_there() -> None:
    condition = when("not", when("age_over", "fact.backup.at", 3600))
    missing = when("any", when("missing", "fact.backup.at"), when("missing", "fact.owner"), condition)
    with asked(effect="defer", when=missing) as house:
        session = house.session()
        answer = read_note(house, session)
        assert (answer.verdict, answer.reason_code, answer.on_fail) == ("defer", "DEFER", "defer")
        assert answer.reasons[0].missing == ("fact.backup.at", "fact.owner")
        assert house.toolbox.count == 0
        old = {"v": 1, "at": "2001-01-01T00:00:00Z"}
        house.encoder.propose(session, [delta(fact__backup=old, fact__owner="ana")])
        assert read_note(house, session).verdict == "allow"
        house.check(session)


@pytest.mark.parametrize(
    ("effect", "code"), [("ask", "ASK"), ("defer", "DEFER"), ("deny", "INVARIANT_BROKEN")]
)
def test_an_invariant_asks_and_defers_as_well(effect: str, code: str) -> None:
    few = {"v": 2, "effect": effect, "subject": None, "when": when("gt", "goal.spend.value", 100)}
    with ToolWorld(policy=rules(all=ALLOW_ALL, **{"invariant.few": few})) as house:
        session = house.session()
        within, beyond = house.agent.propose(
            session, [delta(goal__spend=100), delta(goal__spend=101)]
        ).results
        assert (within.reason_code, beyond.reason_code) == ("ALLOWED", code)
        assert codes(beyond) == ["INVARIANT_BROKEN"]
        assert (beyond.approval_id is not None) == (effect == "ask")
        house.check(session)


def test_a_degrade_lowers_the_mode() -> None:
    with asked(effect="degrade", when=when("count", "fact.errors.list", "ge", 2)) as house:
        session = house.session()
        assert read_note(house, session).verdict == "allow"
        house.encoder.propose(session, [delta(fact__errors={"v": 1, "list": ["a", "b"]})])
        answer = read_note(house, session)
        assert (answer.verdict, answer.reason_code, answer.on_fail) == ("deny", "DENIED", "degrade")
        assert house.agent.show_state(session).mode == "eco"
        house.check(session)


def test_an_age_is_judged_at_every_call() -> None:
    with asked(effect="deny", when=when("age_over", "fact.seen.at", 60)) as house:
        session = house.session()
        at = house.steward.environment.now()
        house.encoder.propose(session, [delta(fact__seen={"v": 1, "at": at})])
        assert read_note(house, session).verdict == "allow"
        house.clock.advance(61)
        answer = read_note(house, session)
        assert answer.verdict == "deny"
        assert answer.reasons[0].keys == ("call.now", "fact.seen.at")
        house.check(session)


def test_reasons_may_be_called_as_before() -> None:
    given = policy(
        constraints={
            "constraint.all": ALLOW_ALL,
            "constraint.x": {"v": 2, "effect": "ask", "subject": None},
        },
        arbitration={"reasons": "failure"},
    )
    with ToolWorld(policy=given) as house:
        answer = read_note(house, house.session())
    assert (answer.reason_code, answer.on_fail) == ("DENIED", "ask")
    assert answer.reasons[0].remedy == "nothing: there is no condition"


# -- the published table over HTTP -------------------------------------------------------------------------

LATER = [case for case in CASES if case.name.startswith(("operators:", "effects:"))]


def test_a_server_says_what_the_table_says() -> None:
    """Every case is an adoption, a session, a state and a proposal."""
    registry = Registry()
    for name in ("fs.write", "email.send"):
        registry.tool(name, capabilities=["outside"] if name == "email.send" else [])(lambda **_: "done")
    with ToolWorld(registry=registry) as house:
        web = Web(house)
        for case in LATER:
            answer = through(web, case)
            assert answer is None or answer == case.expect, case.name


def through(web: Web, case: Case) -> dict[str, Any] | None:
    """What the server says; None if it refuses the policy, as it must where that is malformed."""
    document = {"constraints": case.rules.constraints}
    adopt = {"constraints": {"constraint.all": ALLOW_ALL}}
    assert web.ask("admin", "PUT", "/v1/policy", adopt).is_success
    ontology = {"hypothesis_space_id": "h", "hypothesis_version": "1"}
    ontology |= {"causal_graph_ref": "g", "causal_graph_version": "1"}
    web.session = web.post("agent", "/v1/sessions", ontology=ontology, hypotheses=["a"])["session_id"]
    if case.state:
        (stated,) = web.propose("encoder", {"kind": "delta", "patch": {"set": case.state}})
        assert stated["verdict"] == "allow"
    token = web.token()
    answer = web.ask("admin", "PUT", "/v1/policy", document)
    if list(problems(case.rules)):
        assert answer.status_code == 400
        return None
    assert answer.is_success, answer.text
    call = {"kind": "tool_call", "capability_token": token, **case.call}
    (result,) = web.propose("agent", call)
    return {name: result.get(name) for name in case.expect}
