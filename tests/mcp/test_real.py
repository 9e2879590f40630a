"""The gateway with a real server, a real store and real people: what is recorded is what happened, once."""

import asyncio
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

import beliefd
from beliefd.client import AsyncClient
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import seconds
from beliefd.protocol.wire import convert
from beliefd.steward.directory import LOCAL_OPERATOR
from beliefd.testing.world import ONTOLOGY
from tests.mcp.support import ENV, WAYS, Place, http_upstream, run, text_of, told_of, until
from tests.mcp.test_hostile import Raw
from tests.support.server import ServerProcess

POLICY: dict[str, Any] = {
    "v": 1,
    "context": {},
    "capabilities": [{"name": "g", "principals": ["gateway://*"], "scope": {"tools": ["*"]}}],
    "tools": {"hang": {"executor": "caller", "tier": "WRITE_LIMITED", "mutates": True, "timeout_ms": 1000}},
    "constraints": {
        "constraint.all": {"v": 1, "effect": "allow", "subject": None},
        "constraint.fails": {"v": 1, "effect": "deny", "subject": {"tool_id": "fails"}, "on_fail": "block"},
        "constraint.slow": {"v": 1, "effect": "deny", "subject": {"tool_id": "slow"}, "on_fail": "ask"},
    },
}
GATEWAY = "gateway://files"


class House:
    """A store with tokens for a gateway and a person, and a server on it that can be killed."""

    def __init__(self, place: Place, policy: dict[str, Any] = POLICY) -> None:
        self.place = place
        self.data = place.folder / "store"
        self.data.mkdir()
        with beliefd.open(self.data / "beliefd.db", principal=LOCAL_OPERATOR) as store:
            store.adopt_policy(convert(policy, Policy))
            made = [store.create_token(name=GATEWAY, role="tool", tier="PRIVILEGE")]
            made.append(store.create_token(name="ann", role="approver"))
        self.gateway_token, self.ann_token = (one.secret for one in made)
        self.server = ServerProcess(self.data)
        self.url = self.server.url

    def ann(self) -> AsyncClient:
        return AsyncClient(self.url, self.ann_token)

    @asynccontextmanager
    async def client(self, *options: str, command: Any = None) -> AsyncIterator[Client]:
        """Through a gateway that has the token."""
        env = {"BELIEFD_TOKEN": self.gateway_token}
        args = ("mcp", "gateway", "--url", self.url, *options)
        async with self.through(*args, env=env, command=command) as client:
            yield client

    @asynccontextmanager
    async def through(self, *args: str, env: Any = None, command: Any = None) -> AsyncIterator[Client]:
        arguments = ["-m", "beliefd", *args, "--name", "files", "--", *(command or self.place.upstream)]
        parameters = StdioServerParameters(command=sys.executable, args=arguments, env={**ENV, **(env or {})})
        with (self.place.folder / "stderr").open("a") as errors:
            async with Client(stdio_client(parameters, errlog=errors), mode="legacy") as client:
                yield client

    async def raw(self) -> Raw:
        """A gateway that has the token, in front of a client that can be watched byte by byte."""
        arguments = ["-m", "beliefd", "mcp", "gateway", "--url", self.url, "--name", "files"]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *arguments, "--", *self.place.upstream),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **ENV, "BELIEFD_TOKEN": self.gateway_token},
        )
        raw = Raw(process)
        await raw.greet()
        return raw

    async def recorded(self) -> list[dict[str, Any]]:
        """How each call ended, over all sessions, after their ledgers were verified."""
        found: list[dict[str, Any]] = []
        async with self.ann() as ann:
            for session in (await ann.list_sessions()).sessions:
                assert (await ann.verify(session.session_id)).ok
                since, more = None, True
                while more:
                    page = await ann.audit_trace(session.session_id, since_event_id=since)
                    more = bool(page.events)
                    since = page.events[-1]["event_id"] if more else None
                    found += [
                        event["delta"]["call"]
                        for event in page.events
                        if event["delta"]["kind"] == "outcome_recorded"
                    ]
        return found


@pytest.fixture
def house(place: Place, request: pytest.FixtureRequest) -> Iterator[House]:
    made = House(place, getattr(request, "param", POLICY))
    yield made
    made.server.stop()
    made.server.forget()


def test_what_runs_is_witnessed_its_result_is_kept_and_what_is_refused_never_runs(house: House) -> None:
    async def scenario() -> None:
        async with house.client() as client:
            assert text_of(await client.call_tool("write", {"text": "a"})) == "written"
            refused = await client.call_tool("fails", {})
            assert told_of(refused)["code"] == "DENIED"
        (call,) = await house.recorded()
        assert (call["tool_id"], call["status"], call["label"]) == ("write", "ok", "witnessed")
        async with house.ann() as ann:
            assert await ann.read_content(call["result_hash"]) == b'{"result":"written"}'

    run(scenario)
    assert house.place.effects() == [{"text": "a"}]


def test_a_person_approves_while_the_call_is_held_and_it_runs_once(house: House) -> None:
    async def scenario() -> None:
        async with house.client("--hold", "30") as client, house.ann() as ann:
            call = asyncio.create_task(client.call_tool("slow", {}))
            while not (items := (await ann.list_approvals()).approvals):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            await ann.decide_approval(items[0].approval_id, "APPROVED", content_hash=items[0].content_hash)
            assert text_of(await call) == "done"
        assert [(one["tool_id"], one["status"]) for one in await house.recorded()] == [("slow", "ok")]

    run(scenario)


def test_a_call_that_waits_runs_once_when_it_is_made_again_after_approval(house: House) -> None:
    async def scenario() -> None:
        async with house.client() as client, house.ann() as ann:
            waits = await client.call_tool("slow", {})
            name = told_of(waits)["approval_id"]
            assert told_of(waits)["approval_url"] == f"{house.url}/v1/approvals/{name}"
            ways = f"({house.url}/inbox/{name}; beliefd inbox approve {name} --url {house.url})"
            assert ways in text_of(waits)
            again = await client.call_tool("slow", {})
            assert told_of(again)["approval_id"] == name
            card = await ann.show_approval(name)
            await ann.decide_approval(name, "APPROVED", content_hash=card.content_hash)
            assert text_of(await client.call_tool("slow", {})) == "done"
            third = await client.call_tool("slow", {})
            assert told_of(third)["decision"] == "waits"
            assert told_of(third)["approval_id"] != name
        assert [one["status"] for one in await house.recorded()] == ["ok"]

    run(scenario)


@pytest.mark.parametrize("way", WAYS)
def test_a_call_of_a_tool_that_hangs_is_given_up_when_the_time_of_policy_is_over(
    house: House, way: str
) -> None:
    async def hanging(upstream: list[str]) -> None:
        async with house.client(command=upstream) as client:
            hung = await client.call_tool("hang", {})
            assert told_of(hung)["decision"] == "unknown"
            assert "timed out" in text_of(hung)
            waited = re.findall(r"timed out after ([\d.]+) seconds", text_of(hung))
            assert all(float(one) <= 1 for one in waited), "the permit lasts longer than the call may take"
            assert waited, "it says how long it was waited for"
            assert text_of(await client.call_tool("write", {"text": "after"})) == "written"

    async def scenario() -> None:
        if way == "streams":
            await hanging(house.place.upstream)
        else:
            async with http_upstream(house.place.folder) as address:
                await hanging([address])
        hung, wrote = await house.recorded()
        assert [(one["tool_id"], one["status"]) for one in (hung, wrote)] == [
            ("hang", "unknown"),
            ("write", "ok"),
        ]
        assert hung["label"] == "witnessed", "the gateway said so; it was not the end of its permit"
        given_up = seconds(wrote["scheduled_at"]) - seconds(hung["scheduled_at"])
        assert 1 <= given_up < seconds(hung["deadline"]) - seconds(hung["scheduled_at"])

    run(scenario)


AGAIN: Any = {"claudecode/toolUseId": "toolu_1"}
"""The client's own name for a call: with it, the same call made again is known for what it is."""
IMPATIENT = {**POLICY, "tools": {**POLICY["tools"], "linger": {**POLICY["tools"]["hang"]}}}


@pytest.mark.parametrize(
    ("house", "status"), [(POLICY, "ok"), (IMPATIENT, "unknown")], indirect=["house"], ids=["in time", "late"]
)
def test_a_server_that_is_killed_in_the_middle_of_a_call_repeats_nothing(house: House, status: str) -> None:
    async def scenario() -> None:
        async with house.client() as client:
            await client.list_tools()  # so that the SDK has no need to while the server is away
            call = asyncio.create_task(client.call_tool("linger", {}, meta=AGAIN))
            await until(lambda: house.place.effects() == ["linger"])
            house.server.kill()
            assert not call.done()
            if status == "ok":  # else the time of its permit ends first
                house.place.let_answer()
                assert text_of(await call) == "lingered"
            assert (await client.call_tool("write", {"text": "while it is away"})).is_error
            house.server = ServerProcess(house.data, port=house.server.port)
            assert (await call).is_error is (status == "unknown")
            again = await client.call_tool("linger", {}, meta=AGAIN)
            assert (told_of(again)["code"], told_of(again)["status"]) == ("REPEATED", status)
            assert text_of(await client.call_tool("write", {"text": "back"})) == "written"
        ended = [(one["tool_id"], one["status"]) for one in await house.recorded()]
        assert ended == [("linger", status), ("write", "ok")]

    run(scenario)
    assert house.place.effects() == ["linger", {"text": "back"}]


@pytest.mark.parametrize("house", [IMPATIENT], indirect=True)
def test_a_gateway_that_is_killed_in_the_middle_of_a_call_repeats_nothing(house: House) -> None:
    async def begin(session: str) -> Raw:
        async with AsyncClient(house.url, house.gateway_token) as hook:
            await hook.add_context(session, "announcement", tool_id="linger", join_key="toolu_1")
        raw = await house.raw()
        params = {"name": "linger", "arguments": {}, "_meta": AGAIN}
        raw.send(id=1, method="tools/call", params=params)
        return raw

    async def scenario() -> None:
        async with AsyncClient(house.url, house.gateway_token) as hook:
            session = (await hook.declare_session(["h"], ONTOLOGY)).session_id
        first = await begin(session)
        await until(lambda: house.place.effects() == ["linger"])
        first.process.send_signal(signal.SIGKILL)
        await first.process.wait()
        for status in ("running", "unknown"):
            second = await begin(session)
            told = (await second.answer())["result"]["_meta"]["beliefd"]
            assert (told["code"], told["status"]) == ("REPEATED", status)
            await second.end()
            while not await house.recorded():  # noqa: ASYNC110 - it is elsewhere
                await asyncio.sleep(0.1)
        assert [(one["tool_id"], one["status"]) for one in await house.recorded()] == [("linger", "unknown")]

    run(scenario)
    assert house.place.effects() == ["linger"]


def test_a_gateway_that_is_killed_in_the_middle_of_a_call_leaves_it_unknown(house: House) -> None:
    async def scenario() -> None:
        raw = await house.raw()
        raw.call(1, "write", text="before")
        assert (await raw.answer())["result"]["content"][0]["text"] == "written"
        raw.call(2, "hang")
        await asyncio.sleep(0.5)
        raw.process.send_signal(signal.SIGKILL)
        await raw.process.wait()
        async with asyncio.timeout(30):
            while len(await house.recorded()) < 2:  # noqa: ASYNC110 - it is elsewhere
                await asyncio.sleep(0.2)
        assert [(one["tool_id"], one["status"]) for one in await house.recorded()] == [
            ("write", "ok"),
            ("hang", "unknown"),
        ]

    run(scenario)
    assert house.place.effects()[0] == {"text": "before"}


@pytest.mark.slow
def test_a_hundred_callers_at_once_lose_and_double_no_record(house: House) -> None:
    async def scenario() -> None:
        async with house.client() as client:
            calls = [client.call_tool("write", {"text": str(number)}) for number in range(100)]
            assert Counter(text_of(answer) for answer in await asyncio.gather(*calls)) == {"written": 100}
        recorded = await house.recorded()
        assert sorted(int(call["args"]["text"]) for call in recorded) == list(range(100))
        assert {call["status"] for call in recorded} == {"ok"}

    run(scenario)
    assert sorted(int(one["text"]) for one in house.place.effects()) == list(range(100))


def test_two_gateways_on_one_store_keep_one_record_per_call(house: House) -> None:
    async def scenario() -> None:
        args = ("mcp", "gateway", "--data", str(house.data))
        async with house.through(*args) as one, house.through(*args) as two:
            calls = [
                client.call_tool("write", {"text": f"{number} {at}"})
                for number in range(10)
                for at, client in enumerate((one, two))
            ]
            assert Counter(text_of(answer) for answer in await asyncio.gather(*calls)) == {"written": 20}
        recorded = await house.recorded()
        assert len({call["args"]["text"] for call in recorded}) == len(recorded) == 20

    run(scenario)
    assert len(house.place.effects()) == 20


def test_guard_says_where_to_approve_and_what_is_approved_there_runs_once(
    place: Place, tmp_path: Path
) -> None:
    data = tmp_path / "guarded"

    async def inbox(*args: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "beliefd", "inbox", *args, "--data", str(data)),
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **ENV},
        )
        told, _ = await process.communicate()
        return told.decode()

    async def scenario() -> None:
        arguments = ["-m", "beliefd", "guard", "--data", str(data), "--hold", "60", "--", *place.upstream]
        parameters = StdioServerParameters(command=sys.executable, args=arguments, env=ENV)
        with (place.folder / "stderr").open("a") as errors:
            async with Client(stdio_client(parameters, errlog=errors)) as client:
                call = asyncio.create_task(client.call_tool("write", {"text": "a"}))
                while "apr-" not in (waiting := await inbox("list")):
                    assert not call.done()
                name = waiting.split()[0]
                assert "nobody has told what the user said" in waiting
                await inbox("approve", name, "--yes")
                assert text_of(await call) == "written"

    run(scenario)
    told = (place.folder / "stderr").read_text()
    assert f"beliefd inbox list --data {data}" in told
    assert (data / "guard.yaml").exists()
    assert place.effects() == [{"text": "a"}]
    with beliefd.open(data / "beliefd.db", principal=LOCAL_OPERATOR) as store:
        for session in store.list_sessions().sessions:
            assert store.verify(session.session_id).ok


def test_a_changed_definition_waits_for_a_person_and_is_gone_meanwhile(house: House) -> None:
    async def names(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    async def scenario() -> None:
        async with house.client() as client, house.ann() as ann:
            assert "echo" in await names(client)
            assert not (await client.call_tool("change", {})).is_error
            await asyncio.sleep(0.5)
            assert "echo" not in await names(client)
            refused = await client.call_tool("echo", {"text": "a"})
            assert told_of(refused)["decision"] == "waits"
            card = await ann.show_approval(told_of(refused)["approval_id"])
            assert "mails it to a friend" in str(card.subject)
            await ann.decide_approval(card.approval_id, "APPROVED", content_hash=card.content_hash)
            assert text_of(await client.call_tool("echo", {"text": "accepted"})) == "accepted"
            assert "echo" in await names(client)

    run(scenario)


def test_arguments_are_judged_by_the_pinned_schema_and_nothing_is_sent_that_does_not_fit(
    house: House,
) -> None:
    async def scenario() -> None:
        async with house.client() as client:
            for arguments in ({"text": 5}, {"surprise": "a"}, {"text": "a", "more": 1}):
                assert (await client.call_tool("write", arguments)).is_error
            assert not (await client.call_tool("write", {"text": "fits"})).is_error

    run(scenario)
    assert house.place.effects() == [{"text": "fits"}]


WITHOUT_CONTEXT = {name: value for name, value in POLICY.items() if name != "context"}
CLOSED = {**POLICY, "context": {"closed": ["prompts"]}}
OTHER_TELLERS = {**POLICY, "context": {"tellers": ["hook://*"]}}


@pytest.mark.parametrize("house", [WITHOUT_CONTEXT], indirect=True)
def test_opened_resources_and_prompts_are_passed_on_where_nothing_told_would_count(house: House) -> None:
    async def scenario() -> None:
        async with house.client("--resources", "--prompts") as client:
            assert (await client.read_resource("note://one")).contents
            assert (await client.get_prompt("greet")).messages

    run(scenario)


@pytest.mark.parametrize("house", [CLOSED], indirect=True)
def test_what_policy_closes_is_not_passed_on_though_the_gateway_opens_it(house: House) -> None:
    async def scenario() -> None:
        async with house.client("--resources", "--prompts") as client:
            assert (await client.read_resource("note://one")).contents
            with pytest.raises(MCPError, match="policy closes prompts"):
                await client.get_prompt("greet")

    run(scenario)


@pytest.mark.parametrize("house", [OTHER_TELLERS], indirect=True)
def test_opened_resources_are_not_passed_on_where_they_count_and_cannot_be_told(house: House) -> None:
    async def scenario() -> None:
        async with house.client("--resources") as client:
            with pytest.raises(MCPError, match="cannot be recorded"):
                await client.read_resource("note://one")

    run(scenario)


def test_a_second_gateway_sees_what_the_first_has_pinned(house: House) -> None:
    changed = house.place.folder / "changed.py"
    source = Path(house.place.upstream[1]).read_text()
    changed.write_text(source.replace("leaves a trace", "leaves a trace elsewhere"))

    async def scenario() -> None:
        async with house.client() as client:
            await client.list_tools()
        command = [house.place.upstream[0], str(changed), *house.place.upstream[2:]]
        async with house.client(command=command) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            assert "echo" in listed
            assert "write" not in listed

    run(scenario)
