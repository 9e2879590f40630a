"""Capabilities: who may use them, for what, for how long and how often; and that they only ever narrow."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.kernel.errors import Code
from beliefd.kernel.substrate.capabilities import Scope, out_of_scope, widened, within
from beliefd.kernel.substrate.tools import CallFinding, FileUse
from beliefd.kernel.values import Role
from beliefd.tools.registry import ToolResult
from tests.claims.support import refused
from tests.substrate.conftest import Build
from tests.substrate.support import (
    AGENT,
    ALLOW_ALL,
    BY_ROLE,
    SUB_AGENT,
    House,
    codes,
    one,
    rules,
    scope,
    tool_call,
    with_tools,
)


def test_a_call_takes_a_capability(house: House) -> None:
    session = house.session()
    answer = one(house.agent.propose(session, [tool_call("note.read", None)]))
    assert (answer.verdict, codes(answer)) == ("deny", ["NO_CAPABILITY"])
    assert (
        one(house.agent.propose(session, [tool_call("note.read", house.token(session))])).result == "a note"
    )
    assert house.toolbox.count == 1


@pytest.mark.parametrize("role", list(Role))
def test_only_admins_issue_out_of_nothing(house: House, role: Role) -> None:
    session = house.session()
    person = house.person(BY_ROLE[role])

    def issue() -> Any:
        return person.issue_capability(session, agent_id="agent://x", scope={"tools": ["*"]})

    if role is Role.ADMIN:
        assert issue().capability.agent_id == "agent://x"
    else:
        refused(Code.FORBIDDEN, issue)
        assert house.events(session)[-1].code is Code.FORBIDDEN, "the refusal is on record"


def mangled(token: str) -> list[str]:
    name, _, secret = token.partition(".")
    return [
        name,
        f"{name}.",
        f".{secret}",
        secret,
        f"{name}.{secret[:-1]}",
        f"{name}.{secret}x",
        f"{name}.{secret[::-1]}",
        f"{name}.{'A' * len(secret)}",
        f"{name[:-1]}0.{secret}",
        f"{secret}.{name}",
        f" {token}",
        f"{token}\n",
        f"{token}.{token}",
        token.upper(),
        "",
        ".",
        "x" * 4096,
        "\u0000.\u0000",
        "bd_0123_secret",
    ]


@pytest.mark.parametrize("number", range(len(mangled("cap-x.y"))))
def test_a_forged_token_proves_nothing_and_leaves_no_trace_of_itself(house: House, number: int) -> None:
    session = house.session()
    forged = mangled(house.token(session))[number]
    answer = one(house.agent.propose(session, [tool_call("note.read", forged)]))
    assert (answer.verdict, codes(answer)) == ("deny", ["BAD_CAPABILITY"])
    assert house.toolbox.count == 0
    last = house.ledger(session)[-1]
    assert len(forged) < 4 or forged.startswith("cap-") or forged.encode() not in last
    house.check(session)


def test_tokens_are_told_once_and_are_in_no_ledger_and_no_other_answer(build: Build) -> None:
    house = build(rules=rules(all=ALLOW_ALL))
    session = house.session()
    issued = house.root.issue_capability(session, agent_id=AGENT.id, scope={"tools": ["*"]})
    child = house.agent.issue_capability(
        session, agent_id=SUB_AGENT.id, scope={"tools": ["note.read"]}, parent_token=issued.token
    )
    answers: list[Any] = [
        house.agent.propose(session, [tool_call("note.read", issued.token)]),
        house.helper.propose(
            session, [tool_call("note.read", child.token), tool_call("calc.add", child.token)]
        ),
        house.agent.show_capability(session, issued.capability.capability_id),
        house.agent.audit_trace(session),
        house.agent.export(session),
        house.root.revoke_capability(issued.capability.capability_id),
        house.agent.show_state(session),
    ]
    told = b"".join(one if isinstance(one, bytes) else msgspec.json.encode(one) for one in answers)
    told += b"".join(house.ledger(session)) + msgspec.json.encode(issued.capability)
    for token in (issued.token, child.token):
        secret = token.partition(".")[2].encode()
        assert len(secret) > 40
        assert secret not in told
    house.check(session)


def test_a_capability_is_good_for_its_agent_only(house: House) -> None:
    session = house.session()
    token = house.token(session, AGENT)
    answer = one(house.helper.propose(session, [tool_call("note.read", token)]))
    assert codes(answer) == ["BAD_CAPABILITY"]
    assert "issued to" in answer.reasons[0].text


def test_a_capability_for_any_agent_is_good_for_any_agent(house: House) -> None:
    session = house.session()
    issued = house.root.issue_capability(session, agent_id="*", scope={"tools": ["note.read"]})
    for person in (house.agent, house.helper):
        assert one(person.propose(session, [tool_call("note.read", issued.token)])).verdict == "allow"


def test_a_capability_is_good_in_its_session_only(house: House) -> None:
    session, other = house.session(), house.session()
    answer = one(house.agent.propose(other, [tool_call("note.read", house.token(session))]))
    assert codes(answer) == ["BAD_CAPABILITY"]


def test_a_capability_ends_when_its_time_is_up(house: House) -> None:
    session = house.session()
    token = house.root.issue_capability(
        session, agent_id=AGENT.id, scope={"tools": ["*"]}, expires_in_seconds=60
    ).token
    house.clock.advance(59.999)
    assert one(house.agent.propose(session, [tool_call("note.read", token)])).verdict == "allow"
    house.clock.advance(0.001)
    answer = one(house.agent.propose(session, [tool_call("note.read", token)]))
    assert codes(answer) == ["BAD_CAPABILITY"]
    assert "expired" in answer.reasons[0].text


def test_revoking_ends_a_capability_and_all_that_came_out_of_it(build: Build) -> None:
    house = build(rules=rules(all=ALLOW_ALL))
    session = house.session()
    top = house.root.issue_capability(session, agent_id=AGENT.id, scope={"tools": ["note.read"]})
    middle = house.agent.issue_capability(
        session, agent_id=SUB_AGENT.id, scope={"tools": ["note.read"]}, parent_token=top.token
    )
    bottom = house.helper.issue_capability(
        session, agent_id=AGENT.id, scope={"tools": ["note.read"]}, parent_token=middle.token
    )
    assert one(house.agent.propose(session, [tool_call("note.read", bottom.token)])).verdict == "allow"
    house.root.revoke_capability(top.capability.capability_id)
    for person, issued in ((house.agent, top), (house.helper, middle), (house.agent, bottom)):
        answer = one(person.propose(session, [tool_call("note.read", issued.token)]))
        assert codes(answer) == ["BAD_CAPABILITY"]
        assert "revoked" in answer.reasons[0].text
    refused(
        Code.FORBIDDEN,
        lambda: house.helper.issue_capability(
            session, agent_id="agent://x", scope={"tools": []}, parent_token=middle.token
        ),
    )
    assert house.toolbox.count == 1
    house.check(session)


def test_only_who_issued_it_or_an_admin_revokes(house: House) -> None:
    session = house.session()
    top = house.root.issue_capability(session, agent_id=AGENT.id, scope={"tools": ["*"]})
    name = top.capability.capability_id
    refused(Code.FORBIDDEN, lambda: house.agent.revoke_capability(name))
    child = house.agent.issue_capability(
        session, agent_id=SUB_AGENT.id, scope={"tools": ["*"]}, parent_token=top.token
    )
    refused(Code.FORBIDDEN, lambda: house.helper.revoke_capability(child.capability.capability_id))
    first = house.agent.revoke_capability(child.capability.capability_id).revoked_at
    house.clock.advance(10)
    assert house.root.revoke_capability(child.capability.capability_id).revoked_at == first
    refused(Code.NOT_FOUND, lambda: house.root.revoke_capability(f"{session}/cap-nobody"))
    refused(Code.NOT_FOUND, lambda: house.root.revoke_capability("cap-nobody"))
    refused(Code.NOT_FOUND, lambda: house.root.show_capability(session, "cap-nobody"))


# -- handing on -----------------------------------------------------------------------------------------

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
def test_what_is_handed_on_cannot_be_wider(house: House, change: dict[str, Any]) -> None:
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
def test_what_is_handed_on_may_be_narrower(house: House, change: dict[str, Any]) -> None:
    session = house.session()
    token = house.root.issue_capability(session, agent_id=AGENT.id, scope=PARENT).token
    child = house.agent.issue_capability(
        session, agent_id=SUB_AGENT.id, scope={**PARENT, **change}, parent_token=token
    )
    assert child.capability.parent is not None


def test_what_is_handed_on_ends_with_what_it_came_out_of(house: House) -> None:
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


def test_nobody_hands_on_what_is_not_theirs(house: House) -> None:
    session = house.session()
    token = house.token(session, AGENT)

    def narrow(person: Any, parent: str) -> None:
        person.issue_capability(session, agent_id="agent://x", scope={"tools": []}, parent_token=parent)

    for parent in mangled(token):
        refused(Code.FORBIDDEN, lambda parent=parent: narrow(house.agent, parent))
    refused(Code.FORBIDDEN, lambda: narrow(house.helper, token))
    refused(Code.FORBIDDEN, lambda: narrow(house.root, token))
    assert len(house.state(session).capabilities) == 1
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


# -- budgets --------------------------------------------------------------------------------------------


def test_calls_are_counted_when_they_are_let_through(build: Build) -> None:
    house = build(rules=rules(all=ALLOW_ALL))
    session = house.session()
    token = house.token(session, budgets={"calls": 2})
    verdicts = [
        one(house.agent.propose(session, [tool_call("note.read", token)])).reason_code for _ in range(3)
    ]
    assert verdicts == ["ALLOWED", "ALLOWED", "BUDGET_EXHAUSTED"]
    assert house.toolbox.count == 2
    house.check(session)


def test_one_proposal_cannot_spend_a_budget_twice(build: Build) -> None:
    house = build(rules=rules(all=ALLOW_ALL))
    session = house.session()
    token = house.token(session, budgets={"calls": 3})
    answer = house.agent.propose(session, [tool_call("note.read", token)] * 10)
    assert [result.reason_code for result in answer.results] == ["ALLOWED"] * 3 + ["BUDGET_EXHAUSTED"] * 7
    assert house.toolbox.count == 3
    assert house.state(session).capabilities[token.partition(".")[0]].used.calls == 3
    house.check(session)


def test_what_is_refused_costs_nothing(house: House) -> None:
    session = house.session()
    token = house.token(session, tools=["note.read"], budgets={"calls": 1})
    for _ in range(3):
        assert one(house.agent.propose(session, [tool_call("calc.add", token, a=1, b=2)])).verdict == "deny"
    assert one(house.agent.propose(session, [tool_call("note.read", token)])).verdict == "allow"


@pytest.mark.parametrize("budget", ["tokens", "cpu_ms", "disk_bytes"])
def test_what_tools_report_is_counted_against_the_budget(build: Build, budget: str) -> None:
    house = build(rules=rules(all=ALLOW_ALL))
    house.toolbox.add("costly", lambda: ToolResult("done", **{budget: 60}))
    session = house.session()
    token = house.token(session, budgets={budget: 100})
    verdicts = [one(house.agent.propose(session, [tool_call("costly", token)])).reason_code for _ in range(3)]
    assert verdicts == ["ALLOWED", "ALLOWED", "BUDGET_EXHAUSTED"]
    used = house.agent.show_capability(session, token.partition(".")[0]).used
    assert getattr(used, budget) == 120
    house.check(session)


def test_a_failed_call_has_been_made_all_the_same(house: House) -> None:
    def fail() -> None:
        raise ValueError("no")

    house.toolbox.add("fails", fail)
    session = house.session()
    token = house.token(session, budgets={"calls": 1})
    assert one(house.agent.propose(session, [tool_call("fails", token)])).status == "error"
    assert codes(one(house.agent.propose(session, [tool_call("fails", token)]))) == ["BUDGET_EXHAUSTED"]


def test_handing_on_does_not_make_more_of_a_budget(build: Build) -> None:
    house = build(rules=rules(all=ALLOW_ALL))
    house.toolbox.add("costly", lambda: ToolResult("done", tokens=60))
    session = house.session()
    top = house.token(session, budgets={"tokens": 100, "calls": 5})
    children = [
        house.agent.issue_capability(
            session,
            agent_id=SUB_AGENT.id,
            scope={"tools": ["*"], "budgets": {"tokens": 100, "calls": 5}},
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
def test_a_report_that_cannot_be_counted_is_no_refund(house: House, report: Any) -> None:
    house.toolbox.add("liar", lambda: ToolResult("done", tokens=report))
    session = house.session()
    token = house.token(session, budgets={"tokens": 100})
    answer = one(house.agent.propose(session, [tool_call("liar", token)]))
    assert answer.status == "error"
    assert "cannot be counted" in answer.error
    assert house.state(session).capabilities[token.partition(".")[0]].used.tokens == 0
    house.check(session)


def test_no_sum_of_reports_is_too_large_to_be_recorded(house: House) -> None:
    house.toolbox.add("huge", lambda: ToolResult("done", tokens=2**53 - 1))
    session = house.session()
    token = house.token(session)
    for _ in range(2):
        assert one(house.agent.propose(session, [tool_call("huge", token)])).status == "ok"
    assert house.state(session).capabilities[token.partition(".")[0]].used.tokens == 2**53 - 1
    assert house.hash(session)
    house.check(session)


# -- files ----------------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Two folders side by side with the same beginning, and links that lead out of the first."""
    root = Path(os.path.realpath(tmp_path))
    for name in ("in", "inside", "in/deep"):
        (root / name).mkdir()
        (root / name / "file").write_text("x")
    (root / "in/out").symlink_to(root / "inside")
    (root / "in/up").symlink_to("..")
    (root / "in/etc").symlink_to("/etc/passwd")
    (root / "in/loop").symlink_to(root / "in/loop")
    (root / "in/fine").symlink_to(root / "in/deep")
    (root / "alias").symlink_to(root / "in")
    return root


OUTSIDE = {
    "a path elsewhere": "/etc/passwd",
    "dots": "{root}/in/../inside/file",
    "dots at the end": "{root}/in/..",
    "dots through what is not there": "{root}/in/nowhere/../../inside/file",
    "a name with the same beginning": "{root}/inside/file",
    "a link to a folder outside": "{root}/in/out/file",
    "a link to a file outside": "{root}/in/etc",
    "a link upwards": "{root}/in/up/inside/file",
    "a link, then dots": "{root}/in/fine/../../inside/file",
    "a relative path": "in/file",
    "a relative path with dots": "../in/file",
    "a home": "~/file",
    "an address": "file://{root}/in/file",
    "nothing": "",
    "NUL": "{root}/in/file\x00.txt",
    "a folder above": "{root}",
    "a number": 7,
    "true": True,
    "an object": {"path": "{root}/in/file"},
    "a list with one bad path": ["{root}/in/file", "{root}/inside/file"],
    "a list in a list": [["{root}/in/file"]],
}
INSIDE = {
    "a file": "{root}/in/file",
    "the root": "{root}/in",
    "a file that is not there yet": "{root}/in/new/file",
    "slashes": "{root}//in///file/",
    "dots that stay inside": "{root}/in/deep/../file",
    "a link that stays inside": "{root}/in/fine/file",
    "a link to the root": "{root}/alias/file",
    "several files": ["{root}/in/file", "{root}/in/deep/file"],
    "no file at all": [],
}


def placed(value: Any, root: Path) -> Any:
    if isinstance(value, str):
        return value.replace("{root}", str(root))
    if isinstance(value, list):
        return [placed(item, root) for item in value]
    return {name: placed(item, root) for name, item in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("path", OUTSIDE.values(), ids=OUTSIDE.keys())
@pytest.mark.parametrize("writes", [False, True])
def test_no_path_leads_out_of_a_root(house: House, place: Path, path: Any, writes: bool) -> None:
    session = house.session()
    token = house.token(session, fs_read_roots=[f"{place}/in"], fs_write_roots=[f"{place}/in"])
    tool, more = ("fs.write", {"text": "x"}) if writes else ("fs.read", {})
    asked = tool_call(tool, token, "k", path=placed(path, place), **more)
    answer = one(house.agent.propose(session, [asked]))
    assert answer.verdict == "deny"
    assert set(codes(answer)) == {"OUT_OF_SCOPE"}
    assert house.toolbox.count == 0
    house.check(session)


@pytest.mark.parametrize("path", INSIDE.values(), ids=INSIDE.keys())
def test_what_stays_inside_a_root_is_let_through(house: House, place: Path, path: Any) -> None:
    session = house.session()
    token = house.token(session, fs_read_roots=[f"{place}/in"])
    answer = one(house.agent.propose(session, [tool_call("fs.read", token, path=placed(path, place))]))
    assert answer.verdict == "allow", answer.reasons


def test_reading_is_no_right_to_write_and_writing_is_one_to_read(house: House, place: Path) -> None:
    session = house.session()
    reads = house.token(session, fs_read_roots=[f"{place}/in"])
    writes = house.token(session, fs_write_roots=[f"{place}/in"])
    path = f"{place}/in/file"
    for token, tool, verdict in (
        (reads, "fs.read", "allow"),
        (reads, "fs.write", "deny"),
        (writes, "fs.read", "allow"),
        (writes, "fs.write", "allow"),
    ):
        more = {"text": "x"} if tool == "fs.write" else {}
        asked = tool_call(tool, token, token[-8:] + tool, path=path, **more)
        assert one(house.agent.propose(session, [asked])).verdict == verdict, (tool, verdict)


def test_the_root_of_the_file_system_holds_everything_that_has_a_path(house: House) -> None:
    session = house.session()
    token = house.token(session, fs_read_roots=["/"])
    assert (
        one(house.agent.propose(session, [tool_call("fs.read", token, path="/etc/passwd")])).verdict
        == "allow"
    )
    assert (
        one(house.agent.propose(session, [tool_call("fs.read", token, path="etc/passwd")])).verdict == "deny"
    )
    assert one(house.agent.propose(session, [tool_call("fs.read", token, path="/a\x00b")])).verdict == "deny"


def test_a_link_that_is_turned_after_the_decision_is_not_followed(house: House, place: Path) -> None:
    """Between the decision and the run a path may come to mean something else."""
    turned = place / "in" / "turned"
    turned.symlink_to(place / "in" / "deep")

    def turn() -> str:
        turned.unlink()
        turned.symlink_to(place / "inside")
        return "turned"

    house.toolbox.add("turn", turn)
    session = house.session()
    token = house.token(session, fs_read_roots=[f"{place}/in"])
    answer = house.agent.propose(
        session, [tool_call("turn", token), tool_call("fs.read", token, path=f"{turned}/file")]
    )
    assert [result.verdict for result in answer.results] == ["allow", "allow"]
    assert answer.results[1].status == "error"
    assert "leads elsewhere" in answer.results[1].error
    assert [name for name, _ in house.toolbox.ran] == ["turn"]
    house.check(session)


@pytest.mark.parametrize("root", ["data", "/data/", "/data/../etc", "/data/./x", "//data", "", ".", "/a//b"])
def test_a_root_that_is_not_plainly_one_is_refused(house: House, root: str) -> None:
    session = house.session()
    for name in ("fs_read_roots", "fs_write_roots"):
        refused(
            Code.INVALID_REQUEST,
            lambda name=name: house.root.issue_capability(
                session, agent_id=AGENT.id, scope={"tools": [], name: [root]}
            ),
        )


def test_within_goes_by_names_not_by_letters() -> None:
    assert within("/data", ("/data",))
    assert within("/data/x", ("/data",))
    assert not within("/database", ("/data",))
    assert not within("/dat", ("/data",))
    assert not within("", ("/",))
    assert not within("/data", ())


# -- hosts ----------------------------------------------------------------------------------------------

GOOD = [
    "https://api.example.org",
    "https://API.Example.ORG/path?x=1#y",
    "http://api.example.org:8080/",
    "api.example.org",
    "api.example.org:443",
    "api.example.org/path",
    "ftp://api.example.org/~user/@me",
    "https://[::1]/",
    "https://[0:0:0:0:0:0:0:1]:443/",
    "[::1]:80",
    ["https://api.example.org/a", "https://api.example.org/b"],
]
BAD = [
    "https://evil.example.org",
    "https://api.example.org.evil.org",
    "https://evil.org/api.example.org",
    "https://evil.org?api.example.org",
    "https://evil.org#api.example.org",
    "https://api.example.org@evil.org/",
    "https://api.example.org:x@evil.org/",
    "https://evil.org@api.example.org/",
    "https://evil.org\\@api.example.org/",
    "https://evil.org\\.api.example.org/",
    "https://api.example.org\\@evil.org/",
    "https://api.example.org @evil.org/",
    "https://evil.org\t@api.example.org",
    "https://evil.org\n.api.example.org",
    "https://api.example.org\u3002evil.org",
    "https://\uff41pi.example.org",
    "https://\u0430pi.example.org",
    "https:///api.example.org",
    "https:api.example.org",
    "//api.example.org",
    "https://api.example.org:port/",
    "https://api.example.org:99999/",
    "https://[::2]/",
    "https://[::1",
    "https://[api.example.org]/",
    "https://[::1%25eth0]/",
    "https://",
    "",
    "@",
    "2130706433",
    "0x7f.1",
    "127.0.0.1",
    "https://api.example.org\x00.evil.org",
    7,
    {"host": "api.example.org"},
    ["https://api.example.org", "https://evil.org"],
]


@pytest.mark.parametrize("url", GOOD, ids=str)
def test_a_host_of_the_allow_list_may_be_spoken_to(house: House, url: Any) -> None:
    session = house.session()
    token = house.token(session, net_allowlist=["Api.Example.org", "::1"])
    answer = one(house.agent.propose(session, [tool_call("net.get", token, url=url)]))
    assert answer.verdict == "allow", answer.reasons


@pytest.mark.parametrize("url", BAD, ids=repr)
def test_no_spelling_of_an_address_leads_to_another_host(house: House, url: Any) -> None:
    session = house.session()
    token = house.token(session, net_allowlist=["api.example.org", "::1"])
    answer = one(house.agent.propose(session, [tool_call("net.get", token, url=url)]))
    assert (answer.verdict, set(codes(answer))) == ("deny", {"OUT_OF_SCOPE"})
    assert house.toolbox.count == 0


def test_all_hosts_are_all_that_can_be_read(house: House) -> None:
    session = house.session()
    token = house.token(session, net_allowlist=["*"])
    assert (
        one(house.agent.propose(session, [tool_call("net.get", token, url="http://x.y")])).verdict == "allow"
    )
    assert (
        one(house.agent.propose(session, [tool_call("net.get", token, url="http://a\\b")])).verdict == "deny"
    )


def test_without_an_allow_list_nobody_is_spoken_to(house: House) -> None:
    session = house.session()
    answer = one(house.agent.propose(session, [tool_call("net.get", house.token(session), url="http://x.y")]))
    assert codes(answer) == ["OUT_OF_SCOPE"]


def test_everything_out_of_scope_is_told_at_once(house: House) -> None:
    session = house.session()
    token = house.token(session, tools=["note.read"])
    answer = one(house.agent.propose(session, [tool_call("fs.write", token, path="/x", text="t")]))
    assert codes(answer) == ["OUT_OF_SCOPE", "OUT_OF_SCOPE", "NO_IDEMPOTENCY_KEY"]


# -- tools as the policy sees them ----------------------------------------------------------------------


def test_a_policy_raises_what_a_tool_says_of_itself_and_never_lowers_it(build: Build) -> None:
    given = rules(
        all=ALLOW_ALL,
        diary={"v": 1, "effect": "deny", "subject": {"capability": "diary"}, "on_fail": "defer"},
        tier={
            "v": 1,
            "effect": "deny",
            "subject": {"capability": "outside"},
            "when": {"op": "not", "args": [{"op": "eq", "args": ["call.tier", "MODIFY"]}]},
        },
    )
    named = {
        "note__read": {"mutates": True, "tier": "DELETE", "capabilities": ["diary"]},
        "email__send": {"mutates": False, "tier": "READ_ONLY"},
        "fs__read": {"net_args": ["path"]},
    }
    house = build(rules=with_tools(given, **named))
    session = house.session()
    token = house.token(session, fs_read_roots=["/"])

    def asked(tool: str, key: str | None = None, **args: Any) -> Any:
        return one(house.agent.propose(session, [tool_call(tool, token, key, **args)]))

    assert codes(asked("note.read")) == ["NO_IDEMPOTENCY_KEY"]
    assert asked("note.read", "k1").on_fail == "defer"
    assert codes(asked("email.send", to="ana")) == ["NO_IDEMPOTENCY_KEY"]
    assert asked("email.send", "k2", to="ana").verdict == "allow"
    assert codes(asked("fs.read", path="/x")) == ["OUT_OF_SCOPE"], "now its path is an address too"
    house.check(session)


@pytest.mark.parametrize("schema", [{"type": "thing"}, {"$ref": "http://127.0.0.1:1/x"}, {"pattern": "("}])
def test_a_schema_of_the_policy_that_is_none_lets_no_call_of_its_tool_through(
    build: Build, schema: dict[str, Any]
) -> None:
    house = build(rules=with_tools(rules(all=ALLOW_ALL), note__read={"schema": schema}))
    session = house.session()
    token = house.token(session)
    assert codes(one(house.agent.propose(session, [tool_call("note.read", token)]))) == ["BAD_ARGUMENTS"]
    assert one(house.agent.propose(session, [tool_call("calc.add", token, a=1, b=2)])).result == 3


def test_arguments_must_fit_the_schema_of_the_tool_and_of_the_policy(build: Build) -> None:
    small = {"schema": {"properties": {"a": {"maximum": 10}}}}
    house = build(rules=with_tools(rules(all=ALLOW_ALL), calc__add=small))
    session = house.session()
    token = house.token(session)

    def asked(**args: Any) -> Any:
        return one(house.agent.propose(session, [tool_call("calc.add", token, **args)]))

    assert asked(a=1, b=2).result == 3
    for args in (
        {},
        {"a": 1},
        {"a": "1", "b": 2},
        {"a": 1, "b": 2, "c": 3},
        {"a": True, "b": 2},
        {"a": 11, "b": 1},
    ):
        answer = asked(**args)
        assert set(codes(answer)) == {"BAD_ARGUMENTS"}, args
        assert answer.reasons[0].remedy
    assert house.toolbox.count == 1
    house.check(session)


def test_errors_about_huge_arguments_stay_short(house: House) -> None:
    house.toolbox.add(
        "numbers", lambda items: 1, schema={"properties": {"items": {"items": {"type": "integer"}}}}
    )
    session = house.session()
    asked = tool_call("numbers", house.token(session), items=["x" * 10_000] * 500)
    answer = one(house.agent.propose(session, [asked]))
    assert 0 < len(answer.reasons) <= 20
    assert all(len(reason.text) <= 300 for reason in answer.reasons)


def test_an_unknown_tool_is_denied(house: House) -> None:
    session = house.session()
    answer = one(house.agent.propose(session, [tool_call("nobody", house.token(session))]))
    assert codes(answer) == ["UNKNOWN_TOOL"]
