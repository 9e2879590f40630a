"""Budgets are reserved before and settled after: nothing that runs at once spends more than there is."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.decide import decide
from beliefd.kernel.event import Refused
from beliefd.kernel.substrate.capabilities import Amounts, Capability
from beliefd.kernel.substrate.commands import RecordOutcome, StartCall
from beliefd.kernel.substrate.events import Arbitrated, CallStarted, CallStopped
from beliefd.kernel.substrate.tools import StartFindings
from beliefd.ledger.envelope import command_of, read
from beliefd.ledger.replay import facts_of, fold
from beliefd.steward.effects.tools import EXECUTOR
from beliefd.steward.facts.attachments import Attachments
from beliefd.steward.facts.call_facts import presented
from beliefd.testing.world import AGENT, policy
from beliefd.tools.registry import ToolResult
from tests.substrate.support import (
    ALLOW_ALL,
    ToolWorld,
    call_candidate,
    codes,
    proposal,
    rules,
    tool_call,
)

AMOUNTS = ("tokens", "cpu_ms", "disk_bytes")
DECLARED = dict.fromkeys(AMOUNTS, 100)


def capability_of(house: ToolWorld, session: str, token: str) -> Capability:
    return house.state(session).substrate.capabilities[token.partition(".")[0]]


@pytest.fixture(params=[True, False], ids=["declared", "undeclared"])
def spender(request: pytest.FixtureRequest) -> Iterator[ToolWorld]:
    """A tool that uses 100 of each, whether it says so beforehand or not."""
    with ToolWorld(policy=rules(all=ALLOW_ALL)) as house:
        said: dict[str, Any] = {"uses": DECLARED} if request.param else {}
        house.toolbox.add("spend", lambda: ToolResult("x", 100, 100, 100), **said)
        yield house


@pytest.mark.parametrize("name", AMOUNTS)
def test_thirty_candidates_do_not_spend_more_than_there_is(spender: ToolWorld, name: str) -> None:
    session = spender.session()
    token = spender.token(session, budgets={name: 150})
    answer = spender.agent.propose(session, [tool_call("spend", token)] * 30)
    assert [result.status for result in answer.results] == ["ok"] + ["stopped"] * 29
    assert {code for result in answer.results[1:] for code in codes(result)} == {"BUDGET_EXHAUSTED"}
    assert getattr(capability_of(spender, session, token).used, name) == 100
    assert capability_of(spender, session, token).reserved is UNSET
    assert spender.toolbox.count == 1
    spender.check(session)


@pytest.mark.parametrize("name", AMOUNTS)
def test_twenty_proposals_at_once_do_not_spend_more_than_there_is(spender: ToolWorld, name: str) -> None:
    session = spender.session()
    token = spender.token(session, budgets={name: 350})
    with ThreadPoolExecutor(20) as callers:
        asked = [
            callers.submit(spender.agent.propose, session, [tool_call("spend", token)]) for _ in range(20)
        ]
        answers = [one.result().results[0] for one in asked]
    assert sum(answer.status == "ok" for answer in answers) == 3, "as many as there is enough for"
    assert getattr(capability_of(spender, session, token).used, name) == 300
    assert spender.toolbox.count == 3
    spender.check(session)


def test_calls_wait_for_what_others_give_back(house: ToolWorld) -> None:
    """Nobody knows what a tool needs that does not say: it gets all, and the next one waits for the rest."""
    house.toolbox.add("frugal", lambda: ToolResult("x", 1))
    session = house.session()
    token = house.token(session, budgets={"tokens": 150})
    with ThreadPoolExecutor(10) as callers:
        asked = [
            callers.submit(house.agent.propose, session, [tool_call("frugal", token)]) for _ in range(10)
        ]
        assert [one.result().results[0].status for one in asked] == ["ok"] * 10
    assert capability_of(house, session, token).used.tokens == 10


@pytest.mark.parametrize("first", [{"fail": True}, {"tokens": 0}, {"tokens": 1}], ids=["raised", "0", "1"])
def test_what_one_call_used_is_no_promise_for_the_next(house: ToolWorld, first: dict[str, Any]) -> None:
    """A cheap call, or one that failed, does not let twenty others begin at once on its word."""

    def spend(tokens: int = 100, fail: bool = False) -> ToolResult:
        if fail:
            raise ValueError
        return ToolResult("x", tokens)

    house.toolbox.add("spend", spend)
    session = house.session()
    token = house.token(session, budgets={"tokens": 150})
    house.agent.propose(session, [tool_call("spend", token, **first)])
    before = capability_of(house, session, token).used.tokens
    with ThreadPoolExecutor(20) as callers:
        asked = [callers.submit(house.agent.propose, session, [tool_call("spend", token)]) for _ in range(20)]
        answers = [one.result().results[0] for one in asked]
    assert sum(answer.status == "ok" for answer in answers) == 1
    assert capability_of(house, session, token).used.tokens == before + 100
    house.check(session)


@pytest.mark.parametrize(
    ("uses", "takes_rest", "expected"),
    [
        (None, True, 143),
        (None, UNSET, 7),
        ({"cpu_ms": 3}, True, 143),
        ({"tokens": 5}, True, 7),
        ({"tokens": 40}, True, 40),
        ({"tokens": 40}, UNSET, 40),
    ],
)
def test_what_is_not_declared_takes_the_rest_and_older_entries_are_decided_as_they_were(
    house: ToolWorld, uses: dict[str, int] | None, takes_rest: Any, expected: int
) -> None:
    """A call has used 7 of 150; entries that do not say so are older than the rule."""
    house.toolbox.add("spend", lambda: ToolResult("x", 7), **({} if uses is None else {"uses": uses}))
    session = house.session()
    token = house.token(session, budgets={"tokens": 150})
    house.agent.propose(session, [tool_call("spend", token)] * 2)
    entries = house.entries(session)
    (_, second) = [entry for one in entries if isinstance((entry := read(one.record)).delta, CallStarted)]
    assert isinstance(second.facts, StartFindings)
    assert second.facts.takes_rest is True
    before = fold(entries[: second.seq - 1])
    assert before is not None
    findings = replace(second.facts, takes_rest=takes_rest)
    facts = replace(facts_of(second, house.steward.in_force.policy), findings=findings)
    event = decide(before.session, command_of(second), facts)
    assert isinstance(event, CallStarted)
    assert event.call.reserved == Amounts(tokens=expected)


def test_what_is_set_aside_is_seen_and_comes_back(house: ToolWorld) -> None:
    seen: list[Any] = []
    session = house.session()
    token = house.token(session, budgets={"tokens": 150})

    def look() -> ToolResult:
        seen.append(house.root.show_capability(session, token.partition(".")[0]))
        return ToolResult(1, 7)

    house.toolbox.add("look", look, uses={"tokens": 40})
    house.agent.propose(session, [tool_call("look", token)])
    assert (seen[0].used.tokens, seen[0].reserved.tokens) == (0, 40)
    after = house.root.show_capability(session, token.partition(".")[0])
    assert (after.used.tokens, after.reserved.tokens) == (7, 0)


def test_what_nobody_knows_the_outcome_of_counts_as_spent_until_somebody_does(house: ToolWorld) -> None:
    stuck = threading.Event()
    house.toolbox.add("hangs", lambda: stuck.wait(60), timeout_ms=30, uses={"tokens": 60})
    session = house.session()
    token = house.token(session, budgets={"tokens": 100})
    (first,) = house.agent.propose(session, [tool_call("hangs", token)]).results
    assert first.status == "unknown"
    assert capability_of(house, session, token).used.tokens == 60
    (second,) = house.agent.propose(session, [tool_call("hangs", token)]).results
    assert codes(second) == ["BUDGET_EXHAUSTED"]
    told = RecordOutcome(call_id=first.call_id or "", status="ok", tokens=5)
    house.submit(session, told, EXECUTOR)
    assert capability_of(house, session, token).used.tokens == 5
    stuck.set()
    house.check(session)


def test_a_tool_that_uses_more_than_it_says_is_not_believed_again(house: ToolWorld) -> None:
    house.toolbox.add("liar", lambda: ToolResult("x", 100), uses={"tokens": 10})
    session = house.session()
    token = house.token(session, budgets={"tokens": 150})
    answer = house.agent.propose(session, [tool_call("liar", token)] * 3)
    assert [result.status for result in answer.results] == ["ok", "stopped", "stopped"]


LIMITS = {"calls": 6, "tokens": 50, "cpu_ms": 40}
SAID = {"cheap": Amounts(tokens=5, cpu_ms=3), "dear": Amounts(tokens=20, cpu_ms=15), "silent": None}


class Budget(RuleBasedStateMachine):
    """Calls that are let through, begin and end in any order, beside sums that a child could do."""

    def __init__(self) -> None:
        super().__init__()
        given = policy(
            constraints={"constraint.all": ALLOW_ALL}, modes={"rules": {"eco": {"budget_share": 0.5}}}
        )
        self.house = ToolWorld(policy=given)
        for name, said in SAID.items():
            uses = {} if said is None else {"uses": {"tokens": said.tokens, "cpu_ms": said.cpu_ms}}
            self.house.toolbox.add(name, lambda: None, **uses)
        self.session = self.house.session()
        self.token = self.house.token(self.session, budgets=LIMITS)
        self.child = self.house.agent.issue_capability(
            self.session,
            agent_id=AGENT.id,
            scope={"tools": ["*"], "budgets": LIMITS},
            parent_token=self.token,
        ).token
        self.scheduled: list[str] = []
        self.running: dict[str, Amounts] = {}
        self.unknown: dict[str, Amounts] = {}
        self.spent = {"tokens": 0, "cpu_ms": 0}
        self.calls = 0

    @rule(tool=st.sampled_from(sorted(SAID)), of_child=st.booleans(), many=st.integers(1, 3))
    def propose(self, tool: str, of_child: bool, many: int) -> None:
        capability_id, _, proof = presented(self.child if of_child else self.token, None)
        candidate = call_candidate(tool, capability_id=capability_id)
        outcome = self.house.submit(
            self.session,
            proposal(*[candidate] * many),
            AGENT,
            attachments=Attachments(proofs=(proof,) * many),
        )
        assert isinstance(outcome.event, Arbitrated)
        let = [result.call.call_id for result in outcome.event.results if result.call is not None]
        self.scheduled += let
        self.calls += len(let)

    @rule(pick=st.integers(0, 99))
    def begin(self, pick: int) -> None:
        if not self.scheduled:
            return
        call_id = self.scheduled.pop(pick % len(self.scheduled))
        event = self.house.submit(self.session, StartCall(call_id=call_id), EXECUTOR).event
        if isinstance(event, CallStarted):
            assert event.call.reserved is not UNSET
            self.running[call_id] = event.call.reserved
        else:
            assert isinstance(event, CallStopped)
            assert event.result.reason_code == "BUDGET_EXHAUSTED"
            self.calls -= 1

    @rule(pick=st.integers(0, 99), part=st.integers(0, 4), status=st.sampled_from(["ok", "error", "unknown"]))
    def end(self, pick: int, part: int, status: Any) -> None:
        """It uses some of what was set aside for it, never more."""
        if not self.running:
            return
        call_id = sorted(self.running)[pick % len(self.running)]
        aside = self.running.pop(call_id)
        used = {name: getattr(aside, name) * part // 4 for name in self.spent}
        self.tell(call_id, status, used)
        if status == "unknown":
            self.unknown[call_id] = aside
            return
        self.spent = {name: self.spent[name] + used[name] for name in used}

    @rule(part=st.integers(0, 4))
    def find_out(self, part: int) -> None:
        if not self.unknown:
            return
        call_id, aside = self.unknown.popitem()
        used = {name: getattr(aside, name) * part // 4 for name in self.spent}
        self.tell(call_id, "ok", used)
        self.spent = {name: self.spent[name] + used[name] for name in used}

    def tell(self, call_id: str, status: Any, used: dict[str, int]) -> None:
        told = RecordOutcome(call_id=call_id, status=status, tokens=used["tokens"], cpu_ms=used["cpu_ms"])
        assert not isinstance(self.house.submit(self.session, told, EXECUTOR).event, Refused)

    @invariant()
    def no_budget_is_overdrawn(self) -> None:
        root = capability_of(self.house, self.session, self.token)
        aside = Amounts() if root.reserved is UNSET else root.reserved
        for name, spent in self.spent.items():
            lost = sum(getattr(one, name) for one in self.unknown.values())
            open_now = sum(getattr(one, name) for one in self.running.values())
            assert getattr(root.used, name) == spent + lost
            assert getattr(aside, name) == open_now
            assert spent + lost + open_now <= LIMITS[name]
        assert root.used.calls == self.calls <= LIMITS["calls"]

    def teardown(self) -> None:
        self.house.check(self.session)
        self.house.close()


def test_no_story_overdraws_a_budget() -> None:
    run_state_machine_as_test(
        Budget, settings=settings(max_examples=40, stateful_step_count=30, deadline=None)
    )
