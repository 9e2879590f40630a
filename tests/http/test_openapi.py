"""The document: valid, checked in, served, and true to what the server does."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import yaml
from openapi_spec_validator import OpenAPIV31SpecValidator

from beliefd.http.openapi import as_yaml, openapi_document
from beliefd.kernel.errors import Code
from beliefd.kernel.values import Role
from beliefd.protocol.operations import BY_NAME, OPERATIONS, Operation
from beliefd.protocol.statuses import STATUS
from tests.http.calls import error_of, url
from tests.http.conftest import make_tokens
from tests.support.server import server_process

CHECKED_IN = Path(__file__).parents[2] / "api" / "openapi.yaml"
DOCUMENT: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(openapi_document()))


def test_the_file_that_is_checked_in_is_the_one_that_is_generated() -> None:
    assert CHECKED_IN.read_text() == as_yaml(), "run `make openapi`"
    assert yaml.safe_load(as_yaml()) == DOCUMENT


def test_the_server_serves_the_file_that_is_checked_in(http: httpx.Client) -> None:
    assert http.get("/openapi.json").json() == yaml.safe_load(CHECKED_IN.read_text())


def test_it_is_valid_openapi_3_1() -> None:
    assert DOCUMENT["openapi"].startswith("3.1.")
    OpenAPIV31SpecValidator(DOCUMENT).validate()


def test_it_has_every_operation_and_nothing_else() -> None:
    described = {
        (path, method.upper()): body["operationId"]
        for path, methods in DOCUMENT["paths"].items()
        for method, body in methods.items()
        if path.startswith("/v1/")
    }
    assert described == {(row.path, row.method): row.name for row in OPERATIONS}


def test_every_code_that_exists_is_described_somewhere() -> None:
    described = {code for response in DOCUMENT["components"]["responses"] for code in response.split(".")}
    # Routing has its own: where there is no operation, there is no description.
    assert described | {Code.NOT_FOUND, Code.METHOD_NOT_ALLOWED} == set(Code)
    assert set(STATUS) == set(Code)


def test_every_reference_leads_somewhere_and_every_schema_is_used() -> None:
    text = json.dumps(DOCUMENT)
    used = set(re.findall(r'"#/components/(\w+)/([\w.]+)"', text))
    there = {(kind, name) for kind in ("schemas", "responses") for name in DOCUMENT["components"][kind]}
    assert used == there


@pytest.mark.parametrize(
    ("operation", "parameter"),
    [(row, parameter) for row in OPERATIONS if Role.AGENT in row.roles for parameter in row.query],
    ids=lambda value: value.name,
)
def test_bounds_in_the_document_are_the_bounds_of_the_server(
    operation: Operation, parameter: Any, http: httpx.Client, session_id: str
) -> None:
    parameters = DOCUMENT["paths"][operation.path][operation.method.lower()]["parameters"]
    schema = next(found["schema"] for found in parameters if found["name"] == parameter.name)
    if "enum" in schema:
        inside, outside = schema["enum"], ["", schema["enum"][0].upper()]
    elif schema["type"] == "integer":
        # The first event is there and the last is not. There are no bundles, approvals or calibration sets.
        first = [] if {"bundle_id", "approval_id"} & {*operation.path_names} else [schema["minimum"]]
        there = {"at": first, "version": [], "wait": []}
        inside = there.get(parameter.name, [schema["minimum"], schema["maximum"]])
        outside = [schema["minimum"] - 1, schema["maximum"] + 1]
    elif "maxLength" not in schema:  # a cursor has a form of its own
        inside = ["1.0"] if operation.name == "why" else []  # there are no propositions
        outside = ["", "x", "1.0x"]
    elif operation.begins_in_space:
        inside, outside = ["default"], ["", "x" * (schema["maxLength"] + 1)]
    else:
        # There are no catalogues either.
        absent = parameter.name in ("since_event_id", "at") or "upstream" in operation.path_names
        inside = [] if absent else ["x" * schema["maxLength"]]
        outside = ["", "x" * (schema["maxLength"] + 1)]
    media = {"Content-Type": operation.body_media} if operation.takes_body else {}

    def asked(value: Any) -> httpx.Response:
        body = operation.example
        content = json.dumps(body) if isinstance(body, dict) else body
        given: dict[str, Any] = {"params": {parameter.name: value}, "headers": media, "content": content}
        return http.request(operation.method, url(operation, session_id), **given)

    # A live feed has no end to wait for.
    for value in inside if operation.media != "text/event-stream" else ():
        answer = asked(value)
        assert answer.status_code == operation.status, answer.text
    for value in outside:
        answer = asked(value)
        assert error_of(answer, 400, Code.INVALID_REQUEST)["details"]["path"] == parameter.name


SPEAKERS = {
    "submit_claims": Role.ADMIN,
    "retract_claims": Role.ADMIN,  # an agent's tier is too low for the DELETE in the example
    "decide_approval": Role.APPROVER,
    "withdraw_approval": Role.ADMIN,
    "give_grant": Role.APPROVER,
    "adopt_policy": Role.ADMIN,
    "backtest_policy": Role.APPROVER,
    "prove_policy": Role.ADMIN,
    "create_space": Role.ADMIN,
    "create_token": Role.ADMIN,
    "store_calibration": Role.ADMIN,
    "append_calibration": Role.ADMIN,
    "issue_capability": Role.ADMIN,
    "set_mode": Role.APPROVER,
    "interrupt": Role.APPROVER,
    "resume": Role.APPROVER,
    "pin_tools": Role.ADMIN,
}


STORY = [
    "declare_session",
    "enter_obligation",
    "eliminate",
    "batch",
    "request_exit",
    "declare_conclusion",
    "counterfactual",
    "store_content",
    "check_claims",
    "submit_claims",
    "decide_approval",
    "retract_claims",
    "submit_claims",
    "withdraw_approval",
    "give_grant",
    "explain_policy",
    "adopt_policy",
    "backtest_policy",
    "prove_policy",
    "create_space",
    "create_token",
    "measure",
    "measure_semantic_entropy",
    "measure_model_disagreement",
    "measure_confidence",
    "measure_conformal_set",
    "store_calibration",
    "append_calibration",
    "issue_capability",
    "propose",
    "begin_call",
    "report_outcome",
    "add_context",
    "pin_tools",
    "remember",
    "set_mode",
    "interrupt",
    "resume",
    "speculate",
    "hook_event",
    "observe",
    "design_experiment",
    "run_experiment",
    "reproduce_experiment",
    "link_evidence",
    "stage_intent",
    "decide_approval",
    "request_termination",
]


def test_the_examples_work_when_they_are_sent_one_after_the_other(tmp_path: Path) -> None:
    told = {row.name for row in OPERATIONS if row.takes_body} - {"merge", "import_ledger"}
    assert set(STORY) == told, "every example but those of the two that take whole ledgers"
    tokens = asyncio.run(make_tokens(tmp_path / "beliefd.db"))
    known = {"obligation_id": BY_NAME["enter_obligation"].example["obligation_id"], "client": "claude-code"}
    with server_process(tmp_path) as server, httpx.Client(base_url=server.url, verify=False) as http:
        for name in STORY:
            if name == "begin_call":
                known["call_id"] = approved_call(http, known["session_id"], tokens)
            token = tokens[SPEAKERS.get(name, Role.AGENT)]
            known |= sent(http, BY_NAME[name], known, token)
            known["bundle_id"] = known.get("id")


def approved_call(http: httpx.Client, session_id: str, tokens: dict[Role, str]) -> str:
    """A call that a person has said yes to, and that its caller runs."""

    def told(role: Role, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {tokens[role]}"}
        answer = http.request(method, path, json=body, headers=headers)
        assert answer.is_success, answer.text
        return answer.json()

    fact = {"op": "exists", "args": ["fact.source"]}
    asks = {"v": 1, "effect": "allow", "subject": {"tool_id": "mail"}, "when": fact, "on_fail": "ask"}
    rules = [{"name": "all", "scope": {"tools": ["*"]}, "roles": ["agent"]}]
    policy = {"tools": {"mail": {"executor": "caller"}}, "constraints": {"constraint.mail": asks}}
    tells = {"tellers": ["agent://test-agent"]}
    told(Role.ADMIN, "PUT", "/v1/policy", {**policy, "capabilities": rules, "context": tells})
    call = {"kind": "tool_call", "tool_id": "mail"}
    asked = {"provenance": {"source": "agent"}, "candidates": [call], "execute": "caller"}
    waits = told(Role.AGENT, "POST", f"/v1/sessions/{session_id}/proposals", asked)["results"][0]
    said = {"decision": "APPROVED", "content_hash": waits["content_hash"]}
    decided = told(Role.APPROVER, "POST", f"{waits['approval_url']}/decision", said)
    return str(decided["call"]["call_id"])


def sent(http: httpx.Client, operation: Operation, known: dict[str, Any], token: str) -> dict[str, Any]:
    """Send an operation's example and return what its answer tells; nothing may be refused."""
    example = operation.example
    path = url(operation, **{"session_id": "", **known})
    if isinstance(example, dict):
        unsaid = {name: known[name] for name, value in example.items() if str(value).startswith("<")}
        example = json.dumps({**example, **unsaid})
    headers = {"Authorization": f"Bearer {token}", "Content-Type": operation.body_media}
    answer = http.request(operation.method, path, content=example, headers=headers)
    assert answer.status_code == operation.status, (operation.name, answer.text)
    told: dict[str, Any] = {}
    for line in answer.text.splitlines():
        one = json.loads(line)
        # A refusal is an object, in whichever line it stands; what a call ran into is a text.
        assert one.get("error") in (None, "", False), one
        told |= one
    assert told.get("approved", True), told
    assert told.get("accepted", True), told
    return told
