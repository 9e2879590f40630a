"""The gateway in front of public MCP servers, with the SDK's client and the conformance suite."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.support.postgres import free_port

from clients.harness.agents import CLAUDE, CODEX, Agent
from clients.harness.conformance import CONFORMANT, FORMS, REVISIONS, failures, listening
from clients.harness.guard import ALLOWED, PROGRAM, REASON, REFUSED, Guard
from clients.harness.model import Model
from clients.harness.process import Place, run
from clients.harness.relay import Relay
from clients.harness.repository import repository
from clients.harness.script import Call, Say
from clients.harness.setup import Server, Setup
from clients.harness.upstreams import edited, everything, filesystem, git

MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
NOT_PASSED_ON = FORMS | {"tools-call-elicitation"}
"""An upstream does not ask the person behind the gateway."""
SAMPLING = "tools-call-sampling"
SECONDS = 120


@asynccontextmanager
async def connected(place: Place, server: Server, mode: str = "legacy") -> AsyncIterator[Client]:
    environment = {**place.environment(), **server.environment}
    given = StdioServerParameters(command=server.command[0], args=list(server.command[1:]), env=environment)
    with (place.root / "gateway.log").open("a") as log:
        async with Client(stdio_client(given, errlog=log), mode=mode) as client:
            yield client


def play(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(SECONDS):
            await scenario()

    asyncio.run(bounded())


def text_of(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


@MODES
def test_the_sdk_works_with_files_through_the_gateway(mode: str, place: Place, guard: Guard) -> None:
    path = place.work / "effect.txt"

    async def scenario() -> None:
        async with connected(place, guard.gated(filesystem(place.work)), mode) as client:
            direct = {tool.name for tool in (await client.list_tools()).tools}
            assert "write_file" in direct
            for word in (ALLOWED, REFUSED):
                told = await client.call_tool("write_file", {"path": str(path), "content": word})
                assert told.is_error is (word == REFUSED), told
                assert (REASON in text_of(told)) is (word == REFUSED)

    play(scenario)
    assert path.read_text() == ALLOWED
    ledger = guard.ledger()
    assert ledger.verdicts == ["allow", "deny"]
    assert ledger.outcomes == [("ok", "witnessed")]


@pytest.mark.parametrize("agent", [CLAUDE, CODEX], ids=lambda agent: agent.name)
def test_clients_read_a_repository_through_the_gateway(
    agent: Agent, model: Model, place: Place, guard: Guard
) -> None:
    repository(place.work)
    script = (Call("git_log", {"repo_path": str(place.work)}, "git"), Say("done"))
    run = agent.run(
        model, place, "what happened?", script, Setup(servers={"git": guard.gated(git(place.work))})
    )
    assert "the first commit" in run.told().text
    assert guard.ledger().outcomes == [("ok", "witnessed")]


@MODES
def test_the_sdk_reads_a_repository_through_the_gateway(mode: str, place: Place, guard: Guard) -> None:
    repository(place.work)

    async def scenario() -> None:
        direct = git(place.work)
        async with (
            connected(place, direct, mode) as plain,
            connected(place, guard.gated(direct), mode) as gated,
        ):
            names = [{tool.name for tool in (await one.list_tools()).tools} for one in (plain, gated)]
            assert names[0] == names[1]
            here = {"repo_path": str(place.work)}
            told = await gated.call_tool("git_log", here)
            assert "the first commit" in text_of(told)
            refused = await gated.call_tool("git_commit", {**here, "message": REFUSED})
            assert refused.is_error, refused
            assert REASON in text_of(refused)
            assert text_of(await plain.call_tool("git_log", here)) == text_of(told)

    play(scenario)
    ledger = guard.ledger()
    assert ledger.verdicts == ["allow", "deny"]
    assert ledger.outcomes == [("ok", "witnessed")]


def test_the_roots_of_claude_code_do_not_widen_a_server_behind_the_gateway(
    model: Model, place: Place, guard: Guard
) -> None:
    """Without the gateway they replace its folder (see the traps); behind it, its configuration stands."""
    configured = place.made("configured")
    path, inside = place.work / "effect.txt", configured / "effect.txt"
    calls = [Call("write_file", {"path": str(one), "content": ALLOWED}, "files") for one in (path, inside)]
    setup = Setup(servers={"files": guard.gated(filesystem(configured))})
    run = CLAUDE.run(model, place, "write", (*calls, Say("done")), setup)
    assert not path.exists(), run.story
    assert inside.read_text() == ALLOWED, run.story
    assert str(configured) in run.told(0).text
    assert guard.ledger().outcomes == [("error", "witnessed"), ("ok", "witnessed")]


@MODES
def test_progress_reaches_the_client_of_a_public_server(mode: str, place: Place, guard: Guard) -> None:
    heard: list[float] = []

    async def hears(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def scenario() -> None:
        async with connected(place, guard.gated(everything()), mode) as client:
            asked = {"duration": 1, "steps": 4}
            told = await client.call_tool("trigger-long-running-operation", asked, progress_callback=hears)
            assert not told.is_error, told

    play(scenario)
    assert heard == [1, 2, 3, 4]


def test_a_call_that_is_cancelled_is_recorded_as_unknown(place: Place, guard: Guard) -> None:
    async def scenario() -> None:
        begun = anyio.Event()

        async def hears(progress: float, total: float | None, message: str | None) -> None:
            begun.set()

        async with connected(place, guard.gated(everything())) as client, anyio.create_task_group() as group:
            asked: dict[str, Any] = {"duration": 100, "steps": 100}
            group.start_soon(client.call_tool, "trigger-long-running-operation", asked, None, hears)
            await begun.wait()
            group.cancel_scope.cancel()

    play(scenario)
    assert [status for status, _ in guard.ledger().outcomes] == ["unknown"]


def test_structured_content_and_images_pass_unchanged(place: Place, guard: Guard) -> None:
    asked: dict[str, dict[str, Any]] = {
        "get-structured-content": {"location": "Chicago"},
        "get-tiny-image": {},
        "get-sum": {"a": 2, "b": 3},
    }

    async def scenario() -> None:
        through = guard.gated(everything())
        async with connected(place, everything()) as direct, connected(place, through) as gated:
            for name, arguments in asked.items():
                plain, judged = [await client.call_tool(name, arguments) for client in (direct, gated)]
                assert judged.content == plain.content
                assert judged.structured_content == plain.structured_content

    play(scenario)


def test_a_tool_whose_definition_changed_is_gone_until_it_is_accepted(place: Place, guard: Guard) -> None:
    offered: list[list[str]] = []
    changed = edited(everything(), "echo", "and send it to everybody")

    async def scenario(upstream: Server) -> None:
        async with connected(place, guard.gated(replace(upstream, name="drifting"))) as client:
            offered.append([tool.name for tool in (await client.list_tools()).tools])
            await client.call_tool("echo", {"message": ALLOWED})
            assert not (await client.call_tool("get-sum", {"a": 2, "b": 3})).is_error

    ran = []
    for upstream, accept in ((everything(), False), (changed, True), (changed, False)):
        play(partial(scenario, upstream))
        ran.append(len(guard.ledger().outcomes))
        if accept:
            guard.approve()
    assert ["echo" in names for names in offered] == [True, False, True]
    assert ran == [2, 3, 5]


def test_a_server_that_lists_a_tool_twice_is_refused_at_the_start(place: Place, guard: Guard) -> None:
    server = guard.gated(edited(everything(), "echo", "twice"))
    ended = run(server.command, {**place.environment(), **server.environment}, place.work)
    assert ended.exit != 0
    assert "lists the tool `echo` twice" in ended.errors


def test_guard_is_one_line_in_front_of_a_server(place: Place) -> None:
    """Nobody has said what the user wants: reading passes, writing waits, and a yes is for one call."""
    path, data = place.work / "effect.txt", place.root / "guarded"
    options = ("--data", str(data), "--hold", "0", "--name", "files")
    guarded = Server((*PROGRAM, "guard", *options, "--", *filesystem(place.work).command))
    asked = {"path": str(path), "content": "4711"}

    async def as_it_comes() -> None:
        async with connected(place, guarded) as client:
            listed = await client.call_tool("list_directory", {"path": str(place.work)})
            assert not listed.is_error, listed
            waits = await client.call_tool("write_file", asked)
            assert "nobody has told what the user said" in text_of(waits)
            assert not path.exists()
            name = (waits.meta or {})["beliefd"]["approval_id"]
            yes = (*PROGRAM, "inbox", "approve", name, "--yes", "--data", str(data))
            told = await asyncio.to_thread(run, yes, place.environment(), place.work)
            assert "its agent can make the call now, until" in told.output, told
            assert not (await client.call_tool("write_file", asked)).is_error
            path.unlink()
            assert (await client.call_tool("write_file", asked)).is_error

    play(as_it_comes)
    assert not path.exists()
    assert "beliefd inbox list" in (place.root / "gateway.log").read_text()


def test_two_servers_with_a_tool_of_one_name_are_refused_at_the_start(place: Place, guard: Guard) -> None:
    config = place.root / "gateway.json"
    upstream = {"command": everything().command, "tools": {"echo": "echo"}}
    config.write_text(json.dumps({"name": "two", "upstreams": {"one": upstream, "other": upstream}}))
    environment = {**place.environment(), **guard.environment(guard.gateway)}
    ended = run([*PROGRAM, "mcp", "gateway", "--config", str(config)], environment, place.work)
    assert ended.exit != 0
    assert "`echo` is routed to `one` and to `other`" in ended.errors


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("sampling", [False, True])
def test_the_conformance_suite_passes_through_the_gateway(
    sampling: bool, revision: str, place: Place, guard: Guard
) -> None:
    """The client's model is asked where that is configured, and nowhere else."""
    port, config = free_port(), place.root / "gateway.json"
    opened = {"resources": True, "prompts": True, "sampling": sampling}
    # In the newest revision a server asks in its answers to calls, which is not passed on.
    upstreams = {"suite": {"command": CONFORMANT, "protocol": "legacy" if sampling else "auto"}}
    config.write_text(json.dumps({"upstreams": upstreams, "name": "suite", **opened}))
    how = ("--config", str(config), "--http", str(port), "--http-token", "suite")
    environment = {**place.environment(), **guard.environment(guard.gateway)}
    with (
        listening((*PROGRAM, "mcp", "gateway", *how), port, environment, place.work),
        Relay(f"http://127.0.0.1:{port}", {"authorization": "Bearer suite"}) as relay,
    ):
        failed = failures(f"{relay.url}/mcp", revision, place)
    assert failed <= NOT_PASSED_ON | {SAMPLING}
    assert (SAMPLING in failed) is not sampling
