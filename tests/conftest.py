"""Fixtures for all tests: a PostgreSQL server for the session, an empty database for each test."""

import gc
from collections import Counter
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.postgres import PostgresServer

# A promise holds or it does not; how long a busy machine took to show it is no part of it.
settings.register_profile("promises", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("promises")

pytest.register_assert_rewrite(
    "beliefd.testing.appends",
    "beliefd.testing.head_contract",
    "beliefd.testing.store_contract",
    "beliefd.testing.world",
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Twenty thousand tests stay until the end: no search for garbage walks through them, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """One more than processors: often a test waits for what it has begun, a server or a time that ends."""
    return (yield) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from tests.support.workers import Scheduling

    return Scheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # INVARIANT: no two tests share an id. Workers would run one of them and nobody would miss the other.
    shared = [name for name, count in Counter(item.nodeid for item in items).items() if count > 1]
    if shared:
        raise pytest.UsageError(f"several tests share an id: {', '.join(shared[:3])}")
    if hasattr(config, "workerinput"):
        # Files with slow tests first: in the end, no worker waits long for another one.
        slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
        items.sort(key=lambda item: -slow[item.path])


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The url of an empty database."""
    postgres_server.start()  # a test that failed may have left it down
    url = postgres_server.create_database()
    yield url
    postgres_server.start()
    postgres_server.drop_database(url)
