"""`beliefd policy explain|test`, `state`, `capability`, `tool`: on files, and against a server with tools."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import answer, beliefd, process

SPECIFIED = {
    "constraint.no_send_email": {
        "v": 1,
        "effect": "deny",
        "subject": {"tool_id": "email.send"},
        "on_fail": "block",
    },
    "constraint.requires_source": {
        "v": 1,
        "effect": "deny",
        "subject": {"tool_id": "fs.write"},
        "when": {"op": "missing", "args": ["fact.source_ref"]},
        "on_fail": "ask",
    },
    "constraint.may_write": {"v": 1, "effect": "allow", "subject": {"tool_id": "fs.write"}},
}
TOOLS = {"fs.write": {"schema": {"type": "object", "required": ["path"]}}}
SOURCE = {"fact.source_ref": {"v": 1, "value": "runbook"}}


def _written(folder: Path, **documents: Any) -> dict[str, Path]:
    paths = {name: folder / f"{name}.json" for name in documents}
    for name, path in paths.items():
        path.write_text(json.dumps(documents[name]))
    return paths


@pytest.mark.parametrize(
    ("tool_id", "args", "state", "verdict", "reason_code", "code"),
    [
        ("email.send", {}, SOURCE, "deny", "DENIED", 4),
        ("fs.write", {"path": "/x"}, {}, "defer", "ASK", 3),
        ("fs.write", {"path": "/x"}, SOURCE, "allow", "ALLOWED", 0),
        ("fs.write", {}, SOURCE, "deny", "BAD_ARGUMENTS", 4),
        ("fs.read", {}, SOURCE, "deny", "NO_ALLOW", 4),
    ],
)
def test_the_constraints_of_the_specification_do_as_it_says_on_files(
    tmp_path: Path, tool_id: str, args: Any, state: Any, verdict: str, reason_code: str, code: int
) -> None:
    policy = {"constraints": SPECIFIED, "tools": TOOLS}
    files = _written(tmp_path, policy=policy, state=state, call={"tool_id": tool_id, "args": args})
    options = [part for name, path in files.items() for part in (f"--{name}", path)]
    told = answer("policy", "explain", *options, code=code)
    assert (told["verdict"], told["reason_code"]) == (verdict, reason_code)
    # A policy need not declare every tool of a server: whether there is one, files do not say.
    assert (told["left_out"][0], len(told["left_out"]) == 1) == ("capability", tool_id in TOOLS)
    assert beliefd("policy", "explain", *options).exit_code == code


def test_a_file_of_calls_passes_or_names_what_does_not(tmp_path: Path) -> None:
    case = {"call": {"tool_id": "email.send"}, "expect": {"verdict": "deny"}}
    wrong = {"name": "mail goes out", "call": {"tool_id": "email.send"}, "expect": {"verdict": "allow"}}
    files = _written(
        tmp_path, policy={"constraints": SPECIFIED}, good={"cases": [case]}, bad={"cases": [case, wrong]}
    )
    assert answer("policy", "test", files["good"], "--policy", files["policy"])["failed"] == 0
    failed = beliefd("policy", "test", files["bad"], "--policy", files["policy"])
    assert (failed.exit_code, failed.stdout.splitlines()[-1]) == (4, "1 passed, 1 failed")
    assert "mail goes out" in failed.stdout
    misspelt = _written(tmp_path, cases={"cases": [case | {"expect": {"verdict": "ask"}}]})["cases"]
    refused = beliefd("policy", "test", misspelt, "--policy", files["policy"])
    assert (refused.exit_code, "not one of allow, defer, deny" in refused.stderr) == (2, True)


def test_a_call_that_cannot_be_read_is_named_by_its_path(tmp_path: Path) -> None:
    files = _written(tmp_path, policy={}, state=[], call={"tool": "x"})
    options = [part for name, path in files.items() for part in (f"--{name}", path)]
    assert answer("policy", "explain", *options, code=2)["error"]["code"] == "INVALID_REQUEST"


def test_a_candidate_of_an_unknown_kind_is_told_the_known_ones(tmp_path: Path, data: Path) -> None:
    session = answer("session", "declare", "a", "b", "--data", data)["session_id"]
    proposal = _written(tmp_path, proposal=[{"kind": "call"}])["proposal"]
    error = answer("state", "propose", session, proposal, "--data", data, code=2)["error"]
    assert error["message"] == "`call` is not one of delta, tool_call"
    assert error["details"] == {"path": "$.candidates[0].kind"}
    told = beliefd("state", "propose", session, proposal, "--data", data)
    assert "`call` is not one of delta, tool_call" in told.stderr
    assert "$.candidates[0].kind" in told.stderr


TOOL_MODULE = '''
from beliefd.tools import tool


@tool("fs.write", schema={"type": "object", "required": ["path"]}, mutates=True)
def write(path: str) -> str:
    """Pretend to write."""
    return f"wrote {path}"


@tool("email.send")
def send() -> None:
    """Send mail."""
'''


@pytest.fixture
def url(tmp_path: Path, data: Path) -> Iterator[str]:
    (tmp_path / "office_tools.py").write_text(TOOL_MODULE)
    policy = _written(tmp_path, policy={"constraints": SPECIFIED})["policy"]
    rules = ("--policy", policy, "--tools", "office_tools")
    server = process("serve", "--port", "0", "--data", data, *rules, cwd=tmp_path)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().split()[-1]
    finally:
        server.terminate()
        server.communicate(timeout=30)


@pytest.mark.slow
def test_a_call_is_asked_for_confirmed_by_a_person_and_run_once(tmp_path: Path, data: Path, url: str) -> None:
    def token(name: str, role: str) -> tuple[str, ...]:
        made = beliefd("token", "create", "--data", data, "--name", name, "--role", role)
        return ("--url", url, "--token", made.stdout.splitlines()[-1])

    admin, agent, ana = token("root", "admin"), token("writer", "agent"), token("ana", "approver")
    assert [tool["tool_id"] for tool in answer("tool", "list", *agent)["tools"]] == ["email.send", "fs.write"]
    session = answer("session", "declare", "a", "b", *agent)["session_id"]
    asked = ("--agent", "agent://writer", "--tool", "*", "--calls", "2")
    issued = beliefd("capability", "issue", session, *asked, *admin)
    capability = issued.stdout.splitlines()[-1]
    assert beliefd("capability", "issue", session, *asked, *agent).exit_code == 4
    proof = {"kind": "tool_call", "capability_token": capability}
    write = {**proof, "tool_id": "fs.write", "args": {"path": "/x"}, "idempotency_key": "1"}
    proposal = _written(tmp_path, proposal=[write, {**proof, "tool_id": "email.send"}])["proposal"]
    told = answer("state", "propose", session, proposal, *agent, code=4)["results"]
    assert [result["verdict"] for result in told] == ["defer", "deny"]
    shown = beliefd("inbox", "show", told[0]["approval_id"], *ana)
    assert "fs.write" in shown.stdout
    decided = answer("inbox", "approve", told[0]["approval_id"], "--yes", *ana)
    assert decided["call"]["result"] == "wrote /x"
    again = _written(tmp_path, again=[write])["again"]
    assert answer("state", "propose", session, again, *agent)["results"][0]["reason_code"] == "REPEATED"
    name = issued.stdout.split()[0]
    assert answer("capability", "show", session, name, *admin)["used"]["calls"] == 1
    signed = beliefd("capability", "issue", session, *asked, "--signed", *admin).stdout.splitlines()[-1]
    assert len(signed) > len(capability)
    assert answer("capability", "revoke", name, *admin)["revoked_at"] is not None
    assert "fs.write: ok" in beliefd("audit", "show", session, *agent).stdout
    state = answer("state", "show", session, *agent)["f_sparse"]
    assert {key: value for key, value in state.items() if not key.startswith("policy.")} == SPECIFIED
    assert state["policy.adopted_by"] == "operator://local"


ISSUING = {
    "constraints": {"constraint.all": {"v": 1, "effect": "allow", "subject": None}},
    "capabilities": [
        {
            "name": "office",
            "principals": ["agent://writer"],
            "scope": {"tools": ["slow", "quick"], "budgets": {"calls": 9, "tokens": 50}},
        }
    ],
}
SLOW_MODULE = """
import pathlib, time
from beliefd.tools import tool


@tool("slow", uses={"tokens": 5})
def slow() -> None:
    pathlib.Path("began").touch()
    while not pathlib.Path("changed").exists():
        time.sleep(0.01)


@tool("quick", mutates=True, uses={"tokens": 5})
def quick() -> None:
    pathlib.Path("ran").touch()
"""


@pytest.mark.slow
def test_an_agent_calls_by_policy_alone_and_what_is_revoked_meanwhile_is_stopped(
    tmp_path: Path, data: Path
) -> None:
    (tmp_path / "slow_tools.py").write_text(SLOW_MODULE)
    policy = _written(tmp_path, policy=ISSUING)["policy"]

    def token(address: str, name: str, role: str) -> tuple[str, ...]:
        made = beliefd("token", "create", "--data", data, "--name", name, "--role", role)
        return ("--url", address, "--token", made.stdout.splitlines()[-1])

    rules = ("--policy", policy, "--tools", "slow_tools")
    server = process("serve", "--port", "0", "--data", data, *rules, cwd=tmp_path)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        admin, agent = token(address, "root", "admin"), token(address, "writer", "agent")
        other = token(address, "other", "agent")
        session = answer("session", "declare", "a", "b", *agent)["session_id"]
        issued = answer("capability", "issue", session, *agent)
        assert issued["capability"]["scope"]["tools"] == ["slow", "quick"]
        assert beliefd("capability", "issue", session, *other).exit_code == 2, "nothing is issued to it"
        more = ("--tool", "*", "--calls", "9", "--tokens", "50")
        assert beliefd("capability", "issue", session, *more, *agent).exit_code == 4
        calls = [
            {"kind": "tool_call", "tool_id": "slow"},
            {"kind": "tool_call", "tool_id": "quick", "idempotency_key": "1"},
        ]
        proposal = _written(tmp_path, proposal=calls)["proposal"]
        asked = process("state", "propose", session, proposal, *agent)
        while not (tmp_path / "began").exists():
            time.sleep(0.01)
        root = issued["capability"]["parent"]
        assert "5 reserved" in beliefd("capability", "show", session, root, *admin).stdout
        answer("capability", "revoke", f"{session}/{root}", *admin)
        (tmp_path / "changed").touch()
        told, _ = asked.communicate(timeout=30)
        assert asked.returncode == 4
        assert "deny BAD_CAPABILITY  stopped before it began" in told
        assert not (tmp_path / "ran").exists()
        assert "quick, before it began BAD_CAPABILITY" in beliefd("audit", "show", session, *agent).stdout
        assert beliefd("audit", "verify", session, *agent).exit_code == 0
    finally:
        server.terminate()
        server.communicate(timeout=30)


def test_tools_that_cannot_be_imported_are_named(data: Path) -> None:
    refused = beliefd("serve", "--port", "0", "--data", data, "--tools", "no_such_tools")
    assert (refused.exit_code, "no_such_tools" in refused.stderr) == (2, True)
