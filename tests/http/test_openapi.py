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

from beliefd.http.openapi import as_yaml, openapi_document
from beliefd.kernel.errors import Code
from beliefd.kernel.values import Role
from beliefd.protocol.answers import kept_answers, still_fits
from beliefd.protocol.operations import BY_NAME, OPERATIONS, Operation
from beliefd.protocol.property_words import all_words
from beliefd.protocol.statuses import STATUS
from tests.http.calls import error_of, url
from tests.http.story import STORY, UNTOLD, told_story

CHECKED_IN = Path(__file__).parents[2] / "api" / "openapi.yaml"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Of a megabyte; the one in C, where there is one, is ten times as fast."""
DOCUMENT: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(openapi_document()))


def test_the_file_that_is_checked_in_is_the_one_that_is_generated() -> None:
    generated = as_yaml()
    assert CHECKED_IN.read_text() == generated, "run `make openapi`"
    assert yaml.load(generated, LOADER) == DOCUMENT


def test_the_server_serves_the_file_that_is_checked_in(http: httpx.Client) -> None:
    assert http.get("/openapi.json").json() == yaml.load(CHECKED_IN.read_text(), LOADER)


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
    # And no server checks proofs: who checks them meets the code.
    assert described | {Code.NOT_FOUND, Code.METHOD_NOT_ALLOWED, Code.PROOF_INVALID} == set(Code)
    assert set(STATUS) == set(Code)


def test_every_reference_leads_somewhere_and_every_schema_is_used() -> None:
    text = json.dumps(DOCUMENT)
    used = set(re.findall(r'"#/components/(\w+)/([\w.]+)"', text))
    there = {(kind, name) for kind in ("schemas", "responses") for name in DOCUMENT["components"][kind]}
    assert used == there


def test_every_operation_parameter_and_answer_is_described() -> None:
    for methods in DOCUMENT["paths"].values():
        for row in methods.values():
            assert row["summary"], row
            assert all(one["description"] for one in row.get("parameters", ())), row["operationId"]
            answers = [one for one in row["responses"].values() if "$ref" not in one]
            assert all(one["description"] for one in answers)
    assert all(tag["description"] for tag in DOCUMENT["tags"])


def test_properties_are_described_by_what_their_types_say_of_them() -> None:
    card = DOCUMENT["components"]["schemas"]["ApprovalCard"]["properties"]
    assert card["cannot_run"]["description"].startswith("`cannot_run` says why a yes would be in vain now")


def test_every_shape_and_every_property_is_described() -> None:
    shapes = DOCUMENT["components"]["schemas"]
    assert [
        name for name, shape in shapes.items() if not shape.get("description") and "enum" not in shape
    ] == []
    undescribed = [
        f"{kind}.{name}"
        for kind, shape in shapes.items()
        for name, described in shape.get("properties", {}).items()
        if not described.get("description")
    ]
    assert undescribed == [], "say it in the docstring of the type, or in property_words.toml"


def test_no_words_are_kept_for_what_does_not_exist() -> None:
    shapes = DOCUMENT["components"]["schemas"]
    named = {(kind, name) for kind, shape in shapes.items() for name in shape.get("properties", {})}
    named |= {("", name) for _, name in named}
    assert all_words() - named == set()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda row: row.name)
def test_an_answer_has_an_example_that_is_one(operation: Operation) -> None:
    """A server gave it: `make openapi` asks one again if it does not fit any more."""
    row = DOCUMENT["paths"][operation.path][operation.method.lower()]
    examples = [
        media["example"]
        for media in row["responses"][str(operation.status)]["content"].values()
        if "example" in media
    ]
    if operation.name == "follow_inbox":
        assert examples == [], "it tells nothing until something happens"
        return
    (example,) = examples
    if operation.stream or operation.answer is bytes:
        assert isinstance(example, str)
        assert example
        return
    read = msgspec.convert(example, operation.answer)
    assert msgspec.json.decode(msgspec.json.encode(read)) == example


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
        inside, outside = schema["enum"], ["", schema["enum"][0].swapcase()]
    elif schema["type"] == "integer":
        # The first event is there and the last is not. There are no bundles, approvals or calibration sets.
        first = [] if {"bundle_id", "approval_id"} & {*operation.path_names} else [schema["minimum"]]
        # And no checkpoint has been signed.
        there = {"at": first, "version": [], "wait": [], "from": [], "to": [], "size": []}
        inside = there.get(parameter.name, [schema["minimum"], schema["maximum"]])
        outside = [schema["minimum"] - 1, schema["maximum"] + 1]
    elif "maxLength" not in schema:  # a cursor has a form of its own
        inside = ["1.0"] if operation.name == "why" else []  # there are no propositions
        outside = ["", "x", "1.0x"]
    elif operation.begins_in_space:
        inside, outside = ["default"], ["", "x" * (schema["maxLength"] + 1)]
    else:
        # There are no catalogues either, and a search in a session needs that session.
        absent = parameter.name in ("since_event_id", "event_id", "at") or "upstream" in operation.path_names
        absent = absent or (operation.name, parameter.name) == ("search_audit", "session")
        absent = absent or (operation.name, parameter.name) == (
            "search_audit",
            "verb",
        )  # one of those there are
        absent = absent or operation.name == "why"  # who is asked for must have spoken
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


def test_a_query_parameter_that_is_needed_is_said_to_be(http: httpx.Client) -> None:
    (needed,) = [
        one["name"]
        for one in DOCUMENT["paths"]["/v1/log/consistency"]["get"]["parameters"]
        if "required" in one
    ]
    error = error_of(http.get("/v1/log/consistency?to=1"), 400, Code.INVALID_REQUEST)
    assert error["details"]["path"] == needed == "from"


def test_the_examples_work_when_they_are_sent_one_after_the_other(tmp_path: Path) -> None:
    """And what is kept of their answers has the members that they have now."""
    ledgers = {"merge", "import_ledger", "archive_session", "unarchive_session"}
    sent = {row.name for row in OPERATIONS if row.takes_body} - {*ledgers, "add_cosignatures"}
    assert set(STORY) == sent, "every example but those of whole ledgers and of witnesses' signatures"
    told = told_story(tmp_path)
    assert told.keys() == (BY_NAME.keys() - UNTOLD) | {"health"}
    kept = kept_answers()
    assert kept.keys() == told.keys()
    assert [name for name in told if not still_fits(kept[name], told[name])] == [], "run `make openapi`"
