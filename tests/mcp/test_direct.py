"""Calls that are answered beside the protocol's library: what ends them, and what is not let through."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from beliefd.mcp import posts
from tests.mcp.support import TOKEN, Place, http_client, run, text_of, until
from tests.mcp.test_hostile import Raw

OLDER = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
JSON, EVENTS = "application/json", "text/event-stream"


class Session:
    """A client session over HTTP, message by message."""

    def __init__(self, http: httpx2.AsyncClient, address: str) -> None:
        self.http = http
        self.address = address
        self.headers = {"Authorization": f"Bearer {TOKEN}", "Accept": f"{JSON}, {EVENTS}"}

    async def greet(self, revision: str) -> None:
        told = {
            "protocolVersion": revision,
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        }
        answer = await self.post(id=0, method="initialize", params=told)
        self.headers |= {"Mcp-Session-Id": answer.headers["mcp-session-id"], "Mcp-Protocol-Version": revision}
        assert (await self.post(method="notifications/initialized")).status_code == 202
        await self.post(id=0, method="ping")  # what was told before has been heard by then

    async def post(self, more: Any = None, **message: Any) -> httpx2.Response:
        body = {"jsonrpc": "2.0", **message}
        return await self.http.post(self.address, headers={**self.headers, **(more or {})}, json=body)

    async def call(self, number: int, tool: str, *, more: Any = None, **told: Any) -> httpx2.Response:
        params = {"name": tool, "arguments": told.pop("arguments", {}), **told}
        return await self.post(more, id=number, method="tools/call", params=params)


@asynccontextmanager
async def session(place: Place, revision: str = "2025-06-18", **config: Any) -> AsyncIterator[Session]:
    async with place.over_http(**config) as address, httpx2.AsyncClient(timeout=30) as http:
        made = Session(http, address)
        await made.greet(revision)
        yield made


@pytest.mark.parametrize("revision", OLDER)
def test_over_http_a_call_is_answered_with_one_document_and_with_a_stream_if_progress_is_wanted(
    place: Place, revision: str
) -> None:
    async def scenario() -> None:
        async with session(place, revision) as client:
            answer = await client.call(1, "echo", arguments={"text": "a"})
            assert answer.headers["content-type"] == JSON
            assert answer.json()["result"]["content"] == [{"type": "text", "text": "a"}]
            answer = await client.call(2, "slow", _meta={"progressToken": "mine"})
            assert answer.headers["content-type"] == EVENTS
            told = [json.loads(line[5:]) for line in answer.text.splitlines() if line.startswith("data:")]
            steps = [one["params"] for one in told[:-1]]
            assert [(one["progressToken"], one["progress"]) for one in steps] == [
                ("mine", number) for number in (1, 2, 3)
            ]
            assert told[-1]["id"] == 2
            quiet = await client.call(3, "echo", arguments={"text": "b"}, _meta={"progressToken": "mine"})
            assert quiet.headers["content-type"] == JSON

    run(scenario)
    assert place.statuses() == ["ok", "ok", "ok"]


@pytest.mark.parametrize("number", [5, "5"], ids=["as it was given", "as a text"])
def test_over_http_a_call_that_runs_is_ended_by_its_client(place: Place, number: Any) -> None:
    async def scenario() -> None:
        async with session(place) as client:
            call = asyncio.create_task(client.call(5, "hang"))
            await until(lambda: len(place.ledger("begun")) == 1)
            await asyncio.sleep(0.2)
            ended = await client.post(method="notifications/cancelled", params={"requestId": number})
            assert ended.status_code == 202
            assert (await call).json()["error"]["code"] == -32_800
            await until(lambda: place.effects() == ["cancelled"])
            await until(lambda: place.statuses() == ["unknown"])

    run(scenario)


def test_over_http_a_session_that_its_client_ends_takes_its_calls_along(place: Place) -> None:
    async def scenario() -> None:
        async with session(place) as client:
            call = asyncio.create_task(client.call(5, "hang"))
            await until(lambda: len(place.ledger("begun")) == 1)
            await asyncio.sleep(0.2)
            assert (await client.http.delete(client.address, headers=client.headers)).status_code == 200
            assert "error" in (await call).json()
            await until(lambda: place.statuses() == ["unknown"])
            assert (await client.call(6, "echo", arguments={"text": "a"})).status_code == 404

    run(scenario)


def test_over_http_a_call_goes_on_when_its_connection_is_lost(place: Place) -> None:
    """In the older revisions, nobody is to take that for a wish."""

    async def scenario() -> None:
        async with session(place) as client:
            call = asyncio.create_task(client.call(5, "slow"))
            await until(lambda: len(place.ledger("begun")) == 1)
            call.cancel()
            await until(lambda: place.statuses() == ["ok"])

    run(scenario)


def test_a_session_opens_no_door_for_a_page_in_a_browser(place: Place) -> None:
    async def scenario() -> None:
        async with session(place) as client:
            for more in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}, {"Authorization": ""}):
                answer = await client.call(1, "write", arguments={"text": "a"}, more=more)
                assert answer.status_code in (401, 403, 421)
            for more in ({"Accept": JSON}, {"Content-Type": "text/plain"}):
                answer = await client.call(1, "write", arguments={"text": "a"}, more=more)
                assert answer.status_code in (400, 406)
            answer = await client.call(
                1, "write", arguments={"text": "a"}, more={"Mcp-Session-Id": "another"}
            )
            assert answer.status_code == 404

    run(scenario)
    assert place.effects() == []
    assert place.ledger("proposed") == []


@pytest.mark.parametrize("way", ["streams", "http"])
def test_a_call_that_is_ended_while_it_waits_for_a_person_does_not_run(place: Place, way: str) -> None:
    place.decide(write="ask")

    async def over_http() -> None:
        async with session(place, hold_seconds=30) as client:
            call = asyncio.create_task(client.call(5, "write", arguments={"text": "a"}))
            await until(lambda: len(place.ledger("proposed")) == 1)
            await client.post(method="notifications/cancelled", params={"requestId": 5})
            assert (await call).json()["error"]["code"] == -32_800
            place.decide(write="ask", approval="approved")
            await asyncio.sleep(0.3)

    async def over_streams() -> None:
        raw = await Raw.start(place, hold_seconds=30)
        raw.call(5, "write", text="a")
        await until(lambda: len(place.ledger("proposed")) == 1)
        raw.send(method="notifications/cancelled", params={"requestId": 5})
        raw.call(6, "echo", text="after")
        assert (await raw.answer())["id"] == 6
        place.decide(write="ask", approval="approved")
        await asyncio.sleep(0.3)
        await raw.end()

    run(over_http if way == "http" else over_streams)
    assert place.effects() == []


def test_a_call_of_the_newest_revision_does_not_have_all_tools_listed(place: Place) -> None:
    async def scenario() -> None:
        async with place.over_http() as address, http_client(address, "auto") as client:
            await client.list_tools()
            listed = len(place.ledger("pinned"))
            for number in range(3):
                assert text_of(await client.call_tool("echo", {"text": str(number)})) == str(number)
            assert len(place.ledger("pinned")) == listed

    run(scenario)


def test_a_silent_answer_becomes_a_stream_before_anybody_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posts, "SILENT_SECONDS", 0.01)
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def scenario() -> None:
        answer = posts._Answer(send, "s")
        with answer:
            await until(lambda: len(sent) >= 3)
        await answer.end(b"{}")

    run(scenario)
    assert (b"content-type", b"text/event-stream") in sent[0]["headers"]
    assert sent[1]["body"] == posts.PING
    assert sent[-1] == {"type": "http.response.body", "body": posts._event(b"{}"), "more_body": False}
