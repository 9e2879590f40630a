"""Upstreams that crash, hang, flood, lie about ids and send too much; clients and gateways that go away."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.support import ENV, Place, run, text_of, told_of, until


def is_alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


class Raw:
    """A client that writes whatever it likes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def start(cls, place: Place, **config: Any) -> "Raw":
        raw = cls(
            await asyncio.create_subprocess_exec(
                *place.command(**config),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=(place.folder / "stderr").open("a"),
                env={**os.environ, **ENV},
                limit=64 * 1024 * 1024,
            )
        )
        await raw.greet()
        return raw

    async def greet(self) -> None:
        info = {"name": "raw", "version": "1"}
        told = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        self.send(id=0, method="initialize", params=told)
        assert (await self.answer())["result"]["protocolVersion"] == "2025-06-18"
        self.send(method="notifications/initialized")

    def send(self, **message: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def call(self, number: Any, tool: str, **arguments: Any) -> None:
        self.send(id=number, method="tools/call", params={"name": tool, "arguments": arguments})

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")

    async def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        while True:
            message: dict[str, Any] = json.loads(await self.process.stdout.readline())
            if "method" not in message:
                return message

    async def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        await self.process.wait()


def test_an_upstream_that_crashes_leaves_the_call_unknown_and_is_started_again(place: Place) -> None:
    async def scenario() -> None:
        async with place.client() as client:
            crashed = await client.call_tool("crash", {})
            assert told_of(crashed)["decision"] == "unknown"
            await asyncio.sleep(1.1)
            assert text_of(await client.call_tool("echo", {"text": "back"})) == "back"

    run(scenario)
    assert place.effects() == ["crash"]
    assert place.statuses() == ["unknown", "ok"]


def test_an_upstream_that_hangs_is_given_up_when_its_time_is_over(place: Place) -> None:
    place.decide(seconds=0.5)

    async def scenario() -> None:
        async with place.client() as client:
            hung = await client.call_tool("hang", {})
            assert told_of(hung)["decision"] == "unknown"
            assert "timed out" in text_of(hung)
            await until(lambda: place.effects() == ["cancelled"])
            wrong = await client.call_tool("other_id", {})
            assert told_of(wrong)["decision"] == "unknown"

    run(scenario)
    assert place.statuses() == ["unknown", "unknown"]


def test_a_flood_is_dropped_and_calls_go_on(place: Place) -> None:
    seen: list[Any] = []

    async def heard(message: Any) -> None:
        seen.append(message)

    async def scenario() -> None:
        async with place.client(message_handler=heard) as client:
            assert text_of(await client.call_tool("flood", {})) == "flooded"
            assert text_of(await client.call_tool("garbage", {})) == "after the garbage"

    run(scenario)
    assert 0 < len(seen) < 5_000
    assert place.statuses() == ["ok", "ok"]


BROKEN = (
    '{"jsonrpc": "2.0", "id": ID, "result": {"content": [], "structuredContent": {"mean": NaN}}}',
    '{"jsonrpc": "2.0", "id": ID, "result": {"content": [{"type": "text", "text": "\\ud800"}]}}',
    '{"jsonrpc": "2.0", "id": ID, "result": {"content": [',
    '{"result": {"content": [NaN]}, "jsonrpc": "2.0", "id": ID}',
    '{"jsonrpc": "2.0", "id": ID, "result": ' + '{"a": ' * 5_000 + "1" + "}" * 5_001,
)


@pytest.mark.parametrize("answer", BROKEN)
def test_an_answer_that_is_no_json_is_unknown_at_once(answer: str, place: Place) -> None:
    place.decide(seconds=3600)

    async def scenario() -> None:
        async with place.client() as client, asyncio.timeout(60):
            assert told_of(await client.call_tool("garbage", {"text": answer}))["decision"] == "unknown"
            assert text_of(await client.call_tool("echo", {"text": "still here"})) == "still here"

    run(scenario)
    assert place.statuses() == ["unknown", "ok"]


def test_a_hundred_megabytes_are_not_taken_in(place: Place) -> None:
    async def scenario() -> None:
        async with place.client() as client:
            huge = await client.call_tool("large", {"n": 100_000_000})
            assert told_of(huge)["decision"] == "unknown"
            assert "more than" in text_of(huge)
            assert text_of(await client.call_tool("echo", {"text": "still here"})) == "still here"

    run(scenario)
    assert place.statuses() == ["unknown", "ok"]


def test_what_a_child_has_started_ends_with_it(place: Place) -> None:
    pids: list[int] = []

    async def scenario() -> None:
        async with place.client() as client:
            pids.append(int(text_of(await client.call_tool("child", {}))))
            assert is_alive(pids[0])
        await until(lambda: not is_alive(pids[0]))
        async with place.client() as client:
            pids.append(int(text_of(await client.call_tool("child", {}))))
            await client.call_tool("crash", {})
            await until(lambda: not is_alive(pids[1]))

    run(scenario)


def test_a_gateway_that_is_told_to_stop_takes_its_children_along(place: Place) -> None:
    async def scenario() -> None:
        raw = await Raw.start(place)
        raw.call(1, "child")
        pid = int((await raw.answer())["result"]["content"][0]["text"])
        raw.process.send_signal(signal.SIGTERM)
        await raw.process.wait()
        await until(lambda: not is_alive(pid))

    run(scenario)


def test_malformed_messages_of_a_client_do_no_harm(place: Place) -> None:
    async def scenario() -> None:
        raw = await Raw.start(place)
        for line in (
            b"",
            b"no json",
            b"[]",
            b'{"jsonrpc":"2.0"}',
            b'{"id":1}',
            b"\xff\xfe",
            b"null",
            b"{" * 5000,
        ):
            raw.write(line)
        raw.send(id=7, method="tools/call", params={"name": "write"})
        raw.send(id=8, method="tools/call", params={"name": 5, "arguments": []})
        raw.send(id=9, method="tools/call", params={"name": "echo", "arguments": {"text": "well"}})
        answers = {}
        while 9 not in answers:
            answer = await raw.answer()
            answers[answer.get("id")] = answer
        assert "error" in answers[8]
        assert answers[9]["result"]["content"][0]["text"] == "well"
        await raw.end()

    run(scenario)
    assert len(place.effects()) == 1


def test_a_request_that_is_sent_twice_runs_once(place: Place) -> None:
    async def scenario() -> None:
        raw = await Raw.start(place)
        raw.call(5, "write", text="once")
        first = await raw.answer()
        raw.call(5, "write", text="once")
        second = await raw.answer()
        raw.call("5", "write", text="another id")
        third = await raw.answer()
        assert first["result"]["content"][0]["text"] == "written"
        assert second["result"]["isError"]
        assert "repeated, not run" in second["result"]["content"][0]["text"]
        assert third["result"]["content"][0]["text"] == "written"
        await raw.end()

    run(scenario)
    assert place.effects() == [{"text": "once"}, {"text": "another id"}]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "told to stop"])
def test_a_gateway_that_goes_in_the_middle_of_a_call_repeats_nothing(place: Place, number: int) -> None:
    async def scenario() -> None:
        raw = await Raw.start(place)
        raw.call(1, "write", text="before")
        await raw.answer()
        raw.call(2, "hang")
        await until(lambda: len(place.ledger("begun")) == 2)
        await asyncio.sleep(0.2)
        raw.process.send_signal(number)
        await raw.process.wait()
        again = await Raw.start(place)
        again.call(1, "echo", text="after")
        assert (await again.answer())["result"]["content"][0]["text"] == "after"
        await again.end()

    run(scenario)
    assert [one for one in place.effects() if one != "cancelled"] == [{"text": "before"}]
    assert [entry["tool"] for entry in place.ledger("begun")] == ["write", "hang", "echo"]
    told = ["ok", "ok"] if number == signal.SIGKILL else ["ok", "unknown", "ok"]
    assert place.statuses() == told


def test_a_client_that_leaves_while_a_call_runs_leaves_it_unknown(place: Place) -> None:
    async def scenario() -> None:
        raw = await Raw.start(place)
        raw.call(1, "hang")
        await until(lambda: len(place.ledger("begun")) == 1)
        await asyncio.sleep(0.2)
        await raw.end()

    run(scenario)
    assert place.statuses() == ["unknown"]


def test_nothing_more_runs_until_what_was_shown_is_recorded(place: Place) -> None:
    async def scenario() -> None:
        async with place.client() as client:
            await client.list_tools()
            call = asyncio.create_task(client.call_tool("slow", {}))
            await until(lambda: len(place.ledger("begun")) == 1)
            place.decide(unreachable="reports")
            assert text_of(await call) == "done"
            refused = await client.call_tool("write", {"text": "too early"})
            assert "is not recorded yet" in text_of(refused)
            assert len(place.ledger("proposed")) == 1
            place.decide()
            assert text_of(await client.call_tool("write", {"text": "now"})) == "written"

    run(scenario)
    assert place.statuses() == ["ok", "ok"]
    assert place.effects() == [{"text": "now"}]


def test_of_a_large_result_that_cannot_be_kept_nothing_is_shown(place: Place) -> None:
    place.decide(unreachable="reports")

    async def scenario() -> None:
        async with place.client(config={"limits": {"result_bytes": 2000}}) as client:
            withheld = await client.call_tool("large", {"n": 100_000})
            assert withheld.is_error
            assert "could not be recorded" in text_of(withheld)

    run(scenario)


def test_a_hundred_callers_at_once_lose_and_double_nothing(place: Place) -> None:
    async def scenario() -> None:
        async with place.client() as client:
            calls = [client.call_tool("write", {"text": str(number)}) for number in range(100)]
            answers = await asyncio.gather(*calls)
            assert {text_of(answer) for answer in answers} == {"written"}

    run(scenario)
    assert sorted(int(one["text"]) for one in place.effects()) == list(range(100))
    assert len({entry["begun"] for entry in place.ledger("begun")}) == 100
    assert sorted(entry["reported"] for entry in place.ledger("reported")) == sorted(
        entry["begun"] for entry in place.ledger("begun")
    )
