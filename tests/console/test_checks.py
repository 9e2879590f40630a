"""A long verification tells how far it is, to whoever asked for it, and answers once."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import httpx
import pytest

from beliefd.console import checks as module
from beliefd.console.app import Seen, Visitor
from beliefd.console.asking import Asker, Server
from beliefd.console.checks import Checks
from beliefd.console.pages import sessions
from beliefd.console.rendering import now, page
from beliefd.protocol.ledger import Verified
from beliefd.protocol.rights import EVERYTHING
from beliefd.steward.call import Caller
from beliefd.steward.handlers.ledger import TELL_CHECKED
from beliefd.testing.world import ANN, World
from tests.console.test_length import Served
from tests.console.visitor import Person, session_of
from tests.http.calls import eliminate

HOLDS = Verified(ok=True, checked=7, first_bad=None, head=None)
ANA, BEN = ("human://ana", "s"), ("human://ben", "s")


class Slow:
    """Verifies until it is let go."""

    def __init__(self) -> None:
        self.asked = 0
        self.go_on = asyncio.Event()

    async def __call__(self) -> Verified:
        self.asked += 1
        tell = TELL_CHECKED.get()
        assert tell is not None
        tell(3 * self.asked)
        await self.go_on.wait()
        return HOLDS


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 60))


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(module, "QUICK_SECONDS", 0.01)
    return monkeypatch


def test_who_asks_again_is_told_how_far_it_is_and_then_what_was_found(hasty: object) -> None:
    async def scenario() -> None:
        checks, slow, other = Checks(), Slow(), Slow()
        assert [await checks.of(ANA, slow), await checks.of(ANA, slow)] == [3, 3]
        assert slow.asked == 1, "it goes on, and is not begun again"
        assert await checks.of(BEN, other) == 3
        assert other.asked == 1, "what somebody else asked for is not told"
        slow.go_on.set()
        assert await checks.of(ANA, slow) == HOLDS
        slow.go_on.clear()
        assert await checks.of(ANA, slow) == 6, "whoever asks after that has it verified anew"

    run(scenario)


def test_what_nobody_came_back_for_is_verified_anew(hasty: pytest.MonkeyPatch) -> None:
    hasty.setattr(module, "KEPT_SECONDS", -1.0)

    async def scenario() -> None:
        checks, slow = Checks(), Slow()
        await checks.of(ANA, slow)
        slow.go_on.set()
        await asyncio.sleep(0.05)
        assert await checks.of(ANA, slow) == HOLDS
        assert slow.asked == 2

    run(scenario)


def test_only_so_many_go_on_by_themselves(hasty: pytest.MonkeyPatch) -> None:
    hasty.setattr(module, "MOST", 1)

    async def scenario() -> None:
        checks, slow = Checks(), Slow()
        await checks.of(ANA, slow)

        async def quick() -> Verified:
            return HOLDS

        assert await checks.of(BEN, quick) == HOLDS
        assert await checks.of(ANA, slow) == 3

    run(scenario)


def test_what_goes_wrong_is_said_and_not_kept(hasty: object) -> None:
    async def scenario() -> None:
        checks = Checks()

        async def broken() -> Verified:
            raise ValueError("gone")

        for _ in range(2):
            with pytest.raises(ValueError, match="gone"):
                await checks.of(ANA, broken)

    run(scenario)


def test_a_short_ledger_is_verified_at_once(approver: Person, agent: httpx.Client) -> None:
    session_id = session_of(agent)
    assert eliminate(agent, session_id, "a").status_code == 200
    shown = approver.read(f"/sessions/{session_id}/verified")
    assert "All 2 events were hashed again" in shown
    assert "http-equiv" not in shown


def test_the_page_says_how_far_it_is_and_goes_on_without_a_script() -> None:
    class Under(Checks):
        async def of(self, *_: object) -> int:
            return 1

    with World() as house:
        session_id = house.session()
        asker = Asker(cast(Server, Served(house.runtime)), Caller(ANN, EVERYTHING))

        async def made() -> Seen:
            return await sessions.verified(Visitor(asker, {"session_id": session_id}, {}, {}, Under()))

        seen = house.run(made)
    shown = page(seen.template, {**seen.values, "who": None, "now": now(), "places": []}).decode()
    assert '<progress id="checked" max="1" value="1">' in shown
    assert "1 of 1 events hold so far" in shown
    assert '<meta http-equiv="refresh" content="1">' in shown
