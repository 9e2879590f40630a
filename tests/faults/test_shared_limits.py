"""Three servers on one store let about as much of one principal pass as one server would."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from beliefd.http.rates import BURST_SECONDS
from tests.faults.load import client
from tests.support.postgres import PostgresServer
from tests.support.server import ServerProcess

SERVERS = 3
PER_SECOND = 20
SECONDS = 6.0

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def three(
    request: pytest.FixtureRequest, postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[ServerProcess]]:
    home = tmp_path_factory.mktemp("limited")
    (home / "policy.yaml").write_text(f"limits: {{requests_per_second: {PER_SECOND}}}\n")
    shared = request.param == "postgres"
    store = postgres_server.create_database() if shared else None
    with ExitStack() as stack:
        servers = []
        for number in range(SERVERS):
            options = ("--policy", str(home / "policy.yaml"))
            servers.append(ServerProcess(home / (str(number) if shared else "one"), store, options=options))
            stack.callback(servers[-1].forget)
            stack.callback(servers[-1].stop)
        yield servers


def test_who_asks_three_servers_gets_the_rate_of_one(three: list[ServerProcess]) -> None:
    began = time.monotonic()

    async def hammer(http: httpx.AsyncClient) -> int:
        passed = 0
        while time.monotonic() - began < SECONDS:
            response = await http.get("/v1/sessions")
            assert response.status_code in {200, 429}
            passed += response.status_code == 200
            if response.status_code == 429:
                assert int(response.headers["retry-after"]) >= 1
                await asyncio.sleep(0.01)
        return passed

    async def story() -> int:
        async with client(three[0].url) as a, client(three[1].url) as b, client(three[2].url) as c:
            return sum(await asyncio.gather(hammer(a), hammer(b), hammer(c)))

    passed = asyncio.run(story())
    took = time.monotonic() - began
    one_server = PER_SECOND * (BURST_SECONDS + took)
    # Before they have heard of each other, each lets its own burst pass; that is made up for afterwards.
    assert one_server * 0.6 <= passed <= one_server + PER_SECOND * BURST_SECONDS
