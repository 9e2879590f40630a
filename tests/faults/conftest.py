"""The places where a ledger can live, for tests that promise the same of each."""

from pathlib import Path

import pytest

from tests.faults.place import Place


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    store = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    return Place(tmp_path / "data", store)


@pytest.fixture
def file_place(tmp_path: Path) -> Place:
    return Place(tmp_path / "data")
