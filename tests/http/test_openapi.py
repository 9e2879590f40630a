"""The document: valid, checked in, served, and true to what the server does."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import yaml
from openapi_spec_validator import OpenAPIV31SpecValidator

from beliefd.http.errors import STATUS
from beliefd.http.examples import EXAMPLES
from beliefd.http.openapi import as_yaml, openapi_document
from beliefd.kernel.errors import Code
from beliefd.protocol.operations import BY_NAME, OPERATIONS, Operation
from tests.http.calls import LINES, error_of, url

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
    # The other two come from routing: where there is no operation, there is no description.
    assert described == set(Code) - {Code.NOT_FOUND, Code.METHOD_NOT_ALLOWED}
    assert set(STATUS) == set(Code)


def test_every_reference_leads_somewhere_and_every_schema_is_used() -> None:
    text = json.dumps(DOCUMENT)
    used = set(re.findall(r'"#/components/(\w+)/([\w.]+)"', text))
    there = {(kind, name) for kind in ("schemas", "responses") for name in DOCUMENT["components"][kind]}
    assert used == there


@pytest.mark.parametrize(
    ("operation", "parameter"),
    [(row, parameter) for row in OPERATIONS for parameter in row.query],
    ids=lambda value: value.name,
)
def test_bounds_in_the_document_are_the_bounds_of_the_server(
    operation: Operation, parameter: Any, http: httpx.Client, session_id: str
) -> None:
    parameters = DOCUMENT["paths"][operation.path]["get"]["parameters"]
    schema = next(found["schema"] for found in parameters if found["name"] == parameter.name)
    if schema["type"] == "integer":
        inside = [schema["minimum"]] if parameter.name == "at" else [schema["minimum"], schema["maximum"]]
        outside = [schema["minimum"] - 1, schema["maximum"] + 1]
    else:
        inside = [] if parameter.name == "since_event_id" else ["x" * schema["maxLength"]]
        outside = ["", "x" * (schema["maxLength"] + 1)]
    for value in inside:
        answer = http.get(url(operation, session_id), params={parameter.name: value})
        assert answer.status_code == 200, answer.text
    for value in outside:
        answer = http.get(url(operation, session_id), params={parameter.name: value})
        assert error_of(answer, 400, Code.INVALID_REQUEST)["details"]["path"] == parameter.name


def test_the_examples_work_in_the_order_in_which_they_stand(http: httpx.Client) -> None:
    declared = http.post("/v1/sessions", json=EXAMPLES["declare_session"])
    assert declared.status_code == 201
    session_id = declared.json()["session_id"]
    obligation = EXAMPLES["enter_obligation"]["obligation_id"]
    for name, example in EXAMPLES.items():
        if name in ("declare_session", "merge", "import_ledger"):
            continue
        path = url(BY_NAME[name], session_id, obligation_id=obligation)
        if isinstance(example, str):
            answer = http.post(path, content=example, headers=LINES)
            lines = [json.loads(line) for line in answer.text.splitlines()]
            assert all("error" not in line for line in lines), lines
        else:
            answer = http.post(path, json=example)
            assert answer.status_code == 200, (name, answer.text)
            assert answer.json().get("approved", True), (name, answer.text)
            assert answer.json().get("accepted", True), (name, answer.text)
    assert http.get(f"/v1/sessions/{session_id}").json()["status"] == "terminated"


def test_every_body_has_an_example() -> None:
    assert set(EXAMPLES) == {row.name for row in OPERATIONS if row.method == "POST"}
