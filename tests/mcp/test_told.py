"""What goes to and fro beside calls and their results, over standard streams and over HTTP alike."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from mcp import Client

from tests.mcp.support import MODES, WAYS, Place, http_upstream, run, text_of, until

EACH_WAY = pytest.mark.parametrize("way", WAYS)
EACH_MODE = pytest.mark.parametrize("mode", MODES)


@EACH_WAY
@EACH_MODE
def test_progress_is_passed_on_under_the_clients_own_token(place: Place, way: str, mode: str) -> None:
    async def scenario() -> None:
        seen: list[Any] = []

        async def note(progress: float, total: float | None, message: str | None) -> None:
            seen.append(progress)

        async with place.either(way, mode) as client:
            assert text_of(await client.call_tool("slow", {}, progress_callback=note)) == "done"
        assert seen == [1.0, 2.0, 3.0]

    run(scenario)


@EACH_WAY
@EACH_MODE
def test_a_cancelled_call_is_cancelled_upstream_under_its_id_there_and_is_unknown(
    place: Place, way: str, mode: str
) -> None:
    async def scenario() -> None:
        async with place.either(way, mode) as client:
            await client.call_tool("echo", {"text": "so that ids differ"})
            call = asyncio.create_task(client.call_tool("hang", {}))
            await until(lambda: len(place.ledger("begun")) == 2)
            await asyncio.sleep(0.2)
            call.cancel()
            await until(lambda: place.effects() == ["cancelled"])
            await until(lambda: place.statuses() == ["ok", "unknown"])
            assert text_of(await client.call_tool("echo", {"text": "still here"})) == "still here"

    run(scenario)


@EACH_WAY
@EACH_MODE
def test_a_large_result_is_kept_whole_and_its_head_is_shown(place: Place, way: str, mode: str) -> None:
    async def scenario() -> None:
        async with place.either(way, mode, config={"limits": {"result_bytes": 2000}}) as client:
            text = text_of(await client.call_tool("large", {"n": 3_000_000}))
            assert text.startswith("x" * 2000 + "\n[beliefd: the result has 3000000 bytes")
            assert "sha256:whole" in text
            assert len(text) < 2200

    run(scenario)
    assert [entry["size"] for entry in place.ledger("reported")] == [3_000_002]


OPENED = {"prompts": True, "resources": True}
NOTIFIED = {
    "prompts": types.PromptListChangedNotification,
    "resources": types.ResourceListChangedNotification,
}


@EACH_WAY
@EACH_MODE
@pytest.mark.parametrize("what", NOTIFIED)
def test_a_client_is_told_when_a_list_changes_that_is_opened(
    place: Place, way: str, mode: str, what: str
) -> None:
    async def scenario() -> None:
        async with told_of_changes(place, way, mode, what, OPENED) as (client, heard):
            before = await names(client, what)
            await client.call_tool(f"change_{what}", {})
            await heard.wait()
            assert await names(client, what) > before

    run(scenario)


@EACH_MODE
@pytest.mark.parametrize("what", NOTIFIED)
def test_a_client_is_told_when_a_list_of_a_newer_upstream_changes(place: Place, mode: str, what: str) -> None:
    async def scenario() -> None:
        async with http_upstream(place.folder) as upstream:
            config = {**OPENED, "upstreams": {"remembers": {"url": upstream}}}
            async with told_of_changes(place, "streams", mode, what, config) as (client, heard):
                while not heard.is_set():  # until the gateway listens, nobody hears it
                    await client.call_tool("change", {"what": what})
                    await asyncio.sleep(0.1)

    run(scenario)


@pytest.mark.parametrize("what", NOTIFIED)
def test_a_client_is_not_told_of_lists_that_are_closed(place: Place, what: str) -> None:
    async def scenario() -> None:
        async with told_of_changes(place, "streams", "legacy", what, {}) as (client, heard):
            await client.call_tool(f"change_{what}", {})
            await client.call_tool("change", {})  # of tools it is told, after that
            await until(lambda: len(place.ledger("pinned")) > 1)
            assert text_of(await client.call_tool("add", {"n": 1})) == "2"
            assert not heard.is_set()

    run(scenario)


async def names(client: Client, what: str) -> set[str]:
    if what == "prompts":
        return {one.name for one in (await client.list_prompts()).prompts}
    return {one.name for one in (await client.list_resources()).resources}


@asynccontextmanager
async def told_of_changes(
    place: Place, way: str, mode: str, what: str, config: Any
) -> AsyncIterator[tuple[Client, asyncio.Event]]:
    """As clients of the older and of the newest revision are told."""
    heard = asyncio.Event()

    async def hears(message: Any) -> None:
        if isinstance(message, NOTIFIED[what]):
            heard.set()

    async with place.either(way, mode, config=config, message_handler=hears) as client:
        await client.list_tools()
        if mode == "legacy":
            yield client, heard
            return
        wanted: Any = {f"{what}_list_changed": True}
        async with client.listen(**wanted) as changes:

            async def listen() -> None:
                async for _ in changes:
                    heard.set()

            listening = asyncio.create_task(listen())
            yield client, heard
            listening.cancel()


async def answers_itself(_: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    asked = params.messages[0].content
    assert isinstance(asked, types.TextContent)
    said = types.TextContent(type="text", text=f"{asked.text} A model.")
    return types.CreateMessageResult(role="assistant", content=said, model="the client's")


@EACH_WAY
def test_where_it_is_configured_the_clients_model_answers_an_upstream(place: Place, way: str) -> None:
    async def scenario() -> None:
        config = {"sampling": True}
        async with place.either(way, config=config, sampling_callback=answers_itself) as client:
            told = json.loads(text_of(await client.call_tool("sample", {})))
            assert told["content"]["text"] == "who are you? A model."
            assert told["model"] == "the client's"

    run(scenario)
    assert "sampling" in json.loads((place.folder / "effects.capabilities").read_text())


@EACH_WAY
@pytest.mark.parametrize(
    ("mode", "config", "able"),
    [("legacy", {}, True), ("legacy", {"sampling": True}, False), ("auto", {"sampling": True}, True)],
    ids=["off", "a client without", "the newest revision"],
)
def test_an_upstream_is_told_that_no_model_answers_it(
    place: Place, way: str, mode: str, config: Any, able: bool
) -> None:
    """Clients of the newest revision are asked in answers to calls, which is not passed on."""

    async def scenario() -> None:
        more = {"sampling_callback": answers_itself} if able else {}
        async with place.either(way, mode, config=config, **more) as client:
            told = json.loads(text_of(await client.call_tool("sample", {})))
            assert isinstance(told["code"], int)
            assert told["message"]

    run(scenario)
