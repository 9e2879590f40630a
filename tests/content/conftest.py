"""A world on every kind of store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from beliefd.testing.world import World


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    targets: dict[str, str | Path] = {"memory": ":memory:", "sqlite": tmp_path / "beliefd.db"}
    target: str | Path = targets.get(request.param) or request.getfixturevalue("postgres_url")
    with World(target) as house:
        yield house
