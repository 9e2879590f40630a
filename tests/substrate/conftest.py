"""Houses with tools: in memory and on SQLite, so that a promise is kept on both."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.substrate.support import ALLOW_ALL, ToolWorld, rules

Build = Callable[..., ToolWorld]


@pytest.fixture(params=["memory", "sqlite"])
def build(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Build]:
    """Makes houses on one store; all of them are closed in the end."""
    made: list[ToolWorld] = []

    def make(**given: Any) -> ToolWorld:
        target = ":memory:" if request.param == "memory" else tmp_path / f"{len(made)}.db"
        made.append(ToolWorld(target, **given))
        return made[-1]

    yield make
    for house in made:
        house.close()


@pytest.fixture
def house() -> Iterator[ToolWorld]:
    """One house in memory, where everything is allowed."""
    with ToolWorld(policy=rules(all=ALLOW_ALL)) as opened:
        yield opened
