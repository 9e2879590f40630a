"""Fixtures for all tests: a PostgreSQL server for the session, an empty database for each test."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.postgres import PostgresServer

# A promise holds or it does not; how long a busy machine took to show it is no part of it.
settings.register_profile("promises", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("promises")

pytest.register_assert_rewrite(
    "beliefd.testing.appends", "beliefd.testing.store_contract", "beliefd.testing.world"
)


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
