"""The same promises over all stores."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from beliefd.stores.opening import MEMORY
from tests.steward.places import Place


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _target(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    if kind == "postgres":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return tmp_path / "ledger.db" if kind == "sqlite" else MEMORY


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    """Each store in turn."""
    place = Place(_target(request.param, request, tmp_path))
    yield place
    await place.close()


@pytest.fixture(params=["sqlite", "postgres"])
async def lasting_place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    """Each store that outlives its process."""
    place = Place(_target(request.param, request, tmp_path))
    yield place
    await place.close()
