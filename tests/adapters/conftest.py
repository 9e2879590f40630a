"""A house per test, on whose wires reports are tried again at once."""

from collections.abc import Iterator

import pytest

from beliefd.adapters import reports
from tests.adapters.support import House


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "PAUSES", (0.0,))


@pytest.fixture
def house() -> Iterator[House]:
    with House() as opened:
        yield opened
