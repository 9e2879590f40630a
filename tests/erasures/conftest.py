"""A world on every kind of store, under a policy that withholds what people say about people."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from beliefd.testing.world import World
from tests.erasures.support import WITHHOLDING


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    targets: dict[str, str | Path] = {"memory": ":memory:", "sqlite": tmp_path / "beliefd.db"}
    target: str | Path = targets.get(request.param) or request.getfixturevalue("postgres_url")
    with World(target, WITHHOLDING) as house:
        yield house


@pytest.fixture
def house() -> Iterator[World]:
    with World(policy=WITHHOLDING) as house:
        yield house
