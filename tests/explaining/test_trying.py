"""`policy test` and its coverage, and `explain`, `lint` and `schema` on the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import answer, beliefd
from tests.substrate.support import when

POLICY = {
    "constraints": {
        "constraint.shop": {"v": 1, "effect": "allow", "subject": None},
        "constraint.large": {
            "v": 2,
            "effect": "ask",
            "subject": {"tool_id": "pay"},
            "when": when("gt", "call.args.amount", 100),
        },
        "constraint.closed": {
            "v": 1,
            "effect": "deny",
            "subject": {"tool_id": "pay"},
            "when": when("eq", "fact.shop.open", False),
        },
        "constraint.invariant.stock": {
            "v": 2,
            "effect": "deny",
            "subject": None,
            "when": when("lt", "fact.stock.n", 0),
        },
    }
}
SMALL = {"name": "small", "call": {"tool_id": "pay", "args": {"amount": 5}}, "expect": {"verdict": "allow"}}
BIG = {
    "call": {"tool_id": "pay", "args": {"amount": 500}},
    "expect": {"verdict": "defer", "reason_code": "ASK"},
}
SHUT = {
    **SMALL,
    "name": "shut",
    "state": {"fact.shop": {"v": 1, "open": False}},
    "expect": {"verdict": "deny"},
}
SOLD_OUT = {
    "name": "sold out",
    "role": "encoder",
    "delta": {"set": {"fact.stock": {"v": 1, "n": -1}}},
    "expect": {"verdict": "deny", "reason_code": "INVARIANT_BROKEN"},
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def files(tmp_path: Path) -> Any:
    def written(**documents: Any) -> dict[str, Path]:
        paths = {name: tmp_path / f"{name}.json" for name in documents}
        for name, path in paths.items():
            path.write_text(json.dumps(documents[name]))
        return paths

    return written


def test_constraints_that_no_case_made_fire_are_named(files: Any) -> None:
    given = files(policy=POLICY, cases={"cases": [SMALL, BIG]})
    told = answer("policy", "test", given["cases"], "--policy", given["policy"])
    assert (told["coverage"]["fired"], told["coverage"]["percent"]) == (2, 50.0)
    untried = {one["constraint"]: one["wanted"] for one in told["coverage"]["untried"]}
    assert untried == {
        "constraint.closed": "a call that `pay` names for which its condition holds",
        "constraint.invariant.stock": "a change (`delta`) that breaks it",
    }
    drawn = beliefd("policy", "test", given["cases"], "--policy", given["policy"])
    assert "2 of 4 constraints tried (50 %)" in drawn.stdout
    assert "never fired: constraint.closed" in drawn.stdout


def test_coverage_that_is_asked_for_is_needed_to_pass(files: Any) -> None:
    given = files(policy=POLICY, some={"cases": [SMALL, BIG]}, all={"cases": [SMALL, BIG, SHUT, SOLD_OUT]})
    options = ("--policy", given["policy"], "--min-coverage", "100")
    short = beliefd("policy", "test", given["some"], *options)
    assert (short.exit_code, "coverage is below 100 %" in short.stdout) == (4, True)
    assert answer("policy", "test", given["all"], *options)["coverage"]["untried"] == []


def test_an_allow_that_never_held_is_not_tried(files: Any) -> None:
    rules = {"constraint.a": {"v": 1, "effect": "allow", "subject": None, "when": when("exists", "fact.x")}}
    case = {"call": {"tool_id": "t"}, "expect": {"verdict": "deny"}}
    given = files(policy={"constraints": rules}, cases={"cases": [case]})
    told = answer("policy", "test", given["cases"], "--policy", given["policy"])
    assert (told["failed"], told["coverage"]["fired"]) == (0, 0)


def test_a_case_is_about_one_thing(files: Any) -> None:
    given = files(policy=POLICY, cases={"cases": [{**SMALL, "delta": SOLD_OUT["delta"]}]})
    error = answer("policy", "test", given["cases"], "--policy", given["policy"], code=2)["error"]
    assert "a case has a `call` or a `delta`" in error["message"]


def test_explain_says_what_was_read_and_what_would_pass(files: Any) -> None:
    looser = {"constraints": {"constraint.shop": POLICY["constraints"]["constraint.shop"]}}
    given = files(policy=POLICY, call=BIG["call"], looser=looser)
    options = ("--policy", given["policy"], "--call", given["call"], "--against", given["looser"])
    drawn = beliefd("policy", "explain", *options)
    assert drawn.exit_code == 3
    assert "call.args.amount = 500" in drawn.stdout
    assert (
        "to pass: change 1 value: `call.args.amount` from 500 to 100, for example; or a person"
        in drawn.stdout
    )
    assert "under the other policy: allow ALLOWED" in drawn.stdout


IN_ECO = {
    "constraints": {
        "constraint.a": {"v": 1, "effect": "allow", "subject": None, "when": when("eq", "policy.mode", "eco")}
    }
}
CHANGE = {"set": {"goal.x": {"v": 1}}}


@pytest.mark.parametrize("about", ["call", "delta"])
def test_calls_and_changes_are_tried_in_a_mode(files: Any, data: Path, about: str) -> None:
    given = files(policy=IN_ECO, call={"tool_id": "pay"}, delta=CHANGE)
    answer("policy", "adopt", given["policy"], "--data", data)
    for policy in (("--policy", given["policy"]), ("--data", data)):
        ask = ("policy", "explain", f"--{about}", given[about], *policy)
        assert answer(*ask, "--mode", "eco")["verdict"] == "allow"
        assert answer(*ask, "--mode", "boost", code=4)["verdict"] == "deny"
        assert answer(*ask, code=4)["verdict"] == "deny"


def test_a_call_says_its_mode_itself_and_a_session_has_one(files: Any, data: Path) -> None:
    given = files(policy=IN_ECO, call={"tool_id": "pay", "mode": "eco"}, delta=CHANGE)
    ask = ("policy", "explain", "--policy", given["policy"], "--call", given["call"])
    assert answer(*ask, "--mode", "boost")["verdict"] == "allow"
    session = answer("session", "declare", "a", "b", "--data", data)["session_id"]
    told = ("--session", session, "--delta", given["delta"], "--mode", "eco", "--data", data)
    assert "a session has one" in answer("policy", "explain", *told, code=2)["error"]["message"]


def test_cases_say_in_which_mode_a_change_is_made(files: Any) -> None:
    made = [
        {"delta": CHANGE, "mode": mode, "expect": {"verdict": verdict}}
        for mode, verdict in (("eco", "allow"), ("normal", "deny"))
    ]
    given = files(policy=IN_ECO, cases={"cases": made})
    assert answer("policy", "test", given["cases"], "--policy", given["policy"])["passed"] == 2


def test_explain_asks_a_store_for_what_it_has_decided(files: Any, data: Path) -> None:
    given = files(policy=POLICY, proposal=[{"kind": "delta", "patch": {"set": {"goal.x": {"v": 1}}}}])
    answer("policy", "adopt", given["policy"], "--data", data)
    session = answer("session", "declare", "a", "b", "--data", data)["session_id"]
    event = answer("state", "propose", session, given["proposal"], "--data", data, code=4)["audit_event_id"]
    told = answer("policy", "explain", "--session", session, "--event", event, "--data", data, code=4)
    assert (told["event_id"], told["reason_code"]) == (event, "NOT_AUTHORISED")
    assert [one["which"] for one in told["under"]] == ["defaults"]
    for number in ("2", "#2"):
        by_number = ("--session", session, "--event", number, "--data", data)
        assert answer("policy", "explain", *by_number, code=4)["event_id"] == event
    gone = answer("policy", "explain", "--session", session, "--event", "#9", "--data", data, code=2)
    assert "no event `#9`" in gone["error"]["message"]
    drawn = beliefd("policy", "explain", "--session", session, "--event", event, "--data", data)
    assert "before, under the defaults: deny NOT_AUTHORISED, the same" in drawn.stdout


@pytest.mark.parametrize(
    "options",
    [
        ("--policy", "policy"),
        ("--policy", "policy", "--call", "call", "--delta", "call"),
        ("--event", "e"),
        ("--call", "call", "--capability", "call"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(
    files: Any, options: tuple[str, ...], data: Path
) -> None:
    given = files(policy=POLICY, call=BIG["call"])
    named = [str(given.get(one, one)) for one in options]
    assert answer("policy", "explain", *named, "--data", data, code=2)["error"]["code"] == "INVALID_REQUEST"


def test_lint_exits_by_its_warnings(files: Any) -> None:
    doubled = {"constraint.twice": POLICY["constraints"]["constraint.large"]}
    given = files(good=POLICY, bad={"constraints": {**POLICY["constraints"], **doubled}})
    assert answer("policy", "lint", given["good"])["warnings"] == 0
    told = beliefd("policy", "lint", given["bad"])
    assert told.exit_code == 4
    assert "DUPLICATE constraint.twice and constraint.large" in told.stdout
    assert "`beliefd policy prove` answers for all calls" in told.stdout


def test_the_schema_is_printed_for_editors() -> None:
    printed = beliefd("policy", "schema")
    assert json.loads(printed.stdout) == answer("policy", "schema")


def test_a_tool_that_the_policy_does_not_declare_may_be_misspelt(files: Any) -> None:
    declared = {**POLICY, "tools": {"pay": {"tier": "WRITE_LIMITED"}}}
    given = files(policy=declared, state={}, call={"tool_id": "paay", "args": {}})
    told = answer(
        "policy", "explain", "--policy", given["policy"], "--state", given["state"], "--call", given["call"]
    )
    assert "whether there is a tool `paay` (did you mean `pay`?)" in told["left_out"]


READERS = {
    "tools": {"pay": {"executor": "caller", "schema": {"type": "object"}}},
    "constraints": {
        "constraint.shop": {"v": 1, "effect": "allow", "subject": None},
        "constraint.readers": {
            "v": 2,
            "effect": "deny",
            "subject": None,
            "when": when("eq", "call.agent_tier", "READ_ONLY"),
        },
        "constraint.eve": {
            "v": 2,
            "effect": "deny",
            "subject": None,
            "when": when("eq", "call.agent_id", "agent://eve"),
        },
    },
}
PAY: dict[str, Any] = {"tool_id": "pay", "args": {"amount": 5}}
OPEN = {"set": {"fact.shop": {"v": 1, "open": True}}}


def test_rules_about_callers_are_covered_by_cases_that_say_who_asks(tmp_path: Path) -> None:
    policy, path = tmp_path / "policy.json", tmp_path / "cases.json"
    policy.write_text(json.dumps(READERS))
    denied = {"expect": {"verdict": "deny", "reason_code": "DENIED"}}
    cases = [
        {"call": PAY, "expect": {"verdict": "allow"}},
        {"call": PAY, "agent_tier": "READ_ONLY", **denied},
        {"call": PAY, "agent_id": "agent://eve", **denied},
        {"call": {**PAY, "tier": "READ_ONLY"}, **denied},
        {"delta": OPEN, "role": "encoder", "agent_tier": "READ_ONLY", **denied},
        {"delta": OPEN, "role": "encoder", "agent_id": "agent://eve", **denied},
    ]
    path.write_text(json.dumps({"cases": cases}))
    tried = answer("policy", "test", path, "--policy", policy)
    assert (tried["passed"], tried["failed"], tried["coverage"]["percent"]) == (6, 0, 100.0)


@pytest.mark.parametrize("what", ["--call", "--delta"])
def test_who_asks_is_an_option_of_explain_on_files_and_in_a_session(
    what: str, tmp_path: Path, data: Path
) -> None:
    policy, path = tmp_path / "policy.json", tmp_path / "asked.json"
    policy.write_text(json.dumps(READERS))
    path.write_text(json.dumps(PAY if what == "--call" else OPEN))
    session = answer("session", "declare", "a", "b", "--data", data)["session_id"]
    for where in ((), ("--session", session, "--data", data)):
        asked = ("policy", "explain", "--policy", policy, what, path, "--role", "encoder", *where)
        assert answer(*asked)["verdict"] == "allow"
        for who in (("--agent-tier", "READ_ONLY"), ("--agent-id", "agent://eve")):
            assert answer(*asked, *who, code=4)["reason_code"] == "DENIED"
