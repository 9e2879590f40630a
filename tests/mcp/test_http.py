"""The gateway over HTTP, on either side: sessions, tokens, state, what is not known after a broken answer."""

import asyncio
from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from beliefd.mcp.conversation import RESTART_SECONDS
from tests.mcp.support import MODES, Place, http_client, http_upstream, run, text_of, told_of, until


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
