"""What the firewall stops before there is a command leaves a trace: rule, place, digest, no text."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import pytest

from beliefd.client.requests import Request
from beliefd.http.app import create_app
from beliefd.kernel.attempts.commands import RecordAttempt, path_to_record
from beliefd.kernel.canonical import digest
from beliefd.kernel.commands import VERB_OF
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.event import Refused
from beliefd.kernel.scan.guards import HARD_FAILURES
from beliefd.kernel.values import Role
from beliefd.ledger.envelope import read
from beliefd.ledger.state_hash import state_hash
from beliefd.protocol.experiments import ExperimentRows
from beliefd.protocol.intents import IntentRows
from beliefd.protocol.operations import OPERATIONS, Operation
from beliefd.steward.credentials import create_token
from beliefd.testing.world import AGENT, Person, World, refused
from tests.firewall.lab import Lab, code_of, path_of

SECRET = "the-word-that-must-not-be-kept"
PARAMS = {"claimed_value": 1.0, "observed_values": [1.0, 1.01, 0.99]}
LINK, DESIGN, STAGE = ExperimentRows.link_evidence, ExperimentRows.design_experiment, IntentRows.stage_intent
HIDDEN = json.dumps({"epistemic_status": "speculative", "why": SECRET})
ATTEMPTS: list[tuple[Operation, dict[str, Any], Code, str]] = [
    (LINK, {"run_id": SECRET, "role": "support"}, Code.MISSING_CLAIM_ID, "$"),
    (
        LINK,
        {"claim_id": "c", "run_id": "r", "role": "support", "lane": "speculative", "note": SECRET},
        Code.SPECULATIVE_EVIDENCE,
        "$.lane",
    ),
    (
        LINK,
        {"claim_id": "c", "run_id": "r", "role": "support", HIDDEN: 1},
        Code.SPECULATIVE_EVIDENCE,
        '$["..."]~{}.epistemic_status',
    ),
    (
        DESIGN,
        {
            "spec": {
                "claim_id": "c",
                "template": "numeric_consistency",
                "params": {**PARAMS, "edge_cases": [SECRET]},
            }
        },
        Code.SPECULATIVE_RESIDUE,
        "$.spec.params.edge_cases",
    ),
    (
        STAGE,
        {"type": "create_proposition", "claim_id": "c", "statement": HIDDEN},
        Code.SPECULATIVE_PROPOSAL,
        "$.statement{}.epistemic_status",
    ),
]
attempts = pytest.mark.parametrize(
    ("operation", "body", "code", "path"), ATTEMPTS, ids=[f"{one[0].name}-{one[2]}" for one in ATTEMPTS]
)


@pytest.fixture
def house() -> Iterator[World]:
    with World() as opened:
        yield opened


def send(person: Person, operation: Operation, session: str, body: Any, key: str | None = None) -> Any:
    return person._send(Request(operation, {"session_id": session}, {}, body, None, key))


@attempts
def test_an_attempt_is_on_record_with_rule_place_and_digest_and_without_its_text(
    house: World, operation: Operation, body: dict[str, Any], code: Code, path: str
) -> None:
    session = house.session()
    before = house.hash(session)
    error = refused(code, lambda: send(house.agent, operation, session, body))
    entry = read(house.entries(session)[-1].record)
    assert entry.verb == VERB_OF[RecordAttempt]
    assert entry.actor == AGENT
    assert isinstance(entry.delta, Refused)
    assert (entry.delta.code, entry.delta.details["path"]) == (code, path)
    assert entry.delta.details["operation"] == operation.name
    assert entry.delta.details["body_hash"] == digest(body)
    assert SECRET.encode() not in house.export(session)
    assert (error.details or {})["audit_event_id"] == entry.event_id
    assert house.hash(session) == before, "and nothing else happened"
    house.check(session)


@attempts
def test_over_http_it_is_answered_as_before_and_shown_in_the_timeline(
    house: World, operation: Operation, body: dict[str, Any], code: Code, path: str
) -> None:
    session, app = house.session(), create_app(house.runtime, close_runtime=False)

    async def ask() -> tuple[httpx.Response, httpx.Response]:
        token = await create_token(house.store, "web", Role.AGENT)
        transport = httpx.ASGITransport(app=app)
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", headers=headers
        ) as client:
            where = operation.path.format(session_id=session)
            return await client.post(where, json=body), await client.get(f"/v1/sessions/{session}/audit")

    answer, trail = house.run(ask)
    assert answer.json()["error"]["code"] == code
    assert code in trail.text
    assert VERB_OF[RecordAttempt] in trail.text
    assert SECRET not in trail.text


def test_the_same_attempt_under_its_key_is_recorded_once(house: World) -> None:
    session = house.session()
    operation, body, code, _ = ATTEMPTS[1]
    told = [refused(code, lambda: send(house.agent, operation, session, body, "k")) for _ in range(3)]
    assert len({(one.details or {})["audit_event_id"] for one in told}) == 1
    assert len(house.entries(session)) == 2
    other = {**body, "note": "another"}
    error = refused(Code.CONFLICT, lambda: send(house.agent, operation, session, other, "k"))
    assert "Idempotency-Key" in error.message
    refused(code, lambda: send(house.agent, operation, session, body))
    assert len(house.entries(session)) == 3, "without a key it is another attempt"


def test_a_session_that_is_not_there_has_no_record(house: World) -> None:
    for operation, body, _, _ in ATTEMPTS:
        with pytest.raises(BeliefdError) as raised:
            send(house.agent, operation, "nowhere", body)
        assert raised.value.code is Code.SESSION_NOT_FOUND
    assert house.root.list_sessions().sessions == []


def test_what_is_only_written_wrongly_is_answered_and_not_recorded(house: World) -> None:
    session = house.session()
    for body in ({"claim_id": "c"}, {"claim_id": "c", "run_id": 1, "role": "support"}, {"claim_id": ["c"]}):
        refused(Code.INVALID_REQUEST, partial(send, house.agent, LINK, session, body))
    assert len(house.entries(session)) == 1


def test_what_the_kernel_refuses_is_recorded_once_as_what_it_was(house: World) -> None:
    session = house.session()
    idea = house.agent.speculate(session, "c", [{"statement": "perhaps"}]).hypotheses[0].hypothesis_id
    refused(
        Code.HYPOTHESIS_IS_NOT_EVIDENCE,
        lambda: house.agent.link_evidence(session, claim_id="c", run_id=idea, role="support"),
    )
    assert [read(one.record).verb for one in house.entries(session)][1:] == ["SPECULATE", "LINK_EVIDENCE"]


def test_nobody_can_ask_for_it_by_name() -> None:
    assert all(operation.body is not RecordAttempt for operation in OPERATIONS)


@pytest.mark.parametrize("code", Code)
def test_the_kernel_records_hard_failures_and_no_others(code: Code) -> None:
    told: dict[str, Any] = {"operation": "link_evidence", "path": "$.a", "body_hash": "0" * 64}
    if code not in HARD_FAILURES:
        with pytest.raises(ValueError, match="firewall"):
            RecordAttempt(code=code, **told)
        return
    lab = Lab()
    before = state_hash(lab.state)
    event = lab.ask(RecordAttempt(code=code, **told))
    assert (code_of(event), path_of(event)) == (code, "$.a")
    assert state_hash(lab.state) == before


def test_keys_that_are_no_names_and_long_paths_are_not_kept() -> None:
    assert path_to_record('$.a["x \\" ] y"]~{}.b[3]') == '$.a["..."]~{}.b[3]'
    assert len(path_to_record("$" + ".a" * 1_000)) == 512
