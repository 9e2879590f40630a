"""The gateway's own work, over real standard streams: what passes, what is refused, what is told to whom."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from tests.mcp.support import MODES, Place, run, text_of, told_of, until


@pytest.mark.parametrize("mode", MODES)
def test_tools_have_their_own_names_and_what_is_allowed_runs_once_and_is_reported(
    place: Place, mode: str
) -> None:
    async def scenario() -> None:
        async with place.client(mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names[:3] == ["echo", "write", "add"]
            assert text_of(await client.call_tool("write", {"text": "a"})) == "written"
            added = await client.call_tool("add", {"n": 2})
            assert (added.structured_content, added.is_error) == ({"n": 3}, False)
            failed = await client.call_tool("fails", {})
            assert (failed.is_error, text_of(failed)) == (True, "no such file")

    run(scenario)
    assert place.effects() == [{"text": "a"}]
    assert place.statuses() == ["ok", "ok", "error"]
    assert len(place.ledger("opened")) == 1


@pytest.mark.parametrize("mode", MODES)
def test_a_refusal_and_a_wait_reach_the_model_as_results_and_nothing_reaches_the_tool(
    place: Place, mode: str
) -> None:
    place.decide(write="deny", crash="ask", add="deny")

    async def scenario() -> None:
        async with place.client(mode) as client:
            denied = await client.call_tool("write", {"text": "a"})
            assert denied.is_error
            assert "rule R7 says no" in text_of(denied)
            assert told_of(denied)["decision"] == "refused"
            waits = await client.call_tool("crash", {})
            assert waits.is_error
            assert "approval-1" in text_of(waits)
            schema = await client.call_tool("add", {"n": 1})  # whose answers have a schema
            assert told_of(schema)["decision"] == "refused"
            assert told_of(waits)["approval_id"] == "approval-1"
            assert told_of(waits)["approval_url"].endswith("/v1/approvals/approval-1")

    run(scenario)
    assert place.effects() == []
    assert place.ledger("begun") == []


def test_without_a_server_nothing_is_listed_and_nothing_runs(place: Place) -> None:
    place.decide(unreachable=True)

    async def scenario() -> None:
        async with place.client() as client:
            with pytest.raises(MCPError, match="cannot reach"):
                await client.list_tools()
            refused = await client.call_tool("write", {"text": "a"})
            assert refused.is_error
            assert "cannot reach" in text_of(refused)
            place.decide()
            assert text_of(await client.call_tool("write", {"text": "b"})) == "written"
            place.decide(unreachable=True)
            assert (await client.call_tool("write", {"text": "c"})).is_error

    run(scenario)
    assert place.effects() == [{"text": "b"}]


def test_a_held_call_ends_when_the_inbox_decides(place: Place) -> None:
    place.decide(write="ask")

    async def scenario() -> None:
        async with place.client(config={"hold_seconds": 30}) as client:
            steps: list[float] = []

            async def note(progress: float, total: float | None, message: str | None) -> None:
                steps.append(progress)

            call = asyncio.create_task(client.call_tool("write", {"text": "held"}, progress_callback=note))
            await until(lambda: len(steps) > 0)
            assert not call.done()
            place.decide(write="ask", approval="approved")
            assert text_of(await call) == "written"
            place.decide(write="ask", approval="rejected")
            refused = await client.call_tool("write", {"text": "again"})
            assert "rejected" in text_of(refused)

    run(scenario)
    assert place.effects() == [{"text": "held"}]


def test_an_elicitation_that_is_accepted_at_once_is_no_approval(place: Place) -> None:
    place.decide(write="ask")
    shown: list[Any] = []

    async def accept(_: Any, params: Any) -> types.ElicitResult:
        shown.append(params)
        return types.ElicitResult(action="accept", content={"approve": True})

    async def scenario() -> None:
        config = {"hold_seconds": 1}
        async with place.client(config=config, elicitation_callback=accept) as client:
            waits = await client.call_tool("write", {"text": "a"})
            assert told_of(waits)["decision"] == "waits"

    run(scenario)
    assert [params.url for params in shown] == ["http://127.0.0.1:8642/inbox/approval-1"]
    assert place.effects() == []


def test_names_mean_tools_letter_for_letter(place: Place) -> None:
    async def scenario() -> None:
        async with place.client() as client:
            await client.list_tools()
            for name in ("Write", "WRITE", "write ", "wrіte", "ｗｒｉｔｅ", "write\u200b", "w%72ite", ""):
                refused = await client.call_tool(name, {"text": "a"})
                assert refused.is_error, name

    run(scenario)
    assert place.effects() == []
    assert place.ledger("proposed") == []


@pytest.mark.parametrize("mode", MODES)
def test_a_changed_definition_is_pinned_before_the_client_hears_of_it_and_gone_until_accepted(
    place: Place, mode: str
) -> None:
    async def scenario() -> None:
        changes: list[Any] = []

        async def heard(message: Any) -> None:
            changes.append(type(message).__name__)

        async with place.client(mode, message_handler=heard) as client:
            assert "echo" in [tool.name for tool in (await client.list_tools()).tools]
            if mode == "legacy":
                await client.call_tool("change", {})
                await until(lambda: "ToolListChangedNotification" in changes)
            else:
                async with client.listen(tools_list_changed=True) as changed:
                    await client.call_tool("change", {})
                    await anext(aiter(changed))
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "echo" not in names
            assert "newcomer" in names
            refused = await client.call_tool("echo", {"text": "a"})
            assert refused.is_error
            assert "approval-drift" in text_of(refused)

    run(scenario)


def test_a_child_gets_named_variables_only_and_its_roots_from_the_configuration(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        upstream = {"command": place.upstream, "environment": ["WANTED"]}
        config = {"upstreams": {"bad": upstream}, "roots": ["file:///srv/data"]}

        async def roots(_: Any) -> types.ListRootsResult:
            return types.ListRootsResult(roots=[types.Root.model_validate({"uri": "file:///"})])

        command = place.command(**config)
        assert command
        async with place.client(config=config, list_roots_callback=roots) as client:
            known = json.loads(text_of(await client.call_tool("environment", {})))
            assert "PATH" in known
            assert "PYTHONPATH" not in known
            told = json.loads(text_of(await client.call_tool("ask", {})))
            assert told == {"roots": [{"uri": "file:///srv/data"}]}

    run(scenario)


def test_roots_sampling_and_elicitation_are_off_unless_configured(place: Place) -> None:
    async def scenario() -> None:
        async with place.client() as client:
            assert "not supported" in text_of(await client.call_tool("ask", {}))

    run(scenario)
    assert json.loads((place.folder / "effects.capabilities").read_text()) == {}


def test_resources_and_prompts_are_closed_unless_opened_and_then_told_as_context(place: Place) -> None:
    async def closed() -> None:
        async with place.client() as client:
            assert client.server_capabilities.resources is None
            assert client.server_capabilities.prompts is None
            for ask in (client.list_resources(), client.read_resource("note://one"), client.list_prompts()):
                with pytest.raises(MCPError, match="Method not found"):
                    await ask

    async def opened() -> None:
        config = {"resources": ["note://o*"], "prompts": True}
        async with place.client(config=config) as client:
            assert [str(one.uri) for one in (await client.list_resources()).resources] == ["note://one"]
            (note,) = (await client.read_resource("note://one")).contents
            assert isinstance(note, types.TextResourceContents)
            assert note.text == "a note"
            with pytest.raises(MCPError, match="not opened"):
                await client.read_resource("note://two")
            assert [one.name for one in (await client.list_prompts()).prompts] == ["greet"]
            content = (await client.get_prompt("greet")).messages[0].content
            assert isinstance(content, types.TextContent)
            assert content.text == "greet them"

    run(closed)
    assert place.ledger("told") == []
    run(opened)
    assert [(one["told"], one["text"]) for one in place.ledger("told")] == [
        ("resources/read", "a note"),
        ("prompts/get", "greet them"),
    ]


@pytest.mark.parametrize("mode", MODES)
def test_a_client_is_told_of_changes_of_resources_that_are_opened(place: Place, mode: str) -> None:
    heard: list[str] = []

    async def hears(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.append(str(message.params.uri))

    async def scenario() -> None:
        config = {"resources": ["note://o*"]}
        async with place.client(mode, config=config, message_handler=hears) as client:
            assert promised(client)
            async with watched(client, mode, "note://one"):
                await client.call_tool("touch", {})
                await until(lambda: heard == ["note://one"])
                if mode == "legacy":
                    with pytest.raises(MCPError, match="not opened"):
                        await client.subscribe_resource("note://two")
            if mode == "legacy":  # the end of listening is told while other things go on
                await client.call_tool("touch", {})

    run(scenario)
    assert heard == ["note://one"]
    assert place.effects()[:2] == [["subscribe", "note://one"], ["touch", ["note://one"]]]


@pytest.mark.parametrize("mode", MODES)
def test_what_no_upstream_tells_of_is_not_promised(place: Place, mode: str) -> None:
    silent = {"silent": {"command": [*place.upstream, "--silent"]}}

    async def scenario() -> None:
        async with place.client(mode, config={"resources": True, "upstreams": silent}) as client:
            assert not promised(client)
            if mode == "legacy":
                with pytest.raises(MCPError, match="no upstream tells"):
                    await client.subscribe_resource("note://one")

    run(scenario)
    assert place.effects() == []


def promised(client: Client) -> bool:
    told = client.server_capabilities.resources
    return told is not None and bool(told.subscribe)


@asynccontextmanager
async def watched(client: Client, mode: str, uri: str) -> AsyncIterator[None]:
    """As clients of the older and of the newest revision do it."""
    if mode == "auto":
        async with client.listen(resource_subscriptions=[uri]):
            yield
    else:
        await client.subscribe_resource(uri)
        yield
        await client.unsubscribe_resource(uri)


def test_several_upstreams_are_routed_by_an_explicit_table(place: Place) -> None:
    one = {"command": place.upstream, "tools": {"read": "echo", "put": "write"}}
    two = {"command": place.upstream, "tools": {"second_echo": "echo"}}

    async def scenario() -> None:
        async with place.client(config={"upstreams": {"one": one, "two": two}}) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["read", "put", "second_echo"]
            assert text_of(await client.call_tool("second_echo", {"text": "two"})) == "two"
            assert text_of(await client.call_tool("put", {"text": "one"})) == "written"
            assert (await client.call_tool("write", {"text": "one"})).is_error

    run(scenario)
    assert place.effects() == [{"text": "one"}]


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        (({"echo": "echo"}, {"ECHO": "echo", "mine": "write"}), "can be taken for each other"),
        (({"echo": "echo"}, {"echo": "write"}), "`echo` is routed to `one` and to `two`"),
        (
            ({"echo": "echo"}, None),
            '`$.upstreams.two` needs `tools` beside other upstreams; for all its own: `tools: {"echo":',
        ),
    ],
    ids=["the same but for its case", "the same name", "no table"],
)
def test_names_of_which_it_is_not_said_what_they_mean_are_refused_at_the_start(
    place: Place, tables: Any, words: str
) -> None:
    told = [{"command": place.upstream} | ({} if table is None else {"tools": table}) for table in tables]
    upstreams = dict(zip(("one", "two"), told, strict=True))

    async def scenario() -> None:
        process = await asyncio.create_subprocess_exec(
            *place.command(upstreams=upstreams),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", "src")},
        )
        _, errors = await process.communicate()
        assert process.returncode != 0
        assert words in errors.decode()

    run(scenario)


def test_a_joined_call_goes_into_the_session_that_announced_it(place: Place) -> None:
    place.decide(joins={"toolu_1": "session-of-the-hook"})

    async def scenario() -> None:
        async with place.client() as client:
            told: list[Any] = [{"claudecode/toolUseId": "toolu_1"}, {"callId": "call_2"}, {}]
            for meta in told:
                await client.call_tool("echo", {"text": "a"}, meta=meta)

    run(scenario)
    first, second, third = place.ledger("proposed")
    assert (first["session"], first["join"]) == ("session-of-the-hook", "toolu_1")
    assert second["join"] == "call_2"
    assert second["session"] == third["session"] != first["session"]


def test_a_call_with_a_key_that_nobody_announced_is_told_so(place: Place) -> None:
    """A hook and a gateway of different owners do not join: without a word, nobody would find out."""
    place.decide(write="deny", crash="ask", joins={"toolu_1": "session-of-the-hook"})

    async def scenario() -> None:
        async with place.client() as client:
            known: Any = {"claudecode/toolUseId": "toolu_1"}
            unknown: Any = {"claudecode/toolUseId": "toolu_2"}
            for tool, arguments in (("write", {"text": "a"}), ("crash", {})):
                alone = await client.call_tool(tool, arguments, meta=unknown)
                assert "No announcement was found for this call" in text_of(alone)
                joined = await client.call_tool(tool, arguments, meta=known)
                assert "announcement" not in text_of(joined)
                assert "announcement" not in text_of(await client.call_tool(tool, arguments))

    run(scenario)
