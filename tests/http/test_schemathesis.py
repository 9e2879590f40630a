"""Schemathesis against running servers: it finds no difference between the document and what they do.

All its checks are on. `filter_failure` names what looks like a failure and is none. Its chains of calls are
not used: they need a world that starts over, and a ledger does not. The model in tests/kernel makes such.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
import schemathesis
from schemathesis.core.failures import AcceptedNegativeData, Failure
from schemathesis.core.parameters import ParameterLocation
from schemathesis.openapi.checks import RejectedPositiveData

from beliefd.http.openapi import openapi_document
from beliefd.kernel.values import Role
from tests.http.calls import declare
from tests.http.conftest import assert_no_defects, make_tokens
from tests.support.server import ServerProcess, server_process

pytestmark = pytest.mark.slow

EXAMPLES = 15
BEYOND_SCHEMA = {
    r"\.(timestamp|retrieved_at)$": "a day that the calendar does not have",
    r"\.evidence_hash$": "half a byte",
    r"\.id$": "one name for two claims of a bundle",
    r"\.uncertainty\.(samples|value)$": "neither a number nor answers, or answers that are all empty",
    r"^\$\.scope\b": "a root that is no absolute path",
    r"^\$\.(parent_token|session_id)$": "a token or a session that is not there",
    r"^\$\.(confirmed_by_event_id|kind|ttl_ms|provenance|review_at)": "memory that is not what it says",
    r"^\$\.candidates": "a patch that is empty, or sets what it removes",
    r"^line 1$": "a text that is not an exported ledger",
    r"^(at|hypothesis|since_event_id)$": "an event or a hypothesis that the session does not have",
    r"^\$\.(approvals|uncertainty|modes|tools|schemas|constraints)\b": "a policy that contradicts itself",
    r"^\$\.(answers|confidence|token_logprobs)\b": "answers that all are empty, two confidences or none",
    r"^\$\.(calibration|probabilities|labels|group)\b": "too small a set, rows that do not sum to 1",
    r"^\$\.(judge|score|scores|groups|columns)$": "a judge nobody configured, scores that fit no set",
}
"""What no schema can forbid, by the path of what is refused for it."""
Case = schemathesis.Case[Any]
Target = dict[str, Any]


@schemathesis.serializer("application/x-ndjson")
def lines(_: schemathesis.SerializationContext, value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def loaded(**changed: Any) -> schemathesis.BaseSchema:
    document = {**json.loads(json.dumps(openapi_document())), **changed}
    schema = schemathesis.openapi.from_dict(document)
    schema.config.generation.update(max_examples=EXAMPLES, deterministic=True, database="none")
    schema.hook(filter_failure)
    return schema


def filter_failure(
    context: schemathesis.HookContext, failure: Failure, case: Case, response: schemathesis.Response
) -> bool:
    """False for what is no failure.

    A schema says what can be understood: a command that was turned down and recorded has been understood.
    Some things no schema can say. And any bytes are lines: a batch is refused line by line, never as a whole.
    """
    if isinstance(failure, RejectedPositiveData):
        details = response.json()["error"].get("details", {})
        unsayable = any(re.search(path, details.get("path", "")) for path in BEYOND_SCHEMA)
        return "audit_event_id" not in details and not unsayable
    if isinstance(failure, AcceptedNegativeData) and case.operation.label.endswith("/batch"):
        return not all("error" in json.loads(line) for line in response.content.splitlines())
    return True


open_api = loaded()
# A server that has tokens lets nobody in without: there the alternative of no credentials is none.
guarded_api = loaded(security=[{"bearer": []}])


@pytest.fixture(scope="module")
def target(http: httpx.Client) -> Target:
    return targeted(http)


@pytest.fixture(scope="module")
def administered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server of its own, to be administered at random."""
    data = tmp_path_factory.mktemp("administered")
    token = asyncio.run(make_tokens(data / "beliefd.db"))[Role.ADMIN]
    headers = {"Authorization": f"Bearer {token}"}
    with (
        server_process(data) as server,
        httpx.Client(base_url=server.url, headers=headers, verify=False) as admin,
    ):
        yield admin
        assert_no_defects(server)


@pytest.fixture(scope="module")
def administered_target(administered: httpx.Client) -> Target:
    return targeted(administered)


def targeted(http: httpx.Client) -> Target:
    """Something for well-formed requests to hit."""
    session_id = declare(http, options={"unknown_hypotheses": "ignore"})
    first = http.get(f"/v1/sessions/{session_id}/audit").json()["events"][0]["event_id"]
    return {"session_id": session_id, "hypothesis": "a", "at": 1, "since_event_id": first}


# A live feed has no end to wait for; its own tests read it.
@open_api.exclude(operation_id="events").parametrize()
def test_without_tokens_the_document_holds(case: Case, server: ServerProcess, target: Target) -> None:
    aim(case, target)
    case.call_and_validate(base_url=server.url)


@guarded_api.exclude(operation_id="events").parametrize()
def test_with_tokens_the_document_holds(
    case: Case, administered: httpx.Client, administered_target: Target
) -> None:
    aim(case, administered_target)
    authorization = {"Authorization": administered.headers["authorization"]}
    case.call_and_validate(base_url=str(administered.base_url), headers=authorization)


def aim(case: Case, target: Target) -> None:
    """Let what is well-formed also make sense: a session that exists, one of its events and hypotheses.

    What a schema cannot say is put right too: a body repeats its path, and numbers are such as survive JSON.
    """
    for location, values in (
        (ParameterLocation.PATH, case.path_parameters),
        (ParameterLocation.QUERY, case.query),
        (ParameterLocation.BODY, case.body),
    ):
        component = case.meta.components.get(location) if case.meta else None
        if component is None or not component.mode.is_positive or not isinstance(values, dict):
            continue
        values.update({name: target[name] for name in values if name in target})
        if location is ParameterLocation.BODY:
            said = {name: unquote(value) for name, value in (case.path_parameters or {}).items()}
            case.body = {**tamed(values), **{name: said[name] for name in values if name in said}}


def tamed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: tamed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [tamed(item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= 2**53:
        return 2**53 - 1
    return value
