"""Fixtures of the tests with real clients: an installation, a scripted model, a clean user per test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clients.harness import install
from clients.harness.agents import AGENTS, Agent
from clients.harness.guard import Guard, guarding
from clients.harness.model import Model
from clients.harness.process import Place


@pytest.fixture(scope="session", autouse=True)
def installed() -> None:
    install.main()


@pytest.fixture(scope="session")
def model() -> Iterator[Model]:
    with Model() as model:
        yield model


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(params=AGENTS, ids=lambda agent: agent.name)
def agent(request: pytest.FixtureRequest) -> Agent:
    found: Agent = request.param
    return found


@pytest.fixture
def guard(place: Place) -> Iterator[Guard]:
    with guarding(place.root / "guard") as guard:
        yield guard
