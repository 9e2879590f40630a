"""The gateway over HTTP, on either side: sessions, tokens, state, what is not known after a broken answer."""

import asyncio
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from beliefd.mcp.conversation import RESTART_SECONDS
from tests.mcp.support import (
    MODES,
    OTHER_TOKEN,
    Place,
    http_client,
    http_upstream,
    run,
    text_of,
    told_of,
    until,
)
from tests.mcp.test_direct import session


@pytest.mark.parametrize("mode", MODES)
def test_a_client_over_http_is_let_in_with_the_token_only(place: Place, mode: str) -> None:
    async def scenario() -> None:
        async with place.over_http() as address:
            async with http_client(address, mode) as client:
                assert "write" in [tool.name for tool in (await client.list_tools()).tools]
                assert text_of(await client.call_tool("write", {"text": mode})) == "written"
                seen: list[Any] = []

                async def note(progress: float, total: float | None, message: str | None) -> None:
                    seen.append(progress)

                await client.call_tool("slow", {}, progress_callback=note)
                assert seen == [1.0, 2.0, 3.0]
            async with httpx2.AsyncClient() as http:
                for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": ""}):
                    assert (await http.post(address, headers=headers, json={})).status_code == 401

    run(scenario)
    assert place.effects() == [{"text": mode}]


def test_a_page_in_a_browser_is_not_let_in_even_with_the_token(place: Place) -> None:
    async def scenario() -> None:
        async with place.over_http() as address, httpx2.AsyncClient() as http:
            headers = {"Authorization": "Bearer a-token-of-this-test", "Origin": "https://evil.example"}
            assert (await http.post(address, headers=headers, json={})).status_code == 403
            headers = {"Authorization": "Bearer a-token-of-this-test", "Host": "evil.example"}
            assert (await http.post(address, headers=headers, json={})).status_code in (403, 421)

    run(scenario)


def test_each_client_session_has_an_upstream_session_and_a_beliefd_session_of_its_own(place: Place) -> None:
    async def scenario() -> None:
        async with http_upstream(place.folder) as upstream:
            # The newest revision has no sessions over HTTP: there, a server has nothing to remember by.
            config = {"upstreams": {"remembers": {"url": upstream, "protocol": "legacy"}}}
            gateway = place.over_http(**config)
            async with gateway as address, http_client(address) as one, http_client(address) as two:
                for expected in ("1", "2", "3"):
                    assert text_of(await one.call_tool("count", {})) == expected
                assert text_of(await two.call_tool("count", {})) == "1"
                assert text_of(await one.call_tool("count", {})) == "4"

    run(scenario)
    assert len(place.ledger("opened")) == 2
    assert len({entry["session"] for entry in place.ledger("proposed")}) == 2
    assert len({entry["join"] for entry in place.ledger("proposed")}) == 5


@pytest.mark.parametrize("mode", MODES)
def test_clients_with_tokens_of_their_own_share_neither_upstream_nor_session(place: Place, mode: str) -> None:
    async def scenario() -> None:
        async with (
            place.over_http(resources=True) as address,
            http_client(address, mode) as ann,
            http_client(address, mode, OTHER_TOKEN) as ben,
        ):
            for client in (ann, ben):
                await client.read_resource("note://one")
            pids = [text_of(await client.call_tool("pid", {})) for client in (ann, ben, ann)]
            assert pids[0] == pids[2] != pids[1]

    run(scenario)
    assert len({entry["session"] for entry in place.ledger("told")}) == 2
    sessions = [entry["session"] for entry in place.ledger("proposed")]
    assert sessions[0] == sessions[2] != sessions[1]


def test_clients_of_the_newest_revision_that_show_one_token_are_one_user(place: Place) -> None:
    async def scenario() -> None:
        async with (
            place.over_http() as address,
            http_client(address, "auto") as one,
            http_client(address, "auto") as other,
        ):
            assert await pid(one) == await pid(other)

    async def pid(client: Client) -> str:
        return text_of(await client.call_tool("pid", {}))

    run(scenario)
    assert len({entry["session"] for entry in place.ledger("proposed")}) == 1


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_a_session_is_of_no_use_with_another_token(place: Place, method: str) -> None:
    async def scenario() -> None:
        async with session(place) as ann:
            await ann.call(1, "write", arguments={"text": "of Ann"})
            call = {"name": "write", "arguments": {"text": "of somebody else"}}
            body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
            headers = {**ann.headers, "Authorization": f"Bearer {OTHER_TOKEN}"}
            more: Any = {"json": body} if method == "POST" else {}
            answer = await ann.http.request(method, ann.address, headers=headers, **more)
            assert answer.status_code == 404
            assert (await ann.call(3, "write", arguments={"text": "again"})).status_code == 200

    run(scenario)
    assert place.effects() == [{"text": "of Ann"}, {"text": "again"}]


def test_when_a_client_ends_its_session_its_upstream_ends(place: Place) -> None:
    async def scenario() -> None:
        async with place.over_http() as address:
            async with http_client(address) as client:
                known = int(text_of(await client.call_tool("child", {})))
            from tests.mcp.test_hostile import is_alive

            await until(lambda: not is_alive(known))

    run(scenario)


@pytest.mark.parametrize("mode", MODES)
def test_an_upstream_over_http_is_called_through_standard_streams(
    place: Place, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with http_upstream(place.folder) as upstream:
            config = {"upstreams": {"remembers": {"url": upstream, "headers": {"X-Secret": "HOME"}}}}
            async with place.client(mode, config=config) as client:
                assert text_of(await client.call_tool("write", {"text": "a"})) == "written"
                assert text_of(await client.call_tool("secret", {})).startswith("/")
                seen: list[Any] = []

                async def note(progress: float, total: float | None, message: str | None) -> None:
                    seen.append(progress)

                assert text_of(await client.call_tool("slow", {}, progress_callback=note)) == "done"
                assert seen == [1.0, 2.0, 3.0]

    run(scenario)
    assert place.effects() == [{"text": "a"}]


def test_after_a_broken_answer_the_call_is_unknown_and_not_sent_again(place: Place) -> None:
    async def scenario() -> None:
        async with http_upstream(place.folder) as upstream:
            config = {"upstreams": {"remembers": {"url": upstream}}}
            async with place.client(config=config) as client:
                broken = await client.call_tool("broken", {})
                assert told_of(broken)["decision"] == "unknown"
                assert text_of(await client.call_tool("write", {"text": "after"})) == "written"

    run(scenario)
    assert place.statuses() == ["unknown", "ok"]


def test_too_much_from_an_upstream_over_http_is_not_taken_in(place: Place) -> None:
    async def scenario() -> None:
        async with http_upstream(place.folder) as upstream:
            config = {"upstreams": {"remembers": {"url": upstream}}, "limits": {"message_bytes": 2_000_000}}
            async with place.client(config=config) as client:
                huge = await client.call_tool("large", {"n": 30_000_000})
                assert told_of(huge)["decision"] == "unknown"
                await asyncio.sleep(RESTART_SECONDS)  # what has just ended is not started again at once
                assert text_of(await client.call_tool("count", {})).isdigit()

    run(scenario)
    assert place.statuses() == ["unknown", "ok"]


def test_a_client_that_comes_back_after_its_session_is_gone_is_told_so(place: Place) -> None:
    async def scenario() -> None:
        async with place.over_http() as address, httpx2.AsyncClient() as http:
            headers = {
                "Authorization": "Bearer a-token-of-this-test",
                "Mcp-Session-Id": "one-that-never-was",
                "Accept": "application/json, text/event-stream",
            }
            call = {"name": "write", "arguments": {"text": "a"}}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            assert (await http.post(address, headers=headers, json=body)).status_code == 404

    run(scenario)
    assert place.effects() == []


def test_two_gateways_in_front_of_one_upstream_number_their_calls_apart(place: Place) -> None:
    async def scenario() -> None:
        async with http_upstream(place.folder) as upstream:
            config = {"upstreams": {"remembers": {"url": upstream}}}
            async with place.client(config=config) as one, place.client(config=config) as two:
                await asyncio.gather(
                    *(client.call_tool("write", {"text": "same"}) for client in (one, two) for _ in range(10))
                )

    run(scenario)
    assert len(place.effects()) == 20
    assert len({entry["join"] for entry in place.ledger("proposed")}) == 20


def test_an_upstream_that_is_not_there_is_an_error_that_says_so(place: Place) -> None:
    async def scenario() -> None:
        config = {"upstreams": {"nobody": {"command": ["/no/such/command"]}}}
        with pytest.raises((MCPError, ExceptionGroup)):
            async with place.client(config=config):
                pass

    run(scenario)
    assert "there is no command" in (place.folder / "stderr").read_text()
