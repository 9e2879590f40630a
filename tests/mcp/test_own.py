"""beliefd's verbs as MCP tools: derived from the operations, never one that decides, answers as over HTTP."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import jsonschema_rs
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from beliefd.kernel.values import Role
from beliefd.mcp.verbs import verbs
from beliefd.protocol.operations import OPERATIONS
from beliefd.protocol.rights import OF_ROLE, Right
from tests.mcp.support import ENV, MODES, run, text_of, told_of

MOST_OFFERED = 40_000
"""Characters of all tools together: what a model reads before it begins."""
ONTOLOGY = {
    "hypothesis_space_id": "pool",
    "hypothesis_version": "1",
    "causal_graph_ref": "pool",
    "causal_graph_version": "1",
}


@asynccontextmanager
async def own(folder: Path, mode: str = "legacy", *more: str) -> AsyncIterator[Client]:
    args = ["-m", "beliefd", "mcp", "serve", "--data", str(folder / "store"), *more]
    parameters = StdioServerParameters(command=sys.executable, args=args, env=ENV)
    async with Client(stdio_client(parameters), mode=mode) as client:
        yield client


def read_text(result: types.ReadResourceResult) -> str:
    (one,) = result.contents
    assert isinstance(one, types.TextResourceContents)
    return one.text


def test_the_tools_are_what_an_agent_may_do_and_nothing_else() -> None:
    offered = verbs()
    agents = OF_ROLE[Role.AGENT]
    for operation in OPERATIONS:
        if operation.needs not in agents or Role.AGENT not in operation.roles:
            assert operation.name not in offered
    never = {"decide_approval", "give_grant", "revoke_grant", "adopt_policy", "create_token", "merge"}
    assert not never & offered.keys()
    assert {"declare_session", "eliminate", "submit_claims", "propose", "query_belief"} <= offered.keys()
    assert {verb.operation.needs for verb in offered.values()} == {Right.READ, Right.PROPOSE}


def test_no_tool_is_one_of_those_who_stand_beside_an_agent() -> None:
    """Else an agent says itself what the user said, what a tool is and what came of its calls."""
    beside = {one.name for one in OPERATIONS if one.beside}
    assert {"add_context", "hook_event", "pin_tools", "begin_call", "report_outcome"} <= beside
    assert {"issue_capability", "revoke_capability", "show_join"} <= beside
    assert not beside & verbs().keys()


def test_schemas_hold_the_definitions_that_they_refer_to_and_no_others() -> None:
    for name, verb in verbs().items():
        for schema in (verb.tool.input_schema, verb.tool.output_schema or {}):
            referred = set(re.findall(r"#/\$defs/([^\"]+)", json.dumps(schema)))
            assert referred == schema.get("$defs", {}).keys(), name


def test_what_is_offered_by_itself_is_short(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with own(tmp_path) as client:
            usual = (await client.list_tools()).tools
        async with own(tmp_path, "legacy", "--all", "--output-schemas") as client:
            every = (await client.list_tools()).tools
        names = {tool.name for tool in usual}
        assert {"declare_session", "eliminate", "submit_claims", "show_state", "show_call"} <= names
        assert not names & {"propose", "remember", "measure", "adopt_policy"}
        assert all(tool.output_schema is None for tool in usual)
        assert sum(len(tool.model_dump_json(exclude_none=True)) for tool in usual) < MOST_OFFERED
        assert {tool.name for tool in every} == verbs().keys()
        assert all(tool.output_schema is not None for tool in every)

    run(scenario)


def test_every_tool_has_schemas_that_are_some_and_says_whether_it_writes() -> None:
    for name, verb in verbs().items():
        jsonschema_rs.Draft202012Validator(verb.tool.input_schema)
        assert verb.tool.output_schema is not None, name
        jsonschema_rs.Draft202012Validator(verb.tool.output_schema)
        assert verb.tool.annotations is not None
        assert verb.tool.annotations.read_only_hint is not verb.operation.writes
        assert (
            verb.tool.input_schema["required"][: len(verb.operation.path_names)] == verb.operation.path_names
        )


@pytest.mark.parametrize("mode", MODES)
def test_a_session_is_worked_on_through_tools_and_read_as_resources(tmp_path: Path, mode: str) -> None:
    async def scenario() -> None:
        async with own(tmp_path, mode) as client:
            declared = await client.call_tool(
                "declare_session", {"hypotheses": ["full", "slow"], "ontology": ONTOLOGY}
            )
            session = declared.structured_content["session_id"]
            assert json.loads(text_of(declared)) == declared.structured_content
            out = await client.call_tool(
                "eliminate",
                {
                    "session_id": session,
                    "source_id": "probe",
                    "observation_id": "o1",
                    "eliminated": ["slow"],
                    "justification": {},
                },
            )
            assert not out.is_error, text_of(out)
            seen = await client.call_tool("query_belief", {"session_id": session, "survivors_limit": 5})
            assert seen.structured_content["survivors"] == ["full"]
            read = await client.read_resource(f"beliefd://sessions/{session}/snapshot")
            assert json.loads(read_text(read))["survivors"] == ["full"]
            audit = await client.read_resource(f"beliefd://sessions/{session}/audit")
            assert len(json.loads(read_text(audit))["events"]) == 2
            assert [one.uri for one in (await client.list_resources()).resources] == ["beliefd://inbox"]
            assert json.loads(read_text(await client.read_resource("beliefd://inbox")))["approvals"] == []
            assert len((await client.list_resource_templates()).resource_templates) == 2

    run(scenario)


def test_what_is_refused_or_unknown_is_an_error_that_says_why(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with own(tmp_path) as client:
            unknown = await client.call_tool("query_belief", {"session_id": "nobody"})
            assert told_of(unknown)["code"] == "SESSION_NOT_FOUND"
            missing = await client.call_tool("query_belief", {})
            assert "`session_id` is missing" in text_of(missing)
            wrong = await client.call_tool("declare_session", {"hypotheses": ["a"], "surprise": 1})
            assert wrong.is_error
            for name in ("decide_approval", "adopt_policy", "Declare_Session", "nothing"):
                assert (await client.call_tool(name, {})).is_error
            for uri in ("beliefd://else", "beliefd://sessions/nobody/snapshot", "file:///etc/passwd"):
                with pytest.raises(MCPError):
                    await client.read_resource(uri)

    run(scenario)


def test_only_some_vocabularies_can_be_offered(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with own(tmp_path, "legacy", "--only", "claims") as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "submit_claims" in names
            assert "eliminate" not in names
            assert (await client.call_tool("list_sessions", {})).is_error

    run(scenario)


def test_it_serves_over_http_on_loopback_with_a_token(tmp_path: Path) -> None:
    async def scenario() -> None:
        process = await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "-m",
                "beliefd",
                "mcp",
                "serve",
                "--data",
                str(tmp_path / "store"),
                "--http",
                "0",
            ),
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, **ENV},
        )
        assert process.stderr is not None
        try:
            address = re.search(rb"http://127\.0\.0\.1:\d+/mcp", await process.stderr.readline())
            token = re.search(rb"Bearer ([\w-]+)", await process.stderr.readline())
            assert address
            assert token
            url = address[0].decode()
            http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token[1].decode()}"}, timeout=30)
            client: Any = Client(streamable_http_client(url, http_client=http))
            async with http, client:
                assert not (await client.call_tool("list_sessions", {})).is_error
            async with httpx2.AsyncClient() as stranger:
                assert (await stranger.post(url, json={})).status_code == 401
        finally:
            process.terminate()
            await process.wait()

    run(scenario)
