"""Houses with tools: in memory and on SQLite, so that a promise is kept on both."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.substrate.support import ALLOW_ALL, House, rules

Build = Callable[..., House]


@pytest.fixture(params=["memory", "sqlite"])
def build(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Build]:
    """Makes houses on one store; all of them are closed in the end."""
    made: list[House] = []

    def make(**given: Any) -> House:
        target = ":memory:" if request.param == "memory" else tmp_path / f"{len(made)}.db"
        made.append(House(target, **given))
        return made[-1]

    yield make
    for house in made:
        house.close()


@pytest.fixture
def house() -> Iterator[House]:
    """One house in memory, where everything is allowed."""
    with House(rules=rules(all=ALLOW_ALL)) as opened:
        yield opened
