"""What a gateway adds to a call of a tool: the same call, direct and through it, turn by turn.

The store is durable. Between two calls there is a pause, as there is while a model thinks: a result is
reported while the client has it, and a call that follows at once would wait for that report too. That is
measured beside it, without a target. A gateway that asks nobody shows what the protocol alone adds.
"""

import asyncio
import os
import re
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

import beliefd
from beliefd.kernel.policy import Policy
from beliefd.protocol.wire import convert
from beliefd.steward.directory import LOCAL_OPERATOR
from benchmarks.figures import Figure, Run, Target, fsync_ms
from benchmarks.http import serving

POLICY: Final = {
    "v": 1,
    "context": {},
    "limits": {"requests_per_second": 1_000_000_000},
    "capabilities": [
        {"name": "g", "principals": ["gateway://*", "agent://local"], "scope": {"tools": ["*"]}}
    ],
    "constraints": {"constraint.all": {"v": 1, "effect": "allow", "subject": None}},
}
TOOL_SERVER: Final = [sys.executable, "-m", "benchmarks.tool_server"]
HOLLOW: Final = "benchmarks.hollow_gateway"
PAUSE_SECONDS: Final = 0.05
LEAST_MS: Final = 3.0
"""Where a durable write is quicker than two thirds of this, this is the bound."""
TOKEN: Final = "of-this-benchmark"


class Ways(NamedTuple):
    """Milliseconds of the same call, p50."""

    direct: float
    through: float

    @property
    def added(self) -> float:
        return self.through - self.direct


def gateway(run: Run) -> list[Figure]:
    durable = fsync_ms(run.folder, run.size(200, 20))
    found = [_figure("one durable write (fsync), p50", durable)]
    for name, through in (("stdio", _stdio), ("stdio, with a server", _with_server), ("HTTP", _http)):
        paced, at_once = asyncio.run(through(_store(run, name), run))
        bound = Target(at_most=max(LEAST_MS, 1.5 * durable))
        found.append(_figure(f"added to a call, {name}, p50", paced.added, bound))
        found.append(_figure(f"added to a call that follows at once, {name}, p50", at_once.added))
        found.append(_beside(f"a call, {name}, p50", paced))
    for name, way in (("stdio", _stdio), ("HTTP", _http)):
        paced, _ = asyncio.run(partial(way, module=HOLLOW)(_store(run, f"hollow {name}"), run))
        found.append(_figure(f"added by a gateway that asks nobody, {name}, p50", paced.added))
    return found


def _store(run: Run, name: str) -> Path:
    data = run.folder / name.replace(", ", "-").replace(" ", "-")
    data.mkdir()
    with beliefd.open(data / "beliefd.db", principal=LOCAL_OPERATOR) as store:
        store.adopt_policy(convert(POLICY, Policy))
    return data


def _figure(what: str, ours: float, target: Target | None = None) -> Figure:
    return Figure(benchmark="gateway", what=what, unit="ms", ours=ours, target=target)


def _beside(what: str, ways: Ways) -> Figure:
    return Figure(
        benchmark="gateway",
        what=what,
        unit="ms",
        ours=ways.through,
        peer=ways.direct,
        peer_is="the tool server itself",
        ratio=ways.through / ways.direct,
        ratio_is="ours : peer",
    )


async def _measured(direct: Client, through: Client, run: Run) -> tuple[Ways, Ways]:
    """Both ways, with a pause before each call, and without."""
    found = []
    for pause in (PAUSE_SECONDS, 0.0):
        taken: list[list[float]] = [[], []]
        for number in range(run.size(200, 5)):
            for client, times in zip((direct, through), taken, strict=True):
                await asyncio.sleep(pause)
                started = time.perf_counter()
                result = await client.call_tool("echo", {"text": f"call {number} after {pause}"})
                times.append(time.perf_counter() - started)
                assert not result.is_error, result
        found.append(Ways(*(statistics.median(times) * 1000 for times in taken)))
    return found[0], found[1]


@asynccontextmanager
async def _over_stdio(command: list[str]) -> AsyncIterator[Client]:
    environment = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=environment)
    async with Client(stdio_client(parameters), mode="legacy") as client:
        yield client


def _gateway(*options: str, module: str = "beliefd") -> list[str]:
    return [sys.executable, "-m", module, "mcp", "gateway", "--name", "echo", *options, "--"]


async def _stdio(data: Path, run: Run, module: str = "beliefd") -> tuple[Ways, Ways]:
    command = [*_gateway("--data", str(data), module=module), *TOOL_SERVER]
    async with _over_stdio(TOOL_SERVER) as direct, _over_stdio(command) as through:
        return await _measured(direct, through, run)


async def _with_server(data: Path, run: Run) -> tuple[Ways, Ways]:
    with serving(["-m", "beliefd.cli.main", "serve", "--port", "0", "--data", str(data)]) as port:
        command = [*_gateway("--url", f"http://127.0.0.1:{port}"), *TOOL_SERVER]
        async with _over_stdio(TOOL_SERVER) as direct, _over_stdio(command) as through:
            return await _measured(direct, through, run)


async def _http(data: Path, run: Run, module: str = "beliefd") -> tuple[Ways, Ways]:
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(_served([*TOOL_SERVER, "--http"]))
        options = ("--data", str(data), "--http", "0", "--http-token", TOKEN)
        command = [*_gateway(*options, module=module), upstream]
        address = await stack.enter_async_context(_served(command))
        clients = []
        for url in (upstream, address):
            headers = {"Authorization": f"Bearer {TOKEN}"}
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=30))
            client = Client(streamable_http_client(url, http_client=http), mode="legacy")
            clients.append(await stack.enter_async_context(client))
        return await _measured(clients[0], clients[1], run)


@asynccontextmanager
async def _served(command: list[str]) -> AsyncIterator[str]:
    """The address that a program says it is listening on."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=asyncio.subprocess.STDOUT)
    try:
        assert process.stdout is not None
        told = await process.stdout.readline()
        found = re.search(rb"http://\S+", told)
        assert found, told
        yield found[0].decode()
    finally:
        process.terminate()
        await process.wait()
