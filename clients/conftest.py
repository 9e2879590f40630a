"""Fixtures of the tests with real clients: an installation, a scripted model, a clean user per test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clients.harness import install
from clients.harness.agents import AGENTS, Agent
from clients.harness.guard import Guard, House, housed, preset, words
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


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with housed(tmp_path_factory.mktemp("house"), words()) as house:
        yield house


@pytest.fixture
def guard(house: House) -> Guard:
    """A server that decides by words in the arguments."""
    return house.guard()


@pytest.fixture(scope="session")
def preset_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with housed(tmp_path_factory.mktemp("preset"), preset()) as house:
        yield house


@pytest.fixture
def shipped(preset_house: House) -> Guard:
    """A server with the rules that beliefd ships."""
    return preset_house.guard()
