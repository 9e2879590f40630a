"""`beliefd claim`, `inbox` and `policy`: gates without a server, and a person's word through a real one."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from beliefd.testing.frozen import Clock
from tests.cli.runner import answer, beliefd
from tests.substrate.support import ALLOW_ALL, ToolWorld, deny, one, rules, tool_call
from tests.support.server import ServerProcess, server_process

SURE = {"method": "confidence_score", "value": 0.1}


def bundle(tier: str, statement: str = "drop the table `orders_old`", value: float = 0.1) -> dict[str, Any]:
    claim = {
        "statement": statement,
        "claim_type": "INFERENCE",
        "uncertainty": {**SURE, "value": value},
        "risk_tier": tier,
        "if_wrong_cost": "orders of last year are gone",
    }
    return {"claims": [claim]}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "bundle.json"
    path.write_text(json.dumps(bundle("DELETE")))
    return path


@pytest.mark.parametrize(
    ("tier", "value", "decision", "code"),
    [
        ("READ_ONLY", 0.1, "PUBLISH", 0),
        ("READ_ONLY", 0.9, "DEFER", 3),
        ("DELETE", 0.1, "ESCALATE", 3),
    ],
)
def test_a_file_is_checked_without_a_server_and_the_exit_code_tells(
    tmp_path: Path, tier: str, value: float, decision: str, code: int
) -> None:
    path = tmp_path / "b.json"
    path.write_text(json.dumps(bundle(tier, value=value)))
    judged = answer("claim", "check", path, code=code)
    assert (judged["decision"], judged["approval_id"]) == (decision, None)


def test_a_tier_that_is_too_low_is_refused(written: Path) -> None:
    judged = answer("claim", "check", written, "--tier", "MODIFY", code=4)
    assert judged["audit_trail"]["gates_failed"] == ["security"]


def test_a_bad_bundle_is_named_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "b.yaml"
    path.write_text(json.dumps(bundle("DESTROY")))
    refused = answer("claim", "check", path, code=2)
    assert refused["error"]["details"]["path"] == "$.claims[0].risk_tier"
    assert beliefd("claim", "check", tmp_path / "missing.json").exit_code == 2


def test_a_yes_from_where_the_tool_is_not_is_not_used_up(data: Path) -> None:
    """The command line opens the store itself, and knows no tools: the card warns, the item still waits."""
    data.mkdir(exist_ok=True)
    asks = rules(all=ALLOW_ALL, asks=deny("email.send", on_fail="ask"))
    today = Clock()  # the command line knows the time, and takes no yes to what has run out
    today.advance((datetime.now(UTC) - datetime.fromisoformat(today.now())).total_seconds())
    with ToolWorld(data / "beliefd.db", asks, clock=today) as house:
        session = house.session()
        asked = tool_call("email.send", house.token(session), "k", to="x")
        name = str(one(house.agent.propose(session, [asked])).approval_id)
    at = ("--data", data)
    shown = beliefd("inbox", "show", name, *at).stdout
    in_words = " ".join(shown.split())
    assert "cannot run now: no tool `email.send` is registered in this process; ask the server" in in_words
    assert "(`--url`)" in in_words
    assert "`beliefd policy adopt`" in in_words
    refused = beliefd("inbox", "approve", name, "--yes", *at)
    assert (refused.exit_code, "CONFLICT: it cannot happen now" in refused.stderr) == (4, True)
    assert "`beliefd policy adopt` makes it known here" in refused.stderr
    assert answer("inbox", "show", name, *at)["status"] == "pending"
    with ToolWorld(data / "beliefd.db", asks, clock=house.clock) as again:
        decided = again.ann.approve(again.ann.show_approval(name))
        assert (decided.approval.came_to, again.toolbox.count) == ("approved, and it ran", 1)


@pytest.fixture
def server(data: Path) -> Iterator[ServerProcess]:
    with server_process(data) as running:
        yield running


def _token(server: ServerProcess, data: Path, name: str, *role: str) -> tuple[str, ...]:
    made = beliefd("token", "create", "--data", data, "--name", name, "--role", *role)
    return ("--url", server.url, "--token", made.stdout.splitlines()[-1])


def test_who_asks_in_vain_is_told_what_to_do_next(server: ServerProcess, data: Path) -> None:
    ana = _token(server, data, "ana", "approver")
    for words, hint in (
        (("session", "show", "nosuch", *ana), "`beliefd session list`"),
        (("inbox", "show", "nosuch", *ana), "`beliefd inbox list`"),
        (("inbox", "list", "--url", server.url), "BELIEFD_TOKEN"),
        (("inbox", "list", "--url", server.url, "--token", "bd_none"), "BELIEFD_TOKEN"),
    ):
        told = beliefd(*words)
        assert (told.exit_code != 0, hint in told.stderr) == (True, True), words


def test_without_tokens_the_link_decides_and_who_forgets_it_is_told(
    server: ServerProcess, written: Path
) -> None:
    at = ("--url", server.url)
    session = answer("session", "declare", "a", "b", *at)["session_id"]
    name = answer("claim", "submit", session, written, *at, code=3)["approval_id"]
    own = beliefd("inbox", "approve", name, "--yes", *at)
    assert (own.exit_code, "the link that `beliefd serve` printed" in own.stderr) == (4, True)


@pytest.mark.slow
def test_a_claim_waits_in_the_inbox_until_somebody_else_approves_it(
    server: ServerProcess, data: Path, written: Path
) -> None:
    agent = _token(server, data, "writer", "agent", "--tier", "DELETE")
    ana = _token(server, data, "ana", "approver")
    session = answer("session", "declare", "a", "b", *agent)["session_id"]
    waiting = answer("claim", "submit", session, written, *agent, code=3)
    item = answer("inbox", "list", *ana)["approvals"][0]
    assert item["approval_id"] == waiting["approval_id"]
    shown = beliefd("inbox", "show", item["approval_id"], *ana).stdout
    assert "orders of last year are gone" in shown
    assert item["content_hash"] in shown
    assert "None" not in shown
    own = beliefd("inbox", "approve", item["approval_id"], "--yes", *agent)
    assert (own.exit_code, "FORBIDDEN" in own.stderr) == (4, True)
    unsure = beliefd("inbox", "approve", item["approval_id"], *ana, stdin="n\n")
    assert (unsure.exit_code, "approve this?" in unsure.stderr, "`--yes`" in unsure.stderr) == (1, True, True)
    other = beliefd("inbox", "approve", item["approval_id"], "--hash", "0" * 64, *ana)
    assert (other.exit_code, "content_hash" in other.stderr) == (4, True)
    decided = answer("inbox", "approve", item["approval_id"], "--yes", "--reason", "backed up", *ana)
    assert decided["outcome"] == "PUBLISH"
    published = answer("claim", "show", session, waiting["id"], *agent)
    assert published["audit_trail"]["human_approvals"][0]["approver"] == "human://ana"
    assert beliefd("inbox", "list", *ana).stdout == "nothing waits\n"
    timeline = beliefd("audit", "show", session, *agent).stdout
    assert "SUBMIT_CLAIMS" in timeline
    assert "APPROVED" in timeline


@pytest.mark.slow
def test_rejecting_editing_and_withdrawing_end_in_their_own_words(
    server: ServerProcess, data: Path, written: Path, tmp_path: Path
) -> None:
    agent = _token(server, data, "writer", "agent", "--tier", "DELETE")
    ana, ben = _token(server, data, "ana", "approver"), _token(server, data, "ben", "approver")
    session = answer("session", "declare", "a", "b", *agent)["session_id"]

    def submitted() -> str:
        return str(answer("claim", "submit", session, written, *agent, code=3)["approval_id"])

    rejected = answer("inbox", "reject", submitted(), "--yes", "--reason", "not today", *ana)
    assert (rejected["status"], rejected["outcome"]) == ("rejected", "REFUSE")
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(bundle("DELETE", "archive the table `orders_old`")))
    modified = answer("inbox", "modify", submitted(), edited, "--yes", *ana, code=3)
    assert (modified["status"], modified["outcome"]) == ("modified", "ESCALATE")
    successor = modified["bundle"]["approval_id"]
    assert beliefd("inbox", "approve", successor, "--yes", *ana).exit_code == 4
    assert answer("inbox", "approve", successor, "--yes", *ben)["outcome"] == "PUBLISH"
    assert answer("inbox", "withdraw", submitted(), *agent)["status"] == "withdrawn"
    bundles = answer("claim", "show", session, *agent)["claims"]
    assert sorted(item["decision"] for item in bundles) == ["PUBLISH", "REFUSE", "REFUSE", "REFUSE"]


def test_a_policy_file_is_checked_and_its_bad_line_named(tmp_path: Path) -> None:
    good = tmp_path / "good.yaml"
    good.write_text("uncertainty:\n  explain_above: 0.4\n")
    assert answer("policy", "check", good)["policy"]["uncertainty"]["explain_above"] == 0.4
    bad = tmp_path / "bad.yaml"
    bad.write_text("uncertainty:\n  explain_above: 0.4\n  defer_above: 7\n")
    refused = beliefd("policy", "check", bad)
    assert (refused.exit_code, "line 3" in refused.stderr) == (2, True)


def test_the_tier_that_counts_and_who_speaks_are_shown(tmp_path: Path) -> None:
    rules, said = tmp_path / "policy.json", tmp_path / "b.json"
    relays = {"agent://gateway": ["agent://planner"]}
    raising = [{"words": ["drop"], "to": "DELETE"}]
    rules.write_text(json.dumps({"tiers": {"raise": raising}, "security": {"relays": relays}}))
    said.write_text(json.dumps({"origin_agent": "agent://planner", **bundle("READ_ONLY")}))
    spoken = ("claim", "check", said, "--policy", rules, "--principal", "agent://gateway")
    shown = beliefd(*spoken).stdout
    assert "proposed by agent://gateway for agent://planner" in shown
    assert "INFERENCE DELETE drop the table" in shown
    assert "DELETE, declared as READ_ONLY: raised by policy: it says `drop`" in shown
    assert answer("claim", "check", said, "--policy", rules, code=4)["decision"] == "REFUSE"


def test_a_claim_can_be_checked_with_the_tools_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    module = 'from beliefd.tools import tool\n\n@tool("desk.burn", tier="DELETE")\ndef burn() -> None: ...\n'
    (tmp_path / "desk_tools.py").write_text(module)
    said = tmp_path / "b.json"
    claim = {**bundle("READ_ONLY")["claims"][0], "claim_type": "DECISION", "action": {"tool": "desk.burn"}}
    said.write_text(json.dumps({"claims": [claim]}))
    refused = answer("claim", "check", said, code=2)
    assert refused["error"]["details"]["path"] == "$.claims[0].action.tool"
    judged = answer("claim", "check", said, "--tools", "desk_tools", code=3)
    assert (judged["decision"], judged["tier"]) == ("ESCALATE", "DELETE")
    assert "decides to call desk.burn" in beliefd("claim", "check", said).stdout


def test_the_inbox_lists_a_bundle_by_its_riskiest_claim(server: ServerProcess, tmp_path: Path) -> None:
    one, two = bundle("READ_ONLY", "the table is old")["claims"], bundle("DELETE")["claims"]
    said = tmp_path / "b.json"
    said.write_text(json.dumps({"claims": [{**one[0], "id": "1"}, {**two[0], "id": "2"}]}))
    session = answer("session", "declare", "a", "b", "--url", server.url)["session_id"]
    answer("claim", "submit", session, said, "--url", server.url, code=3)
    listed = beliefd("inbox", "list", "--url", server.url).stdout
    (line,) = [line for line in listed.splitlines() if "DELETE" in line]
    assert "drop the table `orders_old`" in line
    assert "by agent://local" in line
    assert "agent://local" in beliefd("claim", "show", session, "--url", server.url).stdout
