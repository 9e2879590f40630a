"""Gateways as processes with a judge of the test's own, and the SDK's client in front of them."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
MODES = ("legacy", "auto")
WAYS = ("streams", "http")
TOKEN = "a-token-of-this-test"
OTHER_TOKEN = "of-somebody-else"
ENV = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}


class Place:
    """A folder with what a gateway is told, what was asked and what has happened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.effects_file = folder / "effects"

    @property
    def upstream(self) -> list[str]:
        return [sys.executable, str(HERE / "upstream.py"), str(self.effects_file)]

    def config(self, **more: Any) -> Path:
        path = self.folder / "gateway.json"
        told = {"name": "test", "upstreams": {"bad": {"command": self.upstream}}, **more}
        path.write_text(json.dumps(told))
        return path

    def decide(self, **verdicts: Any) -> None:
        """By name of tool; `*` for all others. `unreachable` takes the server away."""
        fresh = self.folder / "verdicts.new"
        fresh.write_text(json.dumps(verdicts))
        fresh.replace(self.folder / "verdicts.json")

    def ledger(self, kind: str) -> list[dict[str, Any]]:
        path = self.folder / "ledger.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [entry for entry in map(json.loads, lines) if kind in entry]

    def statuses(self) -> list[str]:
        return [entry["status"] for entry in self.ledger("reported")]

    def effects(self) -> list[Any]:
        if not self.effects_file.exists():
            return []
        return [json.loads(line) for line in self.effects_file.read_text().splitlines()]

    def let_answer(self) -> None:
        """A call that lingers may end."""
        (self.folder / "effects.answer").touch()

    def command(self, **more: Any) -> list[str]:
        return [sys.executable, str(HERE / "fake.py"), str(self.folder), str(self.config(**more))]

    @asynccontextmanager
    async def client(self, mode: str = "legacy", *, config: Any = None, **more: Any) -> AsyncIterator[Client]:
        """A client on the other side of a gateway of its own."""
        command = self.command(**(config or {}))
        parameters = StdioServerParameters(command=command[0], args=command[1:], env=ENV)
        with (self.folder / "stderr").open("a") as errors:
            async with Client(stdio_client(parameters, errlog=errors), mode=mode, **more) as client:
                yield client

    @asynccontextmanager
    async def either(
        self, way: str, mode: str = "legacy", *, config: Any = None, **more: Any
    ) -> AsyncIterator[Client]:
        """A client that comes over standard streams or over HTTP."""
        if way == "streams":
            async with self.client(mode, config=config, **more) as client:
                yield client
        else:
            async with (
                self.over_http(**(config or {})) as address,
                http_client(address, mode, **more) as client,
            ):
                yield client

    @asynccontextmanager
    async def over_http(self, **config: Any) -> AsyncIterator[str]:
        """The address of a gateway that serves over HTTP."""
        (self.folder / "address").unlink(missing_ok=True)
        with (self.folder / "stderr").open("a") as errors:
            process = await asyncio.create_subprocess_exec(
                *self.command(**config), TOKEN, OTHER_TOKEN, stderr=errors, env={**os.environ, **ENV}
            )
        try:
            await until((self.folder / "address").exists, 30)
            yield (self.folder / "address").read_text()
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


@asynccontextmanager
async def http_client(
    address: str, mode: str = "legacy", token: str = TOKEN, **more: Any
) -> AsyncIterator[Client]:
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30)
    client = Client(streamable_http_client(address, http_client=http), mode=mode, **more)
    async with http, client:
        yield client


@asynccontextmanager
async def http_upstream(folder: Path) -> AsyncIterator[str]:
    """A tool server of the SDK's own kind, at an address."""
    command = (sys.executable, str(HERE / "http_upstream.py"), str(folder))
    process = await asyncio.create_subprocess_exec(*command, env={**os.environ, **ENV})
    try:
        await until((folder / "upstream.address").exists, 30)
        yield (folder / "upstream.address").read_text()
    finally:
        process.kill()
        await process.wait()


def text_of(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


def told_of(result: types.CallToolResult) -> dict[str, Any]:
    """What programs are told of a call that was not answered as it was made."""
    assert result.is_error
    assert result.structured_content is None, "clients show it instead of the text, or check it"
    told: dict[str, Any] = (result.meta or {})["beliefd"]
    return told


def run(scenario: Callable[[], Awaitable[None]], seconds: float = 90) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(seconds):
            await scenario()

    asyncio.run(bounded())


async def until(true: Callable[[], bool], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - it is in another process
            await asyncio.sleep(0.02)
