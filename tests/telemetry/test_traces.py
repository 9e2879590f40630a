"""Traces: request, decision, commit and effect as one tree, where the caller says that it belongs."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from beliefd import telemetry, tracing
from beliefd.client import Client
from beliefd.conformance.tools import registry
from beliefd.kernel.errors import BeliefdError
from beliefd.mcp.calls import call_tool
from beliefd.testing.world import AGENT, ONTOLOGY_JSON, World, policy
from tests.cli.runner import beliefd, finished
from tests.conformance.surfaces import Server
from tests.telemetry.receiver import Collector, collecting

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
SERVER = 2
"""How OTLP numbers the kind of a span."""
ALLOW = {"constraint.all": {"v": 1, "effect": "allow", "subject": None}}


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as made:
        tracer = telemetry.start(made.url)
        try:
            yield made
        finally:
            telemetry.stop(tracer)


def test_a_request_over_http_is_one_tree_under_its_caller(collector: Collector, tmp_path: Path) -> None:
    server = Server(tmp_path / "a")
    try:
        headers = {"Authorization": f"Bearer {server.tokens['agent', 'PRIVILEGE']}", "traceparent": PARENT}
        with httpx.Client(base_url=server.url, headers=headers, timeout=60) as http:
            body = {"hypotheses": ["secret words"], "ontology": ONTOLOGY_JSON}
            session_id = http.post("/v1/sessions", json=body).raise_for_status().json()["session_id"]
            http.post(
                f"/v1/sessions/{session_id}/eliminate",
                json={
                    "source_id": "s",
                    "observation_id": "o",
                    "eliminated": ["secret words"],
                    "justification": {},
                },
            ).raise_for_status()
            http.get("/v1/sessions/nobody").read()
    finally:
        server.close()
    tracing.tracer.close()  # type: ignore[union-attr]  # flushes what is left
    request = collector.wait_for("POST /v1/sessions/{session_id}/eliminate")
    assert (request.kind, request.trace_id, request.parent_id) == (SERVER, PARENT[3:35], PARENT[36:52])
    assert request.attributes["beliefd.operation"] == "eliminate"
    assert request.attributes["http.response.status_code"] == 200
    inside = [one for one in collector.spans if one.parent_id == request.span_id]
    assert sorted(one.name for one in inside) == ["commit", "decide"]
    (decided,) = [one for one in inside if one.name == "decide"]
    assert decided.attributes["beliefd.verb"] == "ELIMINATE"
    assert decided.attributes["beliefd.event"] == "eliminated"
    assert decided.attributes["beliefd.session.id"] == session_id
    assert decided.attributes["beliefd.seq"] == 2
    missing = collector.wait_for("GET /v1/sessions/{session_id}")
    assert missing.attributes["http.response.status_code"] == 404
    assert "secret" not in json.dumps([one.attributes for one in collector.spans])


def test_a_tool_call_is_told_in_the_words_of_genai(collector: Collector) -> None:
    with World(policy=policy(constraints=ALLOW), registry=registry()) as house:
        session = house.session()
        made = house.root.issue_capability(session, agent_id=AGENT.id, scope={"tools": ["staging.look"]})
        call = {
            "kind": "tool_call",
            "tool_id": "staging.look",
            "args": {},
            "capability_token": made.token,
        }
        (result,) = house.agent.propose(session, [call]).results
    assert result.verdict == "allow"
    tracing.tracer.close()  # type: ignore[union-attr]
    told = collector.wait_for("execute_tool staging.look")
    assert told.attributes["gen_ai.operation.name"] == "execute_tool"
    assert told.attributes["gen_ai.tool.name"] == "staging.look"
    assert told.attributes["gen_ai.tool.type"] == "function"
    assert told.attributes["gen_ai.tool.call.id"]
    assert told.attributes["gen_ai.agent.id"] == AGENT.id
    proposal = collector.wait_for("propose")
    assert told.trace_id == proposal.trace_id


def test_what_mcp_carries_is_sent_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway's process needs no tracer: it hands over what its client said."""
    seen: list[httpx.Headers] = []

    class Talk:
        busy, used_at = 0, 0.0

        class config:  # noqa: N801
            class limits:  # noqa: N801
                concurrent_calls = 1

    class Context:
        meta = {"traceparent": PARENT, "tracestate": "a=b"}

    async def judged(*_: object) -> Any:
        def answer(request: httpx.Request) -> httpx.Response:
            seen.append(request.headers)
            return httpx.Response(404, json={"error": {"code": "NOT_FOUND", "message": "no"}})

        with Client("http://127.0.0.1:9") as client:
            client._http = httpx.Client(base_url="http://127.0.0.1:9", transport=httpx.MockTransport(answer))
            with pytest.raises(BeliefdError):
                client.query_belief("x")
        return None

    monkeypatch.setattr("beliefd.mcp.calls._judged", judged)
    asyncio.run(call_tool(Talk(), Context(), "echo", {}))  # type: ignore[arg-type]
    assert (seen[0]["traceparent"], seen[0]["tracestate"]) == (PARENT, "a=b")
    assert tracing.carried() is None


@pytest.mark.parametrize(
    "given",
    [
        None,
        {},
        {"traceparent": 7},
        {"traceparent": "00-" + "0" * 32 + "-00f067aa0ba902b7-01"},
        {"traceparent": PARENT.upper()},
        {"traceparent": PARENT + "\r\nx: y"},
        {"traceparent": "ff" + PARENT[2:]},
        {"traceparent": PARENT + "-" + "x" * 1000},
    ],
)
def test_what_cannot_be_read_says_nothing(given: Any) -> None:
    assert tracing.read(given) is None
    assert tracing.read({"traceparent": PARENT, "tracestate": "é"}) == {"traceparent": PARENT}


def test_off_makes_nothing(tmp_path: Path) -> None:
    assert tracing.tracer is None
    assert tracing.span("a", {}) is tracing.NOTHING
    assert tracing.span("b", {}) is tracing.NOTHING
    assert tracing.current() is None
    assert tracing.outgoing() == {}
    # A server that was not told of a collector does not even import the library.
    code = "import sys, beliefd.cli.server, beliefd.http.app; print('opentelemetry' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    result = beliefd("serve", "--port", "0", "--data", tmp_path, "--otlp", "collector:4318")
    assert result.exit_code == 2
    assert "no address of a collector" in result.output


def test_a_collector_that_is_away_holds_nothing_up(tmp_path: Path) -> None:
    tracer = telemetry.start("http://127.0.0.1:9")
    try:
        done = beliefd("session", "declare", "a", "--data", tmp_path)
        assert done.exit_code == 0
    finally:
        telemetry.stop(tracer)
    assert finished("--version").returncode == 0
