"""Language models on the command line: what one imagines stays in its lane, what one chooses is bounded."""

import json
from pathlib import Path

from beliefd.cli.demo.idea_to_belief import SAID
from tests.cli.runner import answer, beliefd
from tests.firewall.model_server import completion, serving

CLAIM = ("wait", "a wait takes 40 ms")


def test_what_a_model_imagines_is_noted_and_kept_for_a_plan(tmp_path: Path) -> None:
    at = ("--data", tmp_path / "data")
    session_id = answer("session", "declare", "a", "b", *at)["session_id"]
    out = tmp_path / "ideas.json"
    with serving(completion(json.dumps(SAID))) as server:
        options = ("--model", server.url, "--llm-model", "tiny", "--seed", "7", "--out", out)
        told = beliefd("hypothesis", "imagine", session_id, *CLAIM, *options, *at, "--json")
    noted = json.loads(told.stdout)
    assert "tokens asked" in told.stderr
    assert server.bodies[0]["seed"] == 7
    assert [one["alternative"]["statement"] for one in noted["hypotheses"]] == [
        "a forgotten batch job holds its connections for hours"
    ]
    plan = tmp_path / "plan.json"
    waits = [40.0, 40.2, 39.8, 40.1, 39.9, 40.0, 40.3, 39.7]
    claim = {"claim_id": "wait", "claimed_value": 40.0, "observed_values": waits, "tolerance": 2.0}
    plan.write_text(json.dumps({"claim": claim, "speculation": json.loads(out.read_text())}))
    planned = answer("experiment", "design", session_id, plan, *at)
    assert (planned["template"], len(planned["informed_by"])) == ("sensitivity_suite@2", 16)


def test_a_model_that_says_something_else_leaves_no_record(tmp_path: Path) -> None:
    at = ("--data", tmp_path / "data")
    session_id = answer("session", "declare", "a", "b", *at)["session_id"]
    with serving(*[completion("I would rather not.")] * 5) as server:
        options = ("--model", server.url, "--llm-model", "tiny")
        told = beliefd("hypothesis", "imagine", session_id, *CLAIM, *options, *at)
    assert told.exit_code == 2
    assert "the model gave no ideas" in told.stderr
    assert "rather not" not in told.stderr
    assert answer("hypothesis", "list", session_id, *at)["hypotheses"] == []


CLAIM_FILE = {
    "claim": {
        "claim_id": "wait",
        "claimed_value": 40.0,
        "observed_values": [40.0, 40.2, 39.8, 40.1, 39.9, 40.0, 40.3, 39.7],
        "tolerance": 2.0,
    }
}


def test_a_model_may_choose_a_harder_test_and_no_other(tmp_path: Path) -> None:
    at = ("--data", tmp_path / "data")
    session_id = answer("session", "declare", "a", "b", *at)["session_id"]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(CLAIM_FILE))
    choice = {
        "template": "sensitivity_suite",
        "axes": 2,
        "prior_widening_factor": 3.0,
        "n_perturbations": 200,
    }
    with serving(completion(json.dumps(choice))) as server:
        options = ("--model", server.url, "--llm-model", "tiny")
        planned = answer("experiment", "design", session_id, plan, *options, *at)
    assert planned["template"] == "sensitivity_suite@2"
    assert planned["spec"]["params"]["n_perturbations"] == 200
    with serving(*[completion("use tea leaves")] * 5) as server:
        options = ("--model", server.url, "--llm-model", "tiny")
        planned = answer("experiment", "design", session_id, plan, *options, *at)
    assert planned["template"] == "numeric_consistency@2"


def test_a_model_that_cannot_be_found_is_bad_input(tmp_path: Path) -> None:
    at = ("--data", tmp_path / "data")
    session_id = answer("session", "declare", "a", "b", *at)["session_id"]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(CLAIM_FILE))
    told = beliefd("experiment", "design", session_id, plan, "--model", "nowhere", *at)
    assert told.exit_code == 2
    assert "`nowhere` is neither" in told.stderr
