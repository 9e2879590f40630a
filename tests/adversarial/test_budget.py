"""What detectors may cost: so many bytes, so many at once, and never the event loop."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from beliefd.adversarial import assess
from beliefd.adversarial.phrases import WORDS
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.policy import MAX_READ_BYTES, AdversarialPolicy
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.limits import LimitsPolicy
from beliefd.ledger.envelope import read
from beliefd.steward.directory import LOCAL_AGENT
from beliefd.steward.facts import threats
from beliefd.steward.facts.threats import TOO_LONG, ThreatFinder, size_of
from beliefd.testing.world import World, policy
from tests.claims.support import bundle, claim
from tests.support.server import ServerProcess, server_process

TRIGGERS = " ".join(sorted({word for rule in WORDS for need in rule.needs for word in need}))
# Every disguise at once: the text that the built-in detector is slowest with.
DISGUISES = "i g n o r e  t h e 1gn0r3 pr3v10us %69%67 &#105; \\u0069 aWdub3JlIGFsbA=="
HOSTILE = f"{TRIGGERS} {DISGUISES} "
WORST = f"{HOSTILE}\u0430b \u202e\u200bx "


def long_bundle(size: int, unit: str = "the disk is full ") -> dict[str, Any]:
    """Claims whose statements have so many characters together."""
    statement = (unit * (10_000 // len(unit) + 1))[:10_000]
    count, rest = divmod(size, len(statement))
    statements = [statement] * count + ([statement[:rest]] if rest else [])
    claims = (claim(id=f"c{at}", statement=one, if_wrong_cost="") for at, one in enumerate(statements))
    return bundle(*claims)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with server_process(tmp_path_factory.mktemp("detector")) as process:
        yield process


def counting(asked: list[int]) -> threats.Detector:
    def counts(texts: threats.Texts, *_: Any) -> Threat:
        asked.append(size_of(texts))
        return Threat(detector="counts@1")

    return counts


def test_what_is_too_long_is_not_read_and_waits_for_a_person() -> None:
    asked: list[int] = []
    with World(detector=counting(asked)) as house:
        session = house.session()
        answer = house.agent.submit_claims(session, long_bundle(2 * MAX_READ_BYTES))
        checked = house.agent.check_claims(long_bundle(2 * MAX_READ_BYTES))
        assert asked == []
        for one in (answer, checked):
            assert (one.decision, one.audit_trail.gates_failed) == ("DEFER", ("adversarial",))
            assert f"detector `counts` gave no answer: {TOO_LONG}: " in one.reason
            assert f"at most {MAX_READ_BYTES} are read" in one.reason
        (last,) = house.run(lambda: house.store.entries(session, 1, 1))
        facts = read(last.record).facts
        assert isinstance(facts, ClaimFindings)
        assert facts.threat.failed is not None
        assert facts.threat.failed.startswith(TOO_LONG)
        assert house.agent.verify(session).ok


@pytest.mark.parametrize(("unit", "width"), [("a", 1), ("é", 2), ("忽", 3), ("\U0001f600", 4)])
def test_the_budget_is_exact_and_counts_bytes(unit: str, width: int) -> None:
    asked: list[int] = []
    rest = len("agent://writer")
    rules = policy(adversarial={"max_bytes": 100 * width + rest})
    with World(detector=counting(asked), policy=rules) as house:
        within = bundle(claim("READ_ONLY", statement=unit * 100, if_wrong_cost=""))
        beyond = bundle(claim("READ_ONLY", statement=unit * 101, if_wrong_cost=""))
        assert house.agent.check_claims(within).decision == "PUBLISH"
        assert house.agent.check_claims(beyond).decision == "DEFER"
    assert asked == [100 * width + rest]


def test_no_text_is_so_slow_that_the_budget_takes_longer_than_the_time_limit_allows() -> None:
    """Best of three, and ten times as long: machines differ."""
    text = (WORST * 200)[:20_000]
    texts = [(f"$[{at}]", text) for at in range(MAX_READ_BYTES // len(text.encode()))]
    best = min(_seconds(texts) for _ in range(3))
    assert best < 10 * AdversarialPolicy().timeout_ms / 1000


def _seconds(texts: threats.Texts) -> float:
    start = time.process_time()
    assess(texts, 0)
    return time.process_time() - start


def stalls(size: int) -> tuple[float, float]:
    """(what a question took, the longest that an event loop stood still meanwhile).

    In processor time: what other processes take from this one is not its fault.
    """
    text = (WORST * 200)[:20_000]
    texts = [("$", text)] * max(1, size // len(text.encode()))

    async def asked() -> tuple[float, float]:
        longest, done = 0.0, asyncio.Event()

        async def tick() -> None:
            nonlocal longest
            last = time.process_time()
            while not done.is_set():
                await asyncio.sleep(0)
                now = time.process_time()
                longest, last = max(longest, now - last), now

        ticking = asyncio.create_task(tick())
        await asyncio.sleep(0.01)
        start = time.process_time()
        await ThreatFinder().threats(texts, 0, (), AdversarialPolicy(timeout_ms=60_000))
        took = time.process_time() - start
        done.set()
        await ticking
        return took, longest

    return asyncio.run(asked())


def test_the_event_loop_goes_on_while_a_detector_reads() -> None:
    for _ in range(3):
        took, longest = stalls(MAX_READ_BYTES)
        if longest < took / 4:
            return
    raise AssertionError(f"the loop stood still for {longest:.3f} of {took:.3f} s")


def test_a_server_answers_others_while_hostile_text_is_read(server: ServerProcess) -> None:
    """As much as is read, and as much as is taken, most of it unread; ratios only, machines differ."""
    read, taken = (
        [_beside(server, {**long_bundle(size, HOSTILE), "origin_agent": LOCAL_AGENT.id}) for _ in range(2)]
        for size in (MAX_READ_BYTES - 10_000, LimitsPolicy().bundle_bytes - 10_000)
    )
    took, waits = min(read, key=lambda one: max(one[1]) / one[0])
    assert len(waits) >= 10
    longest = min(max(waits, default=0) for _, waits in taken)
    assert max(waits) < took / 2, f"waited {max(waits):.3f} of {took:.3f} s"
    assert longest < took / 2, f"waited {longest:.3f} s for what is not read; what is takes {took:.3f} s"


def _beside(server: ServerProcess, body: dict[str, Any]) -> tuple[float, list[float]]:
    """(until a bundle was checked, how long each call of /healthz took meanwhile).

    In processor time of the server: who waits while it reads pays for what it reads, on any machine.
    """
    took: list[float] = []
    decisions: list[str] = []

    def check() -> None:
        start = server.processor_seconds()
        answer = httpx.post(f"{server.url}/v1/claims/check", json=body, timeout=120, verify=False)
        took.append(server.processor_seconds() - start)
        decisions.append(answer.json().get("decision"))

    waits: list[float] = []
    with httpx.Client(base_url=server.url, timeout=120, verify=False) as http:
        http.get("/healthz")
        thread = threading.Thread(target=check)
        thread.start()
        while thread.is_alive():
            start = server.processor_seconds()
            assert http.get("/healthz").status_code == 200
            waits.append(server.processor_seconds() - start)
        thread.join()
    assert decisions == ["DEFER"]
    return took[0], waits


def test_a_question_nobody_waits_for_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hostile texts queue for the detector; those that were given up cost nothing any more."""
    begun: list[int] = []
    let_go = threading.Event()

    def slow(*_: Any) -> Threat:
        begun.append(1)
        let_go.wait(60)
        return Threat(detector="slow@1")

    async def ask() -> None:
        finder, rules = ThreatFinder(), AdversarialPolicy(timeout_ms=20)
        texts = [("$", "x" * 10_000)]
        first = asyncio.ensure_future(finder.threats(texts, 0, (), AdversarialPolicy(timeout_ms=60_000)))
        while not begun:  # noqa: ASYNC110 - it is another thread that begins
            await asyncio.sleep(0.001)
        found = await asyncio.gather(*(finder.threats(texts, 0, (), rules) for _ in range(4)))
        assert {one.failed for (one,) in found} == {"no answer within 20 ms"}
        let_go.set()
        assert (await first)[0].failed is None
        while finder._running:  # noqa: ASYNC110 - there is nothing to wait on
            await asyncio.sleep(0.01)

    monkeypatch.setattr(threats, "assess", slow)
    asyncio.run(ask())
    assert len(begun) == 1


def test_many_callers_at_once_hold_the_event_loop_up_for_so_many_bytes_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Counted in bytes per turn of the loop: what a short text costs on it is paid by everybody who waits."""
    read: Counter[int] = Counter()
    turn = 0

    def counted(texts: threats.Texts, *_: Any) -> Threat:
        read[turn] += size_of(texts)
        return Threat(detector="builtin")

    monkeypatch.setattr(threats, "assess", counted)

    async def asked(callers: int, size: int, **rules: Any) -> None:
        loop = asyncio.get_running_loop()

        def ticking() -> None:
            nonlocal turn
            turn += 1
            ticks[0] = loop.call_soon(ticking)

        ticks = [loop.call_soon(ticking)]
        finder = ThreatFinder({"builtin": counted, "other": lambda *_: Threat(detector="other")})
        given = AdversarialPolicy(timeout_ms=60_000, **rules)
        text = [("$", "x" * size)]
        await asyncio.gather(*(finder.threats(text, 0, (), given, f"agent://{at}") for at in range(callers)))
        ticks[0].cancel()

    for size in (1, 700, threats.IN_PLACE):
        read.clear()
        asyncio.run(asked(100, size, detectors=["builtin"]))
        assert read.total() == 100 * size
        assert max(read.values()) <= threats.IN_A_TURN
    # The same where others are asked beside it.
    read.clear()
    asyncio.run(asked(12, threats.IN_PLACE, detectors=["builtin", "other"]))
    assert read.total() == 12 * threats.IN_PLACE
    assert max(read.values()) <= threats.IN_A_TURN
