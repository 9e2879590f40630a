"""A real server: classes order what begins under load, and an interrupt outlives the process."""

import asyncio
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from beliefd.client import Client
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.values import Role
from beliefd.steward.credentials import create_token
from beliefd.stores.sqlite import SqliteStore
from beliefd.testing.world import ONTOLOGY
from tests.support.server import ServerProcess

TOOLS = """
import time
from pathlib import Path

from beliefd.tools import slots, tool

slots.slots = slots.Slots(2)
HERE = Path(__file__).parent


@tool("wait", network=False)
def wait(name):
    (HERE / f"{name}.began").touch()
    while not (HERE / f"{name}.ends").exists():
        time.sleep(0.005)
    return name


@tool("mark", network=False)
def mark(name):
    with (HERE / "order").open("a") as order:
        order.write(f"{name} ")
"""
POLICY = {
    "constraints": {"constraint.all": {"v": 1, "effect": "allow", "subject": None}},
    "capabilities": [{"name": "all", "scope": {"tools": ["*"]}, "roles": ["agent", "admin"]}],
}
PATIENCE = 60
WAITING = {
    "m1": "maintenance",
    "b1": "background",
    "i1": "interactive",
    "b2": "background",
    "i2": "interactive",
}
"""Who waits in which class, in the order in which they come."""
PEOPLE = {"ann": Role.APPROVER, "root": Role.ADMIN}
AGENTS = ("hold1", "hold2", *WAITING)


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.01)


class House:
    """A folder with a store, tools and a policy; servers are started in it, and everybody has a token."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "gated_tools.py").write_text(TOOLS)
        (folder / "policy.json").write_text(json.dumps(POLICY))
        (folder / "data").mkdir()
        self.tokens = asyncio.run(self._made({**PEOPLE, **dict.fromkeys(AGENTS, Role.AGENT)}))

    async def _made(self, roles: dict[str, Role]) -> dict[str, str]:
        store = await SqliteStore.open(self.folder / "data" / "beliefd.db")
        try:
            return {name: await create_token(store, name, role) for name, role in roles.items()}
        finally:
            await store.close()

    def start(self) -> ServerProcess:
        options = ("--policy", str(self.folder / "policy.json"), "--tools", "gated_tools")
        return ServerProcess(self.folder / "data", options=options)

    def client(self, server: ServerProcess, name: str) -> Client:
        return server.client(self.tokens[name])

    def began(self, name: str) -> bool:
        return (self.folder / f"{name}.began").exists()

    def let_go(self, name: str) -> None:
        (self.folder / f"{name}.ends").touch()

    @property
    def order(self) -> list[str]:
        path = self.folder / "order"
        return path.read_text().split() if path.exists() else []


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    return House(tmp_path)


def waiting(server: ServerProcess, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    page = httpx.get(f"{server.url}/metrics", headers=headers, verify=False).text
    found = [line for line in page.splitlines() if line.startswith("beliefd_tool_calls_waiting{")]
    assert len(found) == 3, page
    return sum(int(line.split()[-1]) for line in found)


def call(tool: str, name: str) -> dict[str, Any]:
    return {"kind": "tool_call", "tool_id": tool, "args": {"name": name}}


def test_classes_order_what_begins_when_all_places_are_taken(house: House) -> None:
    server = house.start()
    try:
        clients = {name: house.client(server, name) for name in ("ann", *AGENTS)}
        session = clients["hold1"].declare_session(["a", "b"], ONTOLOGY).session_id
        with ThreadPoolExecutor(10) as pool:
            held = []
            for name in ("hold1", "hold2"):
                held.append(pool.submit(clients[name].propose, session, [call("wait", name)]))
                until(partial(house.began, name))
            marks = []
            for number, (name, qos) in enumerate(WAITING.items(), 1):
                mark = [call("mark", name)]
                marks.append(pool.submit(clients[name].propose, session, mark, qos=qos))
                while waiting(server, house.tokens["root"]) < number:
                    time.sleep(0.01)
            house.let_go("hold1")
            answers = [one.result() for one in marks]
            assert house.order == ["i1", "i2", "b1", "b2", "m1"]
            assert {answer.results[0].status for answer in answers} == {"ok"}
            house.let_go("hold2")
            assert {one.result().results[0].status for one in held} == {"ok"}
        assert clients["ann"].verify(session).ok
    finally:
        server.stop()
        server.forget()


def test_what_was_interrupted_stays_so_after_a_kill_and_can_be_resumed(house: House) -> None:
    server = house.start()
    agent, ann = house.client(server, "hold1"), house.client(server, "ann")
    session = agent.declare_session(["a", "b"], ONTOLOGY).session_id
    with ThreadPoolExecutor(1) as pool:
        cut_off = pool.submit(agent.propose, session, [call("wait", "hold1"), call("mark", "never")])
        until(partial(house.began, "hold1"))
        answer = ann.interrupt(session, "user_intent", "stop")
        assert len(answer.stopped) == 1
        server.kill()
        assert isinstance(cut_off.exception(), BeliefdError)
    server.forget()
    server = house.start()
    try:
        agent, ann = house.client(server, "hold1"), house.client(server, "ann")
        held = ann.show_schedule(session).interruption
        assert held is not None
        assert (held.kind, held.reason) == ("user_intent", "stop")
        (told,) = agent.propose(session, [call("mark", "early")]).results
        assert (told.verdict, told.reason_code) == ("defer", "INTERRUPTED")
        ann.resume(session, "go on")
        (told,) = agent.propose(session, [call("mark", "late")]).results
        assert told.status == "ok"
        assert house.order == ["late"], "what was stopped never ran"
        assert ann.verify(session).ok
    finally:
        server.stop()
        server.forget()
