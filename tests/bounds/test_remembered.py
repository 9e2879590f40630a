"""What a process remembers of principals: it is bounded, and forgetting gives nobody more than its share."""

import asyncio
import gc
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.effects.tools import Turns
from beliefd.steward.facts import submissions as submissions_module
from beliefd.steward.handlers.claims import read_bundle
from beliefd.stores.memory import MemoryStore
from beliefd.testing.world import AGENT, policy
from tests.claims.support import bundle


def test_who_was_silent_for_a_window_is_forgotten_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=1_000.0)
    monkeypatch.setattr(submissions_module, "MOST_SPEAKERS", 3)
    monkeypatch.setattr(submissions_module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    rules = policy(security={"rate_limit": 1, "rate_window_seconds": 60})
    submissions = bootstrap(MemoryStore()).steward.finder.submissions
    said = SubmitClaims(bundle=read_bundle(bundle()))

    def count(number: int) -> int:
        return submissions.count(said, replace(AGENT, id=f"agent://{number}"), rules)

    assert [count(number) for number in range(3)] == [0, 0, 0]
    clock.now += 30
    assert (count(0), count(3)) == (1, 0)
    clock.now += 31
    assert (count(4), sorted(submissions._spoken)) == (0, ["agent://0", "agent://3", "agent://4"])
    assert count(0) == 1, "it spoke within the window"


def test_a_lock_by_name_lasts_as_long_as_somebody_holds_it() -> None:
    async def story() -> None:
        turns = Turns()
        for number in range(100):
            async with turns.of(f"agent://{number}"):
                pass
        gc.collect()
        assert len(turns._locks) <= 1

    asyncio.run(story())
