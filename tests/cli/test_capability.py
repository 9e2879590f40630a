"""`beliefd capability`: whoever ends what an agent may do finds all of it; and calls without an outcome."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import answer, beliefd, process

pytestmark = pytest.mark.slow
Options = tuple[str, ...]
RULES = {
    "constraints": {
        "constraint.all": {"v": 1, "effect": "allow", "subject": None},
        "constraint.asked": {"v": 1, "effect": "deny", "subject": {"tool_id": "asked"}, "on_fail": "ask"},
        "constraint.elsewhere": {
            "v": 1,
            "effect": "deny",
            "subject": {"tool_id": "elsewhere"},
            "on_fail": "ask",
        },
    },
    "tools": {"elsewhere": {"executor": "caller"}},
    "capabilities": [
        {
            "name": "office",
            "principals": ["agent://writer"],
            "scope": {"tools": ["quick", "hangs", "asked", "elsewhere"], "budgets": {"calls": 3}},
        }
    ],
}
MODULE = """
import threading
from beliefd.tools import tool


@tool("quick")
def quick() -> None:
    pass


@tool("hangs", timeout_ms=30)
def hangs() -> None:
    threading.Event().wait(2)


@tool("asked", timeout_ms=30)
def asked() -> None:
    threading.Event().wait(2)
"""


class Office:
    """A server with tools and a policy that issues, and who speaks to it."""

    def __init__(self, folder: Path, token: Callable[[str, str], Options]) -> None:
        self.folder = folder
        self.admin, self.agent, self.ana = (
            token("root", "admin"),
            token("writer", "agent"),
            token("ana", "approver"),
        )
        self.session: str = answer("session", "declare", "a", "b", *self.agent)["session_id"]

    def call(self, tool_id: str, **more: Any) -> tuple[Any, ...]:
        """The arguments that propose a call."""
        path = self.folder / "proposal.json"
        path.write_text(json.dumps([{"kind": "tool_call", "tool_id": tool_id, **more}]))
        return ("state", "propose", self.session, path, *self.agent)


@pytest.fixture
def office(tmp_path: Path, data: Path) -> Iterator[Office]:
    (tmp_path / "office_calls.py").write_text(MODULE)
    (tmp_path / "rules.json").write_text(json.dumps(RULES))
    rules = ("--policy", tmp_path / "rules.json", "--tools", "office_calls")
    server = process("serve", "--port", "0", "--data", data, *rules, cwd=tmp_path)

    def token(name: str, role: str) -> Options:
        made = beliefd("token", "create", "--data", data, "--name", name, "--role", role)
        return ("--url", address, "--token", made.stdout.splitlines()[-1])

    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        yield Office(tmp_path, token)
    finally:
        server.terminate()
        server.communicate(timeout=30)


def test_who_revokes_is_told_what_the_agent_still_has_and_finds_it(office: Office) -> None:
    derived = answer("capability", "issue", office.session, *office.agent)["capability"]["capability_id"]
    told = beliefd("capability", "revoke", derived, *office.admin)
    (root, child) = answer("capability", "list", office.session, *office.admin)["capabilities"]
    if root["rule"] is None:
        root, child = child, root
    assert (root["rule"], child["capability_id"]) == ("office", derived)
    assert f"agent://writer can still call tools with {root['capability_id']}" in told.stdout
    assert answer(*office.call("quick"))["results"][0]["status"] == "ok"
    listed = beliefd("capability", "list", office.session, *office.admin).stdout
    assert f"{root['capability_id']}  for agent://writer, issued by policy://office" in listed
    last = answer("capability", "revoke", root["capability_id"], *office.admin)
    assert last["still_held"] == []
    assert "can still" not in beliefd("capability", "revoke", root["capability_id"], *office.admin).stdout
    assert answer(*office.call("quick"), code=4)["results"][0]["reason_code"] == "BAD_CAPABILITY"


def test_the_timeline_names_what_policy_issued(office: Office) -> None:
    answer(*office.call("quick"))
    (root,) = answer("capability", "list", office.session, *office.agent)["capabilities"]
    name = root["capability_id"].partition("/")[2]
    timeline = beliefd("audit", "show", office.session, *office.agent).stdout.splitlines()
    assert [f"policy://office issues {name}" in line for line in timeline if "PROPOSE" in line] == [True]
    derived = answer("capability", "issue", office.session, *office.agent)["capability"]["capability_id"]
    timeline = beliefd("audit", "show", office.session, *office.agent).stdout.splitlines()
    assert f"{derived.partition('/')[2]} for agent://writer, out of {name}" in timeline[-1]


def test_what_is_printed_of_a_capability_tells_what_is_left_where_it_came_from(office: Office) -> None:
    for _ in range(3):
        answer(*office.call("quick"))
    issued = beliefd("capability", "issue", office.session, *office.agent).stdout
    shown = beliefd("capability", "show", office.session, issued.split()[0], *office.agent).stdout
    for told in (issued, shown):
        assert "0 of 3 calls used" in told
        (above,) = [line for line in told.splitlines() if line.startswith("out of ")]
        assert "3 of 3 calls used" in above


def test_a_call_that_nobody_knows_the_outcome_of_is_no_success(office: Office) -> None:
    assert answer(*office.call("hangs"), code=3)["results"][0]["status"] == "unknown"
    waiting = answer(*office.call("asked"), code=3)["results"][0]["approval_id"]
    decided = answer("inbox", "approve", waiting, "--yes", *office.ana, code=3)
    assert decided["call"]["status"] == "unknown"


def test_to_approve_what_waits_for_its_caller_has_worked(office: Office) -> None:
    asked = (*office.call("elsewhere"), "--execute", "caller")
    waiting = answer(*asked, code=3)["results"][0]["approval_id"]
    approved = beliefd("inbox", "approve", waiting, "--yes", *office.ana)
    assert approved.exit_code == 0, approved.stderr
    assert "approved; its agent can make the call now, until 2" in approved.stdout
    assert "nothing has run yet: its agent makes the call itself" in approved.stdout
    assert "ALLOWED" not in approved.stdout
    assert "null" not in approved.stdout, "it has no result yet"
    told = beliefd("audit", "who", "human://ana", *office.ana).stdout
    assert f"APPROVED {waiting}  allow elsewhere {{" in told


def test_tools_of_another_server_are_pinned_and_shown(tmp_path: Path, data: Path) -> None:
    offered, here = tmp_path / "tools.json", ("--data", data)
    offered.write_text(json.dumps({"tools": [{"name": "read_file", "input_schema": {"type": "object"}}]}))
    assert answer("tool", "pin", "files", offered, *here)["pinned"] == ["read_file"]
    assert beliefd("tool", "catalogue", "files", *here).stdout.startswith("read_file  WRITE_LIMITED  ")
    offered.write_text(json.dumps([{"name": "read_file", "input_schema": {}}]))
    told = beliefd("tool", "pin", "files", offered, *here).stdout
    assert "read_file is changed: apr-" in told
