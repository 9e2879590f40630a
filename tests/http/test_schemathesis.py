"""Schemathesis against running servers: it finds no difference between the document and what they do.

All its checks are on. `filter_failure` names what looks like a failure and is none. Its chains of calls are
not used: they need a world that starts over, and a ledger does not. The model in tests/kernel makes such.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import unquote

import httpx
import pytest
import requests
import schemathesis
from schemathesis.core.failures import AcceptedNegativeData, Failure
from schemathesis.core.parameters import ParameterLocation
from schemathesis.core.result import Ok
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.generation.hypothesis.builder import InvalidHeadersExampleMark, MissingPathParameters
from schemathesis.openapi.checks import RejectedPositiveData
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.python._constants.orchestrator import make_constants_value_source

from beliefd.http.openapi import openapi_document
from beliefd.kernel.values import Role
from tests.http.calls import declare
from tests.http.conftest import assert_no_defects, make_tokens
from tests.support.server import ServerProcess, server_process

pytestmark = pytest.mark.slow

EXAMPLES = 15
PATIENCE_SECONDS = 300
"""Longer than any of the server's own limits: it is the server that gives up on a proof, and says so."""
BEYOND_SCHEMA = {
    r"(is out of range.*|must be in .*|less than a day), in field `\w+`$": "no day of any calendar",
    r"^an odd number of hex digits": "half a byte",
    r"^no conclusion was accepted by this event$": "an event of another kind",
    r"^`.*` names two claims, in field ": "one name for two claims of a bundle",
    r"^(neither `samples` nor a number|object missing required field `value`$)": "a number or answers",
    r"is not measured from answers in field `samples`$": "a method that measures something else",
    r"^all answers are empty": "answers that say nothing",
    r"is not an absolute path without dots or": "a root that is none",
    r"^\d+ numbers are |^the digest of the values is ": "a vector that does not fit its digest or its size",
    r"^the patch is empty$|is both set and removed$": "a change that changes nothing, or two ways at once",
    r"^line 1: (not JSON|expected a JSON object)": "a text that is not an exported ledger",
    r"^`require_human` must name |is no role of people|^`explain_above` is larger": "rules we never take",
    r"^`falling` is larger than `rising`": "thresholds the wrong way round",
    r"^`required` is \d+, but only \d+ may approve$": "more approvals than there are approvers",
    r"^give either `confidence` or `token_logprobs`$": "both, or neither",
    r"^\d+ (confidences|rows|labels|log-probabilities|scores)[ ,]": "two lists of different lengths",
    r"are too few |^the calibration set is empty$": "too small a set",
    r"^the rows of probabilities have different lengths$": "a table with ragged rows",
    r"^nearest-neighbour entropy (weighs no answers|asks no judge)": "what is of no use there",
    r"^the judge `\w+` (cannot be asked|compares at most)": "a judge nobody configured, or too much for it",
    r"^give either `(calibration|scores)` or |^row \d+ sums to |^a label is no column": "a set that is none",
    r"^the (calibration )?set has `|^either all scores have a group": "scores that belong to another set",
    r"^only a kept set has versions": "a version of what has none",
    r"^the calibration is per group": "no group where there are some",
    r"^(give either a whole `spec`|a whole `spec` is|`hints` are made from)": "one of two ways to plan",
    r"^the hints are about another claim$": "two claims in one plan",
    r"^give one of `call_id`|^typed `values` are|^`column` is for CSV": "one of three ways to observe",
    r"^give either `observed`, ids|^no proposition predicts a value": "a claim without data or value",
    r"^what falls whatever|^`bounds` go from|^no value within `bounds`": "a prediction that predicts nothing",
    r"^a range goes from low to high$|^`low` is larger than `high`": "a range the wrong way round",
    r"^an action is either a `tool`|decides nothing; only a DECISION has one": "an action that is none",
    r"^`upstream` is where a `tool` is pinned": "a place for what is nowhere",
    r"^no tool `.*` is (registered$|pinned in catalogue )": "a tool that nobody registered, or pinned",
    r"a `\*` stands at the end only|^`tools_without_person` names tools": "a pattern that takes in too much",
    r"holds neither letter nor digit$|^`propositions` is at least": "a word that is none, a tier too low",
    r"^give one of `answers`|is measured from `\w+`, not from": "one kind of material, that of the method",
    r"^give either `(token_logprobs|samples)` or |^a stated number alone": "one way to be sure",
    r"^neither `samples` nor a `measurement_id`|^an uncertainty needs a `value`": "no certainty at all",
    r"^a correction can only be judged in a session$|cannot correct itself$": "a correction of nothing",
    r"^there is no (calibration set|model to ask)|^nothing was measured": "a yardstick that nobody kept",
    r"^give exactly one of ": "one thing that a claim is about, or that a citation names",
    r"^no (source|principal) `.*` has spoken ": "somebody who is not in the ledger",
    r"^`\w+` belongs to the (grounded|speculative) lane$": "an intent in the other lane",
    r"^no space `|` names no space; |^role `\w+` (cannot have|has) |are no rights; ": "rights nobody has",
    r"^policy issues nothing to `|` issues to nobody: |has two rules named `": "capabilities of nobody",
    r"the constraint is malformed|is not in `(constraint|rule)\.\*`|the schema of ": "no rules",
    r"^a guarantee says one of |^`constraint` goes with |says nothing beside `": "a promise of nothing",
    r"^there is no constraint `|cannot both hold; |^`when` is not an object": "a promise about nothing",
    r"^patterns without bounds are for ledgers": "what is for old ledgers only",
    r"^give one of `call`, `delta`|^`event_id` needs|^`state` is given or|^`at` goes with": "one question",
    r"^no verb `.*; verbs are ": "a verb that nobody has",
    r"^no event `|is no decision about a proposal$|^the proposal has \d+ candidates": "no decision",
    r"^a claim is named twice": "one claim in two places",
    r"^an announcement has a `join_key`|^context of kind `|^a result names its tool": "another kind",
    r"^no conclusion was accepted by this event": "a page after what is not there",
    r"^`\\*` in `tools` stands for tools": "any tool that the server would have to run",
    r"^`at` is about the past": "waiting for what has been",
    r"^tool `.*` is offered twice$": "one name for two tools of a catalogue",
    r"^a token's (name|owner) is a short line": "a name that cannot be shown",
    r"^give either `since_event_id` or `after`$": "two places to go on from",
    r"^a signed note is a text": "a text that is no note",
    r"^a log of \d+ leaves does not begin with ": "two sizes the wrong way round",
    r"is the id of no principal; |has blanks at an end, or characters that cannot be seen; ": "nobody's name",
    r"is a pattern, and a (scope|subject) |is a program, and only people approve; ": "a rule of no use",
    r"^`principals` changes nothing: |^there is no capability `": "a rule that never matters, either",
    r"^say what to erase: |^`erasable` names ": "nothing to erase, or what no command has",
}
"""What no schema of one value can forbid, by what is told about it."""
PARAMS = "$.spec.params."
"""Which parameters there are depends on the template that is named beside them."""
ANSWERED: set[str] = set()
"""The keys of requests that were carried out: a retry gets the first answer, whatever its If-Match."""
Case = schemathesis.Case[Any]
Operation = schemathesis.APIOperation[Any, Any, Any, Any]
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
        error = response.json()["error"]
        details = error.get("details", {})
        unsayable = details.get("path", "").startswith(PARAMS) or any(
            re.search(told, error["message"]) for told in BEYOND_SCHEMA
        )
        return "audit_event_id" not in details and not unsayable
    if isinstance(failure, AcceptedNegativeData) and case.operation.label.endswith("/batch"):
        return not all("error" in json.loads(line) for line in response.content.splitlines())
    return not (isinstance(failure, AcceptedNegativeData) and key_of(case) in ANSWERED)


def key_of(case: Case) -> str | None:
    return None if case.headers is None else case.headers.get("Idempotency-Key")


open_api = loaded()
# Every case that the schemas define is tried once, by who may most. Here are only those of chance.
open_api.config.phases.coverage.enabled = False
# A server that has tokens lets nobody in without: there the alternative of no credentials is none.
guarded_api = loaded(security=[{"bearer": []}])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One of its own: sessions of catalogues have names, and would stand among those of other tests."""
    with server_process(tmp_path_factory.mktemp("random")) as process:
        yield process
        assert_no_defects(process)


@pytest.fixture(scope="module")
def target(server: ServerProcess) -> Target:
    with httpx.Client(base_url=server.url, verify=False) as http:
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


@pytest.fixture(scope="module")
def connection() -> Iterator[requests.Session]:
    """One that is kept open: most of a call's time would go into a new one."""
    with requests.Session() as session:
        yield session


def operations(api: schemathesis.BaseSchema) -> dict[str, Operation]:
    """By their names. A live feed has no end to wait for; its own tests read it."""
    found: dict[str, Operation] = {}
    for each in api.exclude(operation_id=["events", "follow_inbox"]).get_all_operations():
        assert isinstance(each, Ok)
        found[each.ok().label] = each.ok()
    return found


OPEN: Final = operations(open_api)
GUARDED: Final = operations(guarded_api)


@pytest.mark.parametrize("operation", OPEN)
def test_without_tokens_the_document_holds(
    operation: str, server: ServerProcess, target: Target, connection: requests.Session
) -> None:
    def holds(case: Case) -> None:
        aim(case, target)
        check(case, server.url, connection)

    every_case(OPEN[operation], holds)


@pytest.mark.parametrize("operation", GUARDED)
def test_with_tokens_the_document_holds(
    operation: str,
    administered: httpx.Client,
    administered_target: Target,
    connection: requests.Session,
) -> None:
    def holds(case: Case) -> None:
        aim(case, administered_target)
        authorization = {"Authorization": administered.headers["authorization"]}
        check(case, str(administered.base_url), connection, headers=authorization)

    every_case(GUARDED[operation], holds)


def every_case(operation: Operation, holds: Callable[[Case], None]) -> None:
    """What `parametrize` of schemathesis does, but when a test begins.

    It thinks of all cases of all operations while tests are looked for: 17 seconds, in each worker.
    """
    test = build_operation_test(
        config=operation.schema.config,
        operation=operation,
        test_func=holds,
        given_kwargs={},
        feedback=FeedbackSources(constants_value_source=make_constants_value_source(operation.schema)),
    )
    test()
    assert not MissingPathParameters.is_set(test)
    assert not InvalidHeadersExampleMark.is_set(test)


def check(case: Case, url: str, connection: requests.Session, **more: Any) -> None:
    response = case.call_and_validate(base_url=url, session=connection, timeout=PATIENCE_SECONDS, **more)
    if response.status_code < 300 and (key := key_of(case)) is not None:
        ANSWERED.add(key)


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
