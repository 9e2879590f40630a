"""Bytes of bodies that are not answered yet, and requests per second: per principal, and together."""

import asyncio
import contextlib
import json
from typing import Any

import pytest

from beliefd.http.in_flight import Holding, InFlight
from beliefd.http.rates import BURST_SECONDS, Rates
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.steward import keeping
from beliefd.steward.buckets import MOST, Buckets
from beliefd.testing.world import policy
from tests.bounds.requests import CHECK, LINES, Answered, asked, declaration

BODY = json.dumps({"claims": [], "x": "y" * 300_000}).encode()
"""Read completely, and refused then: it is no bundle."""
READ = (400, "INVALID_REQUEST")


def held(in_flight: InFlight, principal: str, size: int, share: int = 100) -> Holding:
    holding = Holding(in_flight)
    holding.belongs_to(principal, share)
    holding.up_to(size)
    return holding


def refusal(in_flight: InFlight, principal: str, size: int, share: int = 100) -> BeliefdError:
    with pytest.raises(BeliefdError) as raised:
        held(in_flight, principal, size, share)
    return raised.value


def test_a_principal_holds_its_share_and_others_theirs() -> None:
    in_flight = InFlight(most=1_000)
    first = held(in_flight, "a", 60)
    error = refusal(in_flight, "a", 41)
    assert error.code is Code.RATE_LIMITED
    assert error.details == {"path": "$", "limit": 100, "reason": "bytes_in_flight", "retry_after": 1}
    held(in_flight, "a", 40)
    held(in_flight, "b", 100)
    first.release()
    first.release()
    held(in_flight, "a", 60)
    assert (in_flight.of("a"), in_flight.of("b"), in_flight.total) == (100, 100, 200)


def test_one_body_alone_may_be_larger_than_the_share() -> None:
    in_flight = InFlight(most=1_000)
    large = held(in_flight, "a", 50)
    large.up_to(500)
    assert refusal(in_flight, "a", 1).code is Code.RATE_LIMITED
    large.release()
    held(in_flight, "a", 2_000).release()
    assert (in_flight.total, in_flight.of("a")) == (0, 0)


def test_all_together_are_bounded_whoever_they_are_of() -> None:
    in_flight = InFlight(most=150)
    held(in_flight, "a", 90)
    error = refusal(in_flight, "b", 61)
    assert error.code is Code.TOO_BUSY
    assert error.details == {"retry_after": 1}
    held(in_flight, "b", 60)
    assert in_flight.refused == {"bytes_in_flight": 0, "all_bytes_in_flight": 1}


def outcome(answer: Answered) -> tuple[int, str]:
    return answer.status, str(answer.error["code"])


def test_a_body_counts_until_it_is_answered_and_then_no_more() -> None:
    rules = policy(limits={"bytes_in_flight": 400_000})

    async def run() -> None:
        async with asked(rules) as server:
            in_flight, go_on = server.app.surface.metrics.in_flight, asyncio.Event()
            slow = asyncio.ensure_future(server.post(CHECK, BODY, paused=go_on))
            for _ in range(1_000):  # all but its last chunk is read without waiting for anybody
                await asyncio.sleep(0)
            assert 200_000 < in_flight.total < len(BODY)
            refused = await server.post(CHECK, BODY)
            assert outcome(refused) == (429, "RATE_LIMITED")
            assert refused.headers["retry-after"] == "1"
            assert refused.error["details"]["limit"] == 400_000
            assert outcome(await server.post(CHECK, b"{}")) == READ, "what is small still fits"
            go_on.set()
            assert outcome(await slow) == READ
            assert in_flight.total == 0
            assert outcome(await server.post(CHECK, BODY)) == READ
            page = server.app.surface.metrics.render(server.app.surface.runtime.steward).decode()
            assert "beliefd_body_bytes_in_flight 0\n" in page
            assert 'beliefd_limited_total{limit="bytes_in_flight"} 1\n' in page

    asyncio.run(run())


def test_who_comes_when_the_server_is_full_is_told_when_to_come_back_as_who_is_over_their_share_is() -> None:
    async def run() -> None:
        async with asked() as server:
            in_flight, go_on = server.app.surface.metrics.in_flight, asyncio.Event()
            in_flight.most = 400_000
            slow = asyncio.ensure_future(server.post(CHECK, BODY, paused=go_on))
            for _ in range(1_000):
                await asyncio.sleep(0)
            refused = await server.post(CHECK, BODY)
            assert outcome(refused) == (503, "TOO_BUSY"), "it is not this caller's doing"
            assert refused.headers["retry-after"] == str(refused.error["details"]["retry_after"]) == "1"
            go_on.set()
            assert outcome(await slow) == READ
            page = server.app.surface.metrics.render(server.app.surface.runtime.steward).decode()
            assert 'beliefd_limited_total{limit="all_bytes_in_flight"} 1\n' in page

    asyncio.run(run())


def test_a_batch_counts_until_its_last_line_is_answered() -> None:
    async def run() -> None:
        async with asked() as server:
            in_flight, body = server.app.surface.metrics.in_flight, b"x\n" * 1_000
            seen: list[int] = []
            handlers: dict[str, Any] = server.app.surface.runtime.handlers
            original = handlers["batch"]

            async def watched(call: Any) -> Any:
                async for chunk in original(call):
                    seen.append(in_flight.total)
                    yield chunk

            handlers["batch"] = watched
            await server.post(f"/v1/sessions/{await server.session()}/batch", body, LINES)
            assert len(seen) > 1
            assert set(seen) == {len(body)}
            assert in_flight.total == 0

    asyncio.run(run())


# -- requests per second -------------------------------------------------------------------------------


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def made(rates: Rates, principal: str, tries: int, per_second: int = 10) -> int:
    """How many of so many requests were let through."""
    through = 0
    for _ in range(tries):
        with contextlib.suppress(BeliefdError):
            rates.count(principal, per_second)
            through += 1
    return through


def test_requests_are_let_through_at_their_rate_and_others_are_not_held_up() -> None:
    clock = Clock()
    rates = Rates(Buckets(clock=clock))
    assert made(rates, "a", 100) == 10 * BURST_SECONDS
    assert made(rates, "b", 5) == 5
    clock.now = 0.5
    assert made(rates, "a", 100) == 5
    for second in range(1, 11):
        clock.now = 0.5 + second
        assert made(rates, "a", 100) == 10
    clock.now = 1_000.0
    assert made(rates, "a", 100) == 10 * BURST_SECONDS


def test_rates_are_remembered_of_so_many_and_those_at_their_limit_stay() -> None:
    clock = Clock()
    rates = Rates(Buckets(clock=clock))
    made(rates, "greedy", 100)
    for number in range(2 * MOST):
        rates.count(f"agent://{number}", 10)
        assert len(rates._buckets._buckets) <= MOST
    assert made(rates, "greedy", 10) == 0


def test_no_room_for_content_is_answered_with_its_reason_and_counted() -> None:
    async def run() -> None:
        async with asked(policy(content={"max_bytes_per_principal": 10})) as server:
            before = keeping.refused["content"]
            answer = await server.post("/v1/content", b"x" * 11, media="application/octet-stream")
            assert outcome(answer) == (507, "QUOTA_EXCEEDED")
            assert answer.error["details"]["reason"] == "content"
            page = server.app.surface.metrics.render(server.app.surface.runtime.steward).decode()
            assert f'beliefd_limited_total{{limit="content"}} {before + 1}\n' in page

    asyncio.run(run())


def test_bytes_written_into_ledgers_are_answered_with_when_to_come_again_and_counted() -> None:
    async def run() -> None:
        async with asked(policy(limits={"ledger_bytes_per_hour": 1})) as server:
            await server.session()
            refused = await server.post("/v1/sessions", declaration(("a", "b")))
            assert outcome(refused) == (429, "RATE_LIMITED")
            assert refused.error["details"]["reason"] == "ledger_bytes_per_hour"
            assert refused.headers["retry-after"] == str(refused.error["details"]["retry_after"])
            page = server.app.surface.metrics.render(server.app.surface.runtime.steward).decode()
            assert 'beliefd_limited_total{limit="ledger_bytes_per_hour"} 1\n' in page

    asyncio.run(run())


def test_too_many_requests_are_answered_with_when_to_come_again() -> None:
    async def run() -> list[Answered]:
        async with asked(policy(limits={"requests_per_second": 1})) as server:
            return [await server.post(CHECK, b"{}") for _ in range(4)]

    *_, last = answers = asyncio.run(run())
    assert [one.status for one in answers[:2]] == [400, 400]
    assert outcome(last) == (429, "RATE_LIMITED")
    assert last.headers["retry-after"] == "1"
    assert last.error["details"]["reason"] == "requests_per_second"
