"""beliefd inside frameworks: side effect, what the model was told, and the ledger agree.

Each framework plays its own example, with other turns of its model.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clients.harness.frameworks import (
    ALLOWED,
    ASKED,
    BROKEN,
    FRAMEWORKS,
    REASON,
    REFUSED,
    World,
    world,
)

EVERY = pytest.mark.parametrize("framework", FRAMEWORKS)
CANNOT_WAIT = ("crewai", "smolagents")
WAITING = tuple(name for name in FRAMEWORKS if name not in CANNOT_WAIT)
RAISES_ON = ("google_adk", "langchain", "pydantic_ai")
"""Frameworks in which what a tool raises ends the run; the others tell their model of it."""
TRIES = {"crewai": 3}
"""How often a framework tries a tool that raises; each is a call of its own."""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as opened:
        yield opened


def mail(to: str, **more: Any) -> dict[str, Any]:
    return {"tool": "send_email", "args": {"to": to, "message": "hello"}, **more}


def effects(*recipients: str) -> list[str]:
    return [f"send_email {to}" for to in recipients]


def turns(framework: str) -> list[dict[str, Any]]:
    """A call that a person is asked about; where the framework cannot wait, the model makes it again."""
    return [mail(ASKED), mail(ASKED, waits=True)] if framework in CANNOT_WAIT else [mail(ASKED)]


@EVERY
def test_what_is_allowed_runs_once_and_is_recorded(framework: str, house: World) -> None:
    played = house.play(framework, mail(ALLOWED))
    assert house.effects() == effects(ALLOWED), played.ended
    assert f"sent to {ALLOWED}" in played.told[0]
    assert played.answer == ["done"]
    assert house.ledger() == ["allow", "ok"]
    assert house.context() == ["user", "result"]


@EVERY
def test_what_is_refused_does_not_run_and_the_model_is_told_why(framework: str, house: World) -> None:
    played = house.play(framework, mail(REFUSED))
    assert house.effects() == [], played.ended
    assert REASON in played.told[0]
    assert played.answer == ["done"]
    assert house.ledger() == ["deny"]


@EVERY
def test_what_waits_runs_exactly_once_after_it_is_approved(framework: str, house: World) -> None:
    with house.somebody_decides("APPROVED") as decided:
        played = house.play(framework, *turns(framework))
    assert decided == played.waits, played.ended
    assert house.effects() == effects(ASKED)
    assert f"sent to {ASKED}" in played.told[-1]
    assert house.ledger() == ["defer", "allow", "ok"]


@EVERY
def test_what_waits_does_not_run_after_it_is_rejected(framework: str, house: World) -> None:
    with house.somebody_decides("REJECTED") as decided:
        played = house.play(framework, *turns(framework))
    assert decided == played.waits, played.ended
    assert house.effects() == []
    if framework in CANNOT_WAIT:  # the model has made another call, which waits by itself
        assert house.ledger() == ["defer", "defer"]
    else:
        assert "rejected" in played.told[-1]
        assert "seen by ann" in played.told[-1]
        assert house.ledger() == ["defer"]
    assert played.answer == ["done"]


@pytest.mark.parametrize("framework", WAITING)
def test_going_on_is_no_approval(framework: str, house: World) -> None:
    """The program resumes twice before anybody has decided."""
    with house.somebody_decides("REJECTED") as decided:
        played = house.play(framework, mail(ASKED), IMPATIENT="2")
    assert decided, played.ended
    assert house.effects() == []
    assert house.ledger() == ["defer"]


@EVERY
def test_nothing_runs_after_the_server_is_killed(framework: str, house: World) -> None:
    played = house.play(framework, mail(ALLOWED), mail("carol", kill=True))
    assert house.effects() == effects(ALLOWED), played.ended
    assert "beliefd refused this call" in played.told[-1]
    assert "held back" in played.answer[0]


@EVERY
def test_what_a_tool_raises_is_recorded_and_raised_on(framework: str, house: World) -> None:
    played = house.play(framework, mail(BROKEN))
    tries = TRIES.get(framework, 1)
    assert house.effects() == effects(*[BROKEN] * tries), played.ended
    assert house.ledger() == ["allow", "error"] * tries
    if framework in RAISES_ON:
        assert played.ended.exit != 0
        assert "the mail server hung up" in played.ended.errors
    else:
        assert played.answer == ["done"]


def test_the_extra_is_named_where_a_framework_is_missing() -> None:
    import importlib

    for framework in FRAMEWORKS:
        with pytest.raises(ImportError, match=framework.replace("_", "-")):
            importlib.import_module(f"beliefd.adapters.{framework}")
