"""Handing capabilities on only narrows them, in every dimension, and makes no more of a budget."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.kernel.errors import Code
from beliefd.kernel.substrate.capabilities import Scope, out_of_scope, widened
from beliefd.kernel.substrate.tools import CallFinding, FileUse
from beliefd.testing.world import AGENT, refused
from beliefd.tools.registry import ToolResult
from tests.substrate.conftest import Build
from tests.substrate.support import ALLOW_ALL, SUB_AGENT, ToolWorld, codes, one, rules, scope, tool_call
from tests.substrate.test_capabilities import mangled

PARENT: dict[str, Any] = {
    "tools": ["note.read", "fs.read"],
    "fs_read_roots": ["/data/in"],
    "fs_write_roots": ["/data/out"],
    "net_allowlist": ["api.example.org"],
    "budgets": {"calls": 10, "tokens": 100, "cpu_ms": 1_000, "disk_bytes": 10_000},
}
WIDER: dict[str, dict[str, Any]] = {
    "another tool": {"tools": ["note.read", "email.send"]},
    "all tools": {"tools": ["*"]},
    "another read root": {"fs_read_roots": ["/data/other"]},
    "the root above": {"fs_read_roots": ["/data"]},
    "the file system": {"fs_read_roots": ["/"]},
    "a root with the same beginning": {"fs_read_roots": ["/data/input"]},
    "a write root where it may only read": {"fs_write_roots": ["/data/in"]},
    "another write root": {"fs_write_roots": ["/data/out2"]},
    "another host": {"net_allowlist": ["api.example.org", "evil.example.org"]},
    "a host below": {"net_allowlist": ["x.api.example.org"]},
    "all hosts": {"net_allowlist": ["*"]},
    **{
        f"{how} {name}": {"budgets": {**PARENT["budgets"], name: value}}
        for name in PARENT["budgets"]
        for how, value in (("more", PARENT["budgets"][name] + 1), ("unlimited", None))
    },
}
NARROWER: dict[str, dict[str, Any]] = {
    "the same": {},
    "one tool less": {"tools": ["note.read"]},
    "no tools": {"tools": []},
    "a folder below": {"fs_read_roots": ["/data/in/today"]},
    "reading where it may write": {"fs_read_roots": ["/data/out"]},
    "no roots": {"fs_read_roots": [], "fs_write_roots": []},
    "no hosts": {"net_allowlist": []},
    "a host in capitals": {"net_allowlist": ["API.Example.ORG"]},
    "nothing left": {"budgets": dict.fromkeys(PARENT["budgets"], 0)},
}


@pytest.mark.parametrize("change", WIDER.values(), ids=WIDER.keys())
def test_what_is_handed_on_cannot_be_wider(house: ToolWorld, change: dict[str, Any]) -> None:
    session = house.session()
    token = house.root.issue_capability(session, agent_id=AGENT.id, scope=PARENT).token
    before = house.hash(session)
    refused(
        Code.FORBIDDEN,
        lambda: house.agent.issue_capability(
            session, agent_id=SUB_AGENT.id, scope={**PARENT, **change}, parent_token=token
        ),
    )
    assert house.hash(session) == before
    house.check(session)


@pytest.mark.parametrize("change", NARROWER.values(), ids=NARROWER.keys())
def test_what_is_handed_on_may_be_narrower(house: ToolWorld, change: dict[str, Any]) -> None:
    session = house.session()
    token = house.root.issue_capability(session, agent_id=AGENT.id, scope=PARENT).token
    child = house.agent.issue_capability(
        session, agent_id=SUB_AGENT.id, scope={**PARENT, **change}, parent_token=token
    )
    assert child.capability.parent is not None


def test_what_is_handed_on_ends_with_what_it_came_out_of(house: ToolWorld) -> None:
    session = house.session()
    top = house.root.issue_capability(
        session, agent_id=AGENT.id, scope={"tools": ["*"]}, expires_in_seconds=60
    )
    child = house.agent.issue_capability(
        session, agent_id=SUB_AGENT.id, scope={"tools": ["*"]}, expires_in_seconds=600, parent_token=top.token
    )
    assert child.capability.expires_at == top.capability.expires_at
    house.clock.advance(60)
    assert codes(one(house.helper.propose(session, [tool_call("note.read", child.token)]))) == [
        "BAD_CAPABILITY"
    ]


def test_nobody_hands_on_what_is_not_theirs(house: ToolWorld) -> None:
    session = house.session()
    token = house.token(session, AGENT)

    def narrow(person: Any, parent: str) -> None:
        person.issue_capability(session, agent_id="agent://x", scope={"tools": []}, parent_token=parent)

    for parent in mangled(token):
        refused(Code.FORBIDDEN, partial(narrow, house.agent, parent))
    refused(Code.FORBIDDEN, lambda: narrow(house.helper, token))
    refused(Code.FORBIDDEN, lambda: narrow(house.root, token))
    assert len(house.state(session).substrate.capabilities) == 1
    house.check(session)


folders = st.lists(st.sampled_from(["a", "b", "ab"]), max_size=3).map(lambda parts: "/" + "/".join(parts))
amounts = st.none() | st.integers(0, 3)
scopes = st.builds(
    lambda tools, reads, writes, hosts, calls, tokens: scope(
        tools=tools,
        fs_read_roots=reads,
        fs_write_roots=writes,
        net_allowlist=hosts,
        budgets={"calls": calls, "tokens": tokens},
    ),
    st.lists(st.sampled_from(["t1", "t2", "*"]), max_size=2),
    st.lists(folders, max_size=2),
    st.lists(folders, max_size=2),
    st.lists(st.sampled_from(["h1", "H1", "h2", "*"]), max_size=2),
    amounts,
    amounts,
)
findings = st.builds(
    lambda files, hosts: CallFinding(files=tuple(files), hosts=tuple(hosts)),
    st.lists(
        st.builds(lambda path, writes: FileUse(path=path, writes=writes), folders, st.booleans()), max_size=2
    ),
    st.lists(st.sampled_from(["h1", "h2", "h3"]), max_size=2),
)


@settings(max_examples=500, deadline=None)
@given(scopes, scopes, st.sampled_from(["t1", "t2", "t3"]), findings)
def test_whatever_a_narrower_scope_covers_the_wider_one_covers(
    parent: Scope, child: Scope, tool: str, finding: CallFinding
) -> None:
    """The law behind handing on: if it is not refused as wider, it lets nothing through that was not."""
    if widened(parent, child) is None:
        if out_of_scope(child, tool, finding) == []:
            assert out_of_scope(parent, tool, finding) == []
        for name in ("calls", "tokens"):
            limit, left = getattr(parent.budgets, name), getattr(child.budgets, name)
            assert limit is None or (left is not None and left <= limit)


@settings(max_examples=200, deadline=None)
@given(scopes, scopes, scopes)
def test_narrowing_twice_is_narrowing(first: Scope, second: Scope, third: Scope) -> None:
    if widened(first, second) is None and widened(second, third) is None:
        assert widened(first, third) is None


def test_calls_are_counted_when_they_are_let_through(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL))
    session = house.session()
    token = house.token(session, budgets={"calls": 2})
    verdicts = [
        one(house.agent.propose(session, [tool_call("note.read", token)])).reason_code for _ in range(3)
    ]
    assert verdicts == ["ALLOWED", "ALLOWED", "BUDGET_EXHAUSTED"]
    assert house.toolbox.count == 2
    house.check(session)


def test_one_proposal_cannot_spend_a_budget_twice(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL))
    session = house.session()
    token = house.token(session, budgets={"calls": 3})
    answer = house.agent.propose(session, [tool_call("note.read", token)] * 10)
    assert [result.reason_code for result in answer.results] == ["ALLOWED"] * 3 + ["BUDGET_EXHAUSTED"] * 7
    assert house.toolbox.count == 3
    assert house.state(session).substrate.capabilities[token.partition(".")[0]].used.calls == 3
    house.check(session)


def test_what_is_refused_costs_nothing(house: ToolWorld) -> None:
    session = house.session()
    token = house.token(session, tools=["note.read"], budgets={"calls": 1})
    for _ in range(3):
        assert one(house.agent.propose(session, [tool_call("calc.add", token, a=1, b=2)])).verdict == "deny"
    assert one(house.agent.propose(session, [tool_call("note.read", token)])).verdict == "allow"


@pytest.mark.parametrize("budget", ["tokens", "cpu_ms", "disk_bytes"])
def test_what_tools_report_is_counted_against_the_budget(build: Build, budget: str) -> None:
    house = build(policy=rules(all=ALLOW_ALL))
    house.toolbox.add("costly", lambda: ToolResult("done", **{budget: 60}))
    session = house.session()
    token = house.token(session, budgets={budget: 100})
    verdicts = [one(house.agent.propose(session, [tool_call("costly", token)])).reason_code for _ in range(3)]
    assert verdicts == ["ALLOWED", "BUDGET_EXHAUSTED", "BUDGET_EXHAUSTED"], "40 do not do for another one"
    used = house.agent.show_capability(session, token.partition(".")[0]).used
    assert getattr(used, budget) == 60
    house.check(session)


def test_a_failed_call_has_been_made_all_the_same(house: ToolWorld) -> None:
    def fail() -> None:
        raise ValueError("no")

    house.toolbox.add("fails", fail)
    session = house.session()
    token = house.token(session, budgets={"calls": 1})
    assert one(house.agent.propose(session, [tool_call("fails", token)])).status == "error"
    assert codes(one(house.agent.propose(session, [tool_call("fails", token)]))) == ["BUDGET_EXHAUSTED"]


def test_handing_on_does_not_make_more_of_a_budget(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL))
    house.toolbox.add("costly", lambda: ToolResult("done", tokens=60))
    session = house.session()
    top = house.token(session, budgets={"tokens": 120, "calls": 5})
    children = [
        house.agent.issue_capability(
            session,
            agent_id=SUB_AGENT.id,
            scope={"tools": ["*"], "budgets": {"tokens": 120, "calls": 5}},
            parent_token=top,
        ).token
        for _ in range(2)
    ]
    for child in children:
        assert one(house.helper.propose(session, [tool_call("costly", child)])).verdict == "allow"
    for child in children:
        answer = one(house.helper.propose(session, [tool_call("costly", child)]))
        assert codes(answer) == ["BUDGET_EXHAUSTED"]
        assert top.partition(".")[0] in answer.reasons[0].text, "the ancestor's budget is named"
    assert codes(one(house.agent.propose(session, [tool_call("costly", top)]))) == ["BUDGET_EXHAUSTED"]
    assert house.toolbox.count == 2
    house.check(session)


@pytest.mark.parametrize("report", [-60, 1.5, "many", None, 2**60, True])
def test_a_report_that_cannot_be_counted_is_no_refund(house: ToolWorld, report: Any) -> None:
    house.toolbox.add("liar", lambda: ToolResult("done", tokens=report))
    session = house.session()
    token = house.token(session, budgets={"tokens": 100})
    answer = one(house.agent.propose(session, [tool_call("liar", token)]))
    assert answer.status == "error"
    assert "cannot be counted" in answer.error
    assert house.state(session).substrate.capabilities[token.partition(".")[0]].used.tokens == 0
    house.check(session)


def test_no_sum_of_reports_is_too_large_to_be_recorded(house: ToolWorld) -> None:
    house.toolbox.add("huge", lambda: ToolResult("done", tokens=2**53 - 1))
    session = house.session()
    token = house.token(session)
    for _ in range(2):
        assert one(house.agent.propose(session, [tool_call("huge", token)])).status == "ok"
    assert house.state(session).substrate.capabilities[token.partition(".")[0]].used.tokens == 2**53 - 1
    assert house.hash(session)
    house.check(session)
