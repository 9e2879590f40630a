"""No story runs or changes anything that was not allowed before it: random calls, and an auditor."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.policy import Policy
from beliefd.ledger.chain import policy_hash
from beliefd.protocol.substrate import ProposalAnswer
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.facts.attachments import Attachments
from beliefd.steward.facts.call_facts import presented
from beliefd.testing.world import AGENT, ENCODER, policy
from tests.claims.support import inbox_is_the_fold_of_all_ledgers
from tests.substrate.auditor import Auditor
from tests.substrate.support import (
    ALLOW_ALL,
    SUB_AGENT,
    Toolbox,
    ToolWorld,
    call_candidate,
    delta,
    deny,
    proposal,
    remove,
    tool_call,
    when,
)

TOOLS = ("t.read", "t.write")
KEYS = ("goal.a", "goal.b", "fact.a", "fact.b", "policy.x", "other.x")


def rules(**constraints: Any) -> Policy:
    named = {f"constraint.{name}": value for name, value in constraints.items()}
    return policy(constraints=named, approvals={"expires_seconds": 500})


BOTH = when("all", when("exists", "goal.a"), when("exists", "goal.b"))
ASK = deny("t.write", when=when("missing", "fact.a"), on_fail="ask")
POLICIES = (
    rules(all=ALLOW_ALL),
    rules(all=ALLOW_ALL, ask=ASK, **{"invariant.both": {"v": 1, "effect": "deny", "when": BOTH}}),
    rules(
        all=ALLOW_ALL,
        ask=ASK,
        also=deny("t.write", when=when("eq", "goal.a.value", 1), on_fail="ask"),
        read=deny("t.read", when=when("exists", "fact.b"), on_fail="degrade"),
        goals={
            "v": 1,
            "effect": "deny",
            "subject": {"capability": "write:goal"},
            "when": when("eq", "fact.a.value", 1),
            "on_fail": "ask",
        },
    ),
    rules(
        reads={"v": 1, "effect": "allow", "subject": {"tool_id": "t.read"}},
        writes={
            "v": 1,
            "effect": "allow",
            "subject": None,
            "when": when("in", "call.role", ["encoder", "agent"]),
            "on_fail": "defer",
        },
        first=deny("t.write", when=when("eq", "call.confirmed", False), on_fail="ask"),
        **{
            "invariant.ask": {
                "v": 1,
                "effect": "deny",
                "when": when("eq", "goal.b.value", 2),
                "on_fail": "ask",
            }
        },
    ),
    rules(all=ALLOW_ALL, bad={"v": 1, "effect": "deny", "subject": {"tool_id": "t.write"}, "when": 7}),
    rules(),
)

OWNERS = (AGENT, SUB_AGENT)
NEW = "a key of its own"
numbers = st.integers(0, 2)
seldom = st.sampled_from([False] * 5 + [True])
# Most stories should have questions in them.
policies = st.sampled_from([*POLICIES, *POLICIES[1:4], *POLICIES[1:4]])
deltas = st.builds(
    lambda key, value: delta(**{key.replace(".", "__"): value}), st.sampled_from(KEYS), numbers
) | st.builds(remove, st.sampled_from(KEYS))
decisions = st.sampled_from(["APPROVED", "APPROVED", "APPROVED", "REJECTED"])
behaviours = st.sampled_from(["ok", "ok", "ok", "raise", "odd", "spoil"])


class Substrate(RuleBasedStateMachine):
    """One session, three proposers, a person, and servers that die."""

    tokens = Bundle("tokens")
    target: "str | None" = None

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        path = ":memory:" if self.target is None else Path(self.folder.name) / "b.db"
        toolbox = Toolbox()
        for name in TOOLS:
            toolbox.add(name, self.run_tool, mutates=name == "t.write")
        self.house = ToolWorld(path, POLICIES[0], toolbox=toolbox)
        self.session = self.house.session()
        self.people = {AGENT: self.house.agent, SUB_AGENT: self.house.helper, ENCODER: self.house.encoder}
        self.number = 0
        self.owners: dict[str, Any] = {}
        self.waiting: list[str] = []

    def run_tool(self, n: int, do: str, items: list[int]) -> Any:
        if do == "raise":
            raise ValueError(f"no {n}")
        if do == "spoil":
            items.append(n)
        return object() if do == "odd" else {"n": n}

    # -- what is asked for ------------------------------------------------------------------------------

    @initialize(target=tokens, rules=policies)
    def begin(self, rules: Policy) -> Any:
        self.house.steward.in_force.adopt(rules)
        return multiple(
            *(self.keep(one, self.house.token(self.session, one, tools=list(TOOLS))) for one in OWNERS)
        )

    def keep(self, owner: Any, token: str) -> str:
        self.owners[token] = owner
        return token

    @rule(
        target=tokens,
        who=st.sampled_from(OWNERS),
        tools=st.lists(st.sampled_from(TOOLS), max_size=2),
        calls=st.none() | st.integers(0, 3),
        seconds=st.integers(1, 400),
    )
    def issue(self, who: Any, tools: list[str], calls: int | None, seconds: int) -> str:
        given = {"tools": tools, "budgets": {"calls": calls}}
        issued = self.house.root.issue_capability(
            self.session, agent_id=who.id, scope=given, expires_in_seconds=seconds
        )
        return self.keep(who, issued.token)

    @rule(target=tokens, parent=tokens, calls=st.none() | st.integers(0, 2))
    def hand_on(self, parent: str, calls: int | None) -> Any:
        try:
            issued = self.house.agent.issue_capability(
                self.session,
                agent_id=SUB_AGENT.id,
                scope={"tools": ["t.read"], "budgets": {"calls": calls}},
                parent_token=parent,
            )
        except BeliefdError:
            return multiple()
        return self.keep(SUB_AGENT, issued.token)

    @rule(token=consumes(tokens))
    def revoke(self, token: str) -> None:
        self.house.root.revoke_capability(f"{self.session}/{token.partition('.')[0]}")

    @rule(rules=policies)
    def adopt(self, rules: Policy) -> None:
        self.house.steward.in_force.adopt(rules)

    @rule(who=st.sampled_from([AGENT, ENCODER]), changes=st.lists(deltas, min_size=1, max_size=3), old=seldom)
    def change(self, who: Any, changes: list[Any], old: bool) -> None:
        self.propose(who, changes, "genesis" if old else None)

    @rule(value=numbers, gone=seldom, key=st.sampled_from(["goal.a", "goal.b", "fact.a", "fact.b"]))
    def write(self, value: int, gone: bool, key: str) -> None:
        """What the writer of a namespace may always ask for."""
        change = remove(key) if gone else delta(**{key.replace(".", "__"): value})
        self.propose(AGENT if key.startswith("goal") else ENCODER, [change])

    @rule(
        token=tokens,
        tool=st.sampled_from(TOOLS),
        key=st.sampled_from([None, "k1", "k2", *([NEW] * 3)]),
        do=behaviours,
        times=st.integers(1, 2),
        stranger=seldom,
    )
    def call(self, token: str, tool: str, key: str | None, do: str, times: int, stranger: bool) -> None:
        self.number += 1
        named = f"k-{self.number}" if key is NEW else key
        asked = tool_call(tool, token, named, n=self.number, do=do, items=[])
        owner = self.owners[token]
        self.propose(OWNERS[1 - OWNERS.index(owner)] if stranger else owner, [asked] * times)

    @rule(token=tokens, forged=st.sampled_from(["", "x", "cap-", "."]))
    def forge(self, token: str, forged: str) -> None:
        name, _, secret = token.partition(".")
        other = f"{'B' if secret[0] == 'A' else 'A'}{secret[1:]}"
        for bad in (forged or name, f"{name}.{other}"):
            self.propose(AGENT, [tool_call("t.read", bad, n=0, do="ok", items=[])], refused=True)

    def propose(
        self, who: Any, candidates: list[Any], snapshot: str | None = None, refused: bool = False
    ) -> ProposalAnswer:
        """INVARIANT of the test: where nothing is allowed, nothing has happened."""
        before, ran = self.world(), self.house.toolbox.count
        answer = self.people[who].propose(self.session, candidates, state_snapshot_id=snapshot)
        verdicts = {result.verdict for result in answer.results}
        assert not refused or verdicts == {"deny"}
        if "allow" not in verdicts:
            assert self.world() == before
            assert self.house.toolbox.count == ran
        for result in answer.results:
            if result.approval_id is not None:
                self.waiting.append(result.approval_id)
            assert (result.status is None) == (result.call_id is None)
            assert result.verdict == "allow" or (result.call_id is None and result.result is None)
        return answer

    def world(self) -> Any:
        """All that a refusal must leave as it is."""
        state = self.house.state(self.session)
        used = {name: state.substrate.capabilities[name].used for name in state.substrate.capabilities}
        return (
            dict(state.substrate.symbolic_state),
            state.substrate.state_snapshot_id,
            set(state.substrate.calls),
            set(state.substrate.call_keys),
            used,
        )

    # -- what people and time do ------------------------------------------------------------------------

    @rule(
        token=tokens,
        decision=decisions,
        rules=st.none() | policies,
        key=st.sampled_from(["goal.a", "fact.a"]),
        value=st.none() | numbers,
    )
    def ask_and_decide(
        self, token: str, decision: str, rules: Policy | None, key: str, value: int | None
    ) -> None:
        """A question, something that may happen meanwhile, and a person's word."""
        known = len(self.waiting)
        self.call(token, "t.write", NEW, "ok", 1, False)
        if rules is not None:
            self.adopt(rules)
        if value is not None:
            self.write(value, False, key)
        if len(self.waiting) > known:
            self.say(self.waiting[known], decision)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), decision=decisions)
    def decide(self, data: st.DataObject, decision: str) -> None:
        self.say(data.draw(st.sampled_from(self.waiting)), decision)

    def say(self, approval_id: str, decision: str) -> None:
        card = self.house.ann.show_approval(approval_id)
        before, ran = self.world(), self.house.toolbox.count
        try:
            answer = self.house.ann.decide(card, decision)
        except BeliefdError:
            assert self.world() == before
            assert self.house.toolbox.count == ran
            return
        assert card.status == "pending"
        result = answer.call
        if result is None or result.verdict != "allow":
            assert self.world() == before
            assert self.house.toolbox.count == ran
        if result is not None and result.approval_id is not None:
            self.waiting.append(result.approval_id)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        approval_id = data.draw(st.sampled_from(self.waiting))
        for person in self.people.values():
            try:
                person.withdraw_approval(approval_id)
            except BeliefdError:
                continue

    @rule(seconds=st.sampled_from([1, 40, 200, 600]))
    def wait(self, seconds: int) -> None:
        self.house.clock.advance(seconds)
        self.house.expire()

    # -- servers that die -------------------------------------------------------------------------------

    @rule(token=tokens, tool=st.sampled_from(TOOLS), key=st.sampled_from(["k1", "k2", "dead"]))
    def die_before_running(self, token: str, tool: str, key: str) -> None:
        """The decision is made; who should have run the call is gone."""
        self.number += 1
        capability_id, _, proof = presented(token, None)
        args = {"n": self.number, "do": "ok", "items": []}
        candidate = call_candidate(tool, args=args, capability_id=capability_id, idempotency_key=key)
        self.house.submit(self.session, proposal(candidate), AGENT, attachments=Attachments(proofs=(proof,)))
        self.reborn()

    @rule()
    def reborn(self) -> None:
        """Another steward on the same store, who remembers nothing."""
        old = self.house.steward
        self.house.runtime = bootstrap(
            old.store,
            old.in_force.policy,
            environment=self.house.clock.environment,
            registry=self.house.toolbox.registry,
        )

    # -- what must hold ---------------------------------------------------------------------------------

    @invariant()
    def everything_that_ran_was_allowed_before_and_ran_once(self) -> None:
        auditor = self.audited()
        allowed = [call["args"]["n"] for call in auditor.calls.values()]
        ran = [args["n"] for _, args in self.house.toolbox.ran]
        for number in set(ran):
            assert ran.count(number) <= allowed.count(number)

    def audited(self) -> Auditor:
        policies = {policy_hash(one): one for one in POLICIES}
        auditor = Auditor(policies).walk(self.house.ledger(self.session))
        state = self.house.state(self.session)
        assert auditor.state == dict(state.substrate.symbolic_state)
        assert auditor.snapshot == state.substrate.state_snapshot_id
        assert {name: call["status"] for name, call in auditor.calls.items()} == {
            name: state.substrate.calls[name].status for name in state.substrate.calls
        }
        assert {name for name, one in auditor.approvals.items() if one["open"]} == {
            name for name in state.approvals.by_id if state.approvals.by_id[name].status == "pending"
        }
        used = {name: one["calls"] for name, one in auditor.capabilities.items()}
        assert used == {
            name: state.substrate.capabilities[name].used.calls for name in state.substrate.capabilities
        }
        return auditor

    def teardown(self) -> None:
        self.house.clock.advance(10_000)
        while self.house.expire():
            pass
        auditor = self.audited()
        assert all(call["status"] != "scheduled" for call in auditor.calls.values())
        # Every call either ran or is known to be unknown: none is lost, none ran under an error of ours.
        ran = [args["n"] for _, args in self.house.toolbox.ran]
        finished = [one["args"]["n"] for one in auditor.calls.values() if one["status"] in ("ok", "error")]
        assert sorted(finished) == sorted(ran)
        self.house.check(self.session)
        inbox_is_the_fold_of_all_ledgers(self.house)
        secrets = [record for record in self.house.ledger(self.session) if b"capability_token" in record]
        assert secrets == []
        self.house.close()
        self.folder.cleanup()


class OnDisk(Substrate):
    target = "sqlite"


@pytest.mark.slow
@pytest.mark.parametrize("machine", [Substrate, OnDisk], ids=["memory", "sqlite"])
def test_no_story_runs_or_changes_anything_without_an_allowing_decision_before_it(machine: Any) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=80 if machine is Substrate else 20,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
