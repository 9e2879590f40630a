"""beliefd inside frameworks: side effect, what the model was told, and the ledger agree.

Each framework plays its own example, with other turns of its model.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beliefd.policy.presets import preset
from clients.harness.frameworks import (
    ALLOWED,
    ASKED,
    BROKEN,
    PLAYED,
    REASON,
    REFUSED,
    Player,
    Seed,
    World,
    policy,
)

CANNOT_WAIT = ("crewai", "smolagents")
RAISES_ON = ("google_adk", "langchain", "langgraph", "pydantic_ai")
"""Frameworks in which what a tool raises ends the run; the others tell their model of it."""
TRIES = {"crewai": 6}
"""How often a framework tries a tool that raises; each is a call of its own."""


@pytest.fixture(scope="session", params=PLAYED)
def player(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Player]:
    player = Player(request.param, tmp_path_factory.mktemp(request.param))
    yield player
    player.close()


@pytest.fixture(scope="session")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Seed:
    return Seed.in_folder(tmp_path_factory.mktemp("seed"), policy())


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Seed:
    return Seed.in_folder(tmp_path_factory.mktemp("guarded"), preset("guard"))


@pytest.fixture
def house(seed: Seed, tmp_path: Path) -> Iterator[World]:
    with seed.world(tmp_path) as opened:
        yield opened


def mail(to: str, **more: Any) -> dict[str, Any]:
    return {"tool": "send_email", "args": {"to": to, "message": "hello"}, **more}


def effects(*recipients: str) -> list[str]:
    return [f"send_email {to}" for to in recipients]


def turns(framework: str) -> list[dict[str, Any]]:
    """A call that a person is asked about. Where the framework cannot wait, the model makes it again; CrewAI
    lets no model make the same call twice in a row, so there is another one between."""
    if framework in CANNOT_WAIT:
        return [mail(ASKED), mail(ALLOWED), mail(ASKED, waits=True)]
    return [mail(ASKED)]


def between(framework: str) -> list[str]:
    """What the ledger has of that other call."""
    return ["allow", "ok"] if framework in CANNOT_WAIT else []


def test_what_is_allowed_runs_once_and_is_recorded(player: Player, house: World) -> None:
    played = house.play(player, mail(ALLOWED))
    assert house.effects() == effects(ALLOWED), played
    assert f"sent to {ALLOWED}" in played.told[0]
    assert played.answer == ["done"]
    assert house.ledger() == ["allow", "ok"]
    assert house.context() == ["user", "result"]


def test_what_is_refused_does_not_run_and_the_model_is_told_why(player: Player, house: World) -> None:
    played = house.play(player, mail(REFUSED))
    assert house.effects() == [], played
    assert REASON in played.told[0]
    assert played.answer == ["done"]
    assert house.ledger() == ["deny"]


def test_what_waits_runs_exactly_once_after_it_is_approved(player: Player, house: World) -> None:
    with house.somebody_decides("APPROVED") as decided:
        played = house.play(player, *turns(player.name))
    assert decided == played.waits, played
    assert house.effects().count(*effects(ASKED)) == 1
    assert f"sent to {ASKED}" in played.told[-1]
    assert house.ledger() == ["defer", *between(player.name), "allow", "ok"]


@pytest.mark.parametrize("player", ["langchain", "langgraph"], indirect=True)
def test_what_ran_beside_a_call_that_waits_runs_once_and_its_result_stays(
    player: Player, house: World
) -> None:
    """A graph that goes on runs the whole node again, with every call that the model made at a time."""
    with house.somebody_decides("APPROVED"):
        played = house.play(player, mail(ALLOWED, beside=[mail(ASKED)]))
    assert sorted(house.effects()) == sorted(effects(ALLOWED, ASKED)), played
    assert [told.split()[-1] for told in played.told] == [ALLOWED, ASKED], played
    assert sorted(house.ledger()) == ["allow", "allow", "defer", "ok", "ok"]


def test_what_waits_does_not_run_after_it_is_rejected(player: Player, house: World) -> None:
    with house.somebody_decides("REJECTED") as decided:
        played = house.play(player, *turns(player.name))
    assert decided == played.waits, played
    assert effects(ASKED)[0] not in house.effects()
    if player.name in CANNOT_WAIT:  # the model has made the same call again, and a no stands
        assert house.ledger() == ["defer", *between(player.name), "deny"]
    else:
        assert "rejected" in played.told[-1]
        assert "seen by ann" in played.told[-1]
        assert house.ledger() == ["defer"]
    assert played.answer == ["done"]


def test_going_on_is_no_approval(player: Player, house: World) -> None:
    """The program goes on twice before anybody has decided; then somebody says no."""
    with house.somebody_decides("REJECTED", after=3):
        played = house.play(player, *turns(player.name), impatient=2)
    assert effects(ASKED)[0] not in house.effects(), played
    assert house.ledger().count("allow") == len(between(player.name)) / 2


def test_nothing_runs_after_the_server_is_killed(player: Player, house: World, seed: Seed) -> None:
    played = house.play(player, mail(ALLOWED), mail("carol", kill=True))
    assert house.effects() == effects(ALLOWED), played
    assert "beliefd refused this call" in played.told[-1]
    assert "held back" in played.answer[0]
    with seed.revived(house) as again:
        assert again.ledger() == ["allow", "ok"]


def test_what_a_tool_raises_is_recorded_and_raised_on(player: Player, house: World) -> None:
    played = house.play(player, mail(BROKEN))
    tries = TRIES.get(player.name, 1)
    assert house.effects() == effects(*[BROKEN] * tries), played
    assert house.ledger() == ["allow", "error"] * tries
    if player.name in RAISES_ON:
        assert "the mail server hung up" in played.ended[0]
        assert not played.answer
    else:
        assert played.answer == ["done"]


def test_an_injected_address_waits_and_the_users_own_does_not(
    player: Player, guarded: Seed, tmp_path: Path
) -> None:
    """The story of the examples, behind the preset: the page that the agent reads wants the minutes, too."""
    with guarded.world(tmp_path) as house:
        with house.somebody_decides("REJECTED") as decided:
            played = house.play(player)
        assert house.effects() == ["fetch_page minutes", "send_email anna@example.com"], played
        assert decided, played
        with house.server.client(house.person) as ann:
            reason = ann.show_approval(decided[0]).reason
        assert "`eve@example.net` appears only in result 1 of fetch_page" in reason
        assert house.ledger() == ["allow", "ok", "allow", "ok", "defer"]
        assert house.context() == ["user", "result", "result"]
