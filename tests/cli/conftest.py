"""A data directory and a session in it."""

from pathlib import Path

import pytest

from tests.cli.runner import answer


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def session(data: Path) -> str:
    """A session over a, b and c."""
    declared = answer("session", "declare", "a", "b", "c", "--data", data)
    return str(declared["session_id"])
