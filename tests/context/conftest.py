"""Houses behind the guard preset, in memory and on SQLite."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.context.support import GUARD
from tests.substrate.support import ToolWorld


@pytest.fixture(params=["memory", "sqlite"])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ToolWorld]:
    target = ":memory:" if request.param == "memory" else tmp_path / "store.db"
    with ToolWorld(target, GUARD) as opened:
        yield opened


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "beliefd.db"
