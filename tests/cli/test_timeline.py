"""People see something of every answer and every event, and each vocabulary brings its own words."""

import json
import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from beliefd.cli import commands, views
from beliefd.cli.views.drawing import view
from beliefd.cli.views.substrate import verdict_words
from beliefd.kernel.events import KIND_OF
from beliefd.protocol.operations import BY_NAME
from tests.cli.runner import answer, beliefd

MODULES = [import_module(f"{views.__name__}.{module.name}") for module in iter_modules(views.__path__)]


def test_every_kind_of_event_has_words() -> None:
    assert set(views.event_words()) == set(KIND_OF.values())


def test_each_kind_has_its_words_in_one_place() -> None:
    told = [kind for module in MODULES for kind in getattr(module, "EVENTS", {})]
    assert sorted(told) == sorted(set(told))


def test_every_answer_that_a_command_shows_has_a_view() -> None:
    sources = [path.read_text() for path in Path(commands.__path__[0]).glob("*.py")]
    asked = {
        name for source in sources for name in re.findall(r"return lambda calls: calls\.(\w+)\(", source)
    }
    assert len(asked) > 40
    assert asked - BY_NAME.keys() == {"wait_for_approval"}, "which asks for one approval again and again"
    answers = [BY_NAME[name].answer for name in asked & BY_NAME.keys()]
    assert [kind for kind in answers if view.dispatch(kind) is view.dispatch(object)] == []


def test_an_idea_an_experiment_and_an_intent_say_what_they_are(data: Path, session: str) -> None:
    at = ("--data", data)
    assert beliefd("hypothesis", "note", session, "wait", "a batch job holds connections", *at).exit_code == 0
    waits = [40.0, 40.2, 39.8, 40.1, 39.9, 40.0, 40.3, 39.7]
    claim = {"claim_id": "wait", "claimed_value": 40.0, "observed_values": waits, "tolerance": 2.0}
    plan = answer("experiment", "design", session, "-", *at, stdin=json.dumps({"claim": claim}))
    ran = answer("experiment", "run", session, plan["experiment_id"], *at)["run"]
    answer("evidence", "link", session, "wait", ran["run_id"][-10:], "support", *at)
    change = {"type": "create_claim", "claim_id": "idea", "statement": "it may be the pool"}
    answer("intent", "stage", session, "-", *at, stdin=json.dumps(change))
    change = {"type": "create_proposition", "claim_id": "wait", "statement": "a wait takes 40 ms"}
    staged = answer("intent", "stage", session, "-", *at, stdin=json.dumps(change), code=3)
    lines = beliefd("audit", "show", session, *at).stdout.splitlines()
    said = [re.split(r"(?:operator|steward)://\w+  ", line)[-1].rstrip() for line in lines[1:]]
    assert said == [
        "speculative  alternatives to wait: 1",
        f"{plan['experiment_id']}  {plan['template']}  of wait  plan {plan['spec_hash'][:16]}",
        f"{ran['run_id']} of {plan['experiment_id']}",
        f"{ran['run_id']}: {ran['outcome']}  evidence {ran['evidence_id']}",
        f"{ran['evidence_id']} is support for wait",
        "speculative  idea: it may be the pool",
        f"{staged['intent_id']}  create_proposition wait  awaiting_approval",
    ]


def test_a_call_that_waits_is_not_called_denied_and_names_where_it_waits() -> None:
    asked = {"verdict": "defer", "reason_code": "DENIED", "approval": {"approval_id": "apr-1"}}
    assert verdict_words(asked, "mail.send").plain == "waits mail.send apr-1"
    again = {"verdict": "defer", "reason_code": "DENIED", "approval": None, "waits": "apr-1"}
    assert verdict_words(again, "mail.send").plain == "waits mail.send apr-1"
    denied = {"verdict": "deny", "reason_code": "DENIED", "approval": None}
    assert verdict_words(denied, "mail.send").plain == "deny mail.send DENIED"
    repeated = {"verdict": "allow", "reason_code": "REPEATED"}
    assert verdict_words(repeated, "mail.send").plain == "repeated, not run mail.send"


def test_why_somebody_said_no_stands_in_the_timeline() -> None:
    delta = {"decision": "REJECTED", "approval_id": "apr-1", "approval": {"status": "rejected"}}
    assert "not there" in views.event_words()["approval_decided"]({"reason": "not there"}, delta).plain


def test_why_a_call_is_denied_stands_in_the_timeline_of_store_and_file(
    data: Path, session: str, tmp_path: Path
) -> None:
    call = {"kind": "tool_call", "tool_id": "mail.send", "args": {"to": "eve@example.net"}}
    proposal = json.dumps({"provenance": {"source": "agent"}, "candidates": [call]})
    refused = beliefd("state", "propose", session, "-", "--data", data, stdin=proposal)
    assert refused.exit_code == 4, refused.output
    exported = tmp_path / "ledger.jsonl"
    beliefd("audit", "export", session, "-o", exported, "--data", data)
    for shown in (
        beliefd("audit", "show", session, "--data", data),
        beliefd("audit", "show", "--file", exported),
    ):
        assert 'mail.send {"to": "eve@example.net"}' in shown.stdout
        assert "UNKNOWN_TOOL: no tool `mail.send` is registered" in shown.stdout
    brief = beliefd("audit", "show", session, "--brief", "--data", data).stdout
    assert "deny mail.send" in brief
    assert "registered" not in brief
