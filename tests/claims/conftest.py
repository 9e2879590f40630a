"""Houses for claim tests: in memory and on SQLite, so that a promise is kept on both."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from beliefd.testing.world import World
from tests.claims.support import stored

Build = Callable[..., World]


@pytest.fixture(params=["memory", "sqlite"])
def build(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Build]:
    """Makes houses on one store; all of them are closed in the end."""
    made: list[World] = []

    def make(**given: Any) -> World:
        target = ":memory:" if request.param == "memory" else tmp_path / f"{len(made)}.db"
        made.append(stored(World(target, **given)))
        return made[-1]

    yield make
    for house in made:
        house.close()


@pytest.fixture
def house(build: Build) -> World:
    return build()
