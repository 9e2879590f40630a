"""Reports let the answer go first, and are made at once for whoever waits for them."""

import asyncio
from typing import Any, cast

import pytest

from beliefd.mcp import reports
from beliefd.mcp.judging import Judge, Judgement, Outcome
from beliefd.mcp.reports import Reports

pytestmark = pytest.mark.anyio
PERMITTED = Judgement(session_id="s", seconds=30.0, call_id="c")
TURNS = 20
"""Turns of the loop in which an answer is long written."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Recorder:
    """A judge that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def report(self, _: str, call_id: str, outcome: Any) -> None:
        self.told.append(call_id)


def made() -> tuple[Recorder, Reports]:
    judge = Recorder()
    return judge, Reports(cast(Judge, judge))


async def test_a_report_lets_the_answer_go_first_and_the_next_call_has_it_made_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reports, "ANSWER_SECONDS", 3_600)
    judge, under_way = made()
    under_way.begin(PERMITTED, Outcome(status="ok"))
    for _ in range(TURNS):
        await asyncio.sleep(0)
    assert judge.told == []
    async with asyncio.timeout(10):
        await under_way.settled("s")
    assert judge.told == ["c"]


async def test_a_report_is_made_also_if_nobody_waits_for_it() -> None:
    judge, under_way = made()
    under_way.begin(PERMITTED, Outcome(status="ok"))
    async with asyncio.timeout(10):
        while not judge.told:  # noqa: ASYNC110 - nothing tells when it is made
            await asyncio.sleep(0.001)


async def test_a_gateway_that_ends_makes_its_reports_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "ANSWER_SECONDS", 3_600)
    judge, under_way = made()
    under_way.begin(PERMITTED, Outcome(status="ok"))
    async with asyncio.timeout(5):
        await under_way.close()
    assert judge.told == ["c"]


class Hasty(asyncio.SelectorEventLoop):
    """Wakes timers up to a millisecond early, as uvloop does, and counts them."""

    timers = 0

    def call_at(self, when: float, *rest: Any, **named: Any) -> asyncio.TimerHandle:  # type: ignore[override]
        self.timers += 1
        early = self.time() + int((when - self.time()) * 1000) / 1000
        return super().call_at(early, *rest, **named)


def test_a_report_that_lets_the_answer_go_first_sets_one_timer() -> None:
    judge, under_way = made()

    async def reported() -> int:
        under_way.begin(PERMITTED, Outcome(status="ok"))
        while not judge.told:  # noqa: ASYNC110 - nothing tells when it is made
            await asyncio.sleep(0)
        return cast(Hasty, asyncio.get_running_loop()).timers

    with asyncio.Runner(loop_factory=Hasty) as runner:
        assert runner.run(reported()) == 1
