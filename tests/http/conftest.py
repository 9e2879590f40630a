"""Two servers for all tests of the surface: one without tokens, one with a token for each role.

They begin like those of people, in a new interpreter, and import what they need when they need it.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from beliefd.kernel.values import Role
from beliefd.steward.credentials import create_token
from beliefd.stores.sqlite import SqliteStore
from tests.http.calls import declare
from tests.http.place import Place
from tests.support.server import ServerProcess, server_process

Tokens = dict[Role, str]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that knows no tokens: whoever reaches it is `agent://local`."""
    with server_process(tmp_path_factory.mktemp("open"), quick=False) as process:
        yield process
        assert_no_defects(process)


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerProcess, Tokens]]:
    """A server with one token a role."""
    data = tmp_path_factory.mktemp("guarded")
    tokens = asyncio.run(make_tokens(data / "beliefd.db"))
    with server_process(data, quick=False) as process:
        yield process, tokens
        assert_no_defects(process)


def assert_no_defects(process: ServerProcess) -> None:
    """Whatever the tests sent, nothing was logged but that the store is new and where the server listens."""
    assert process.complaints == [], process.output


async def make_tokens(path: Path) -> Tokens:
    store = await SqliteStore.open(path)
    try:
        return {role: await create_token(store, f"test-{role}", role) for role in Role}
    finally:
        await store.close()


@pytest.fixture(scope="session")
def http(server: ServerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=60, verify=False) as client:
        yield client


@pytest.fixture
def session_id(http: httpx.Client) -> str:
    """A session of its own over `a` to `f`."""
    return declare(http)


@pytest.fixture
def surroundings() -> None:
    """What a module changes before its `place` is made; most change nothing."""


@pytest.fixture
def place(surroundings: None) -> Iterator[Place]:
    made = Place()
    yield made
    made.close()


@pytest.fixture
def near(place: Place) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=place.url, verify=False, timeout=30) as client:
        yield client
