"""What is found out before the gates: detectors that misbehave, content that rots, who speaks how often."""

import hashlib
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.threat import Signal, Threat
from beliefd.kernel.errors import Code
from beliefd.kernel.values import Principal, Role
from beliefd.ledger.envelope import read
from beliefd.steward.facts.attachments import Attachments
from beliefd.steward.facts.threats import MAX_OWN, MAX_RUNNING, Detector
from beliefd.steward.handlers.claims import read_bundle
from beliefd.stores.memory import MemoryStore
from beliefd.stores.sqlite import SqliteStore
from beliefd.testing.world import AGENT, World, policy, refused
from tests.claims.support import bundle, claim, pointer

ROOT = Path(__file__).parents[2]
PAPER = b"the paper, in full"
PAPER_HASH = hashlib.sha256(PAPER).hexdigest()


# -- detectors -------------------------------------------------------------------------------------


def raises(*_: Any) -> Threat:
    raise RuntimeError("boom")


def exits(*_: Any) -> Threat:
    sys.exit(3)


def hangs(*_: Any) -> Threat:
    while True:
        time.sleep(60)


def none(*_: Any) -> Any:
    return None


def a_number(*_: Any) -> Any:
    return 0.0


def nan(*_: Any) -> Threat:
    return Threat(detector="nan", score=float("nan"))


def negative(*_: Any) -> Threat:
    return Threat(detector="negative", score=-1.0)


def past_one(*_: Any) -> Threat:
    return Threat(detector="past", score=1e9)


def a_text_as_score(*_: Any) -> Any:
    return Threat(detector="text", score="0.0")  # type: ignore[arg-type]


def unprintable(*_: Any) -> Threat:
    return Threat(detector="half \ud800")


def bad_signal(*_: Any) -> Any:
    return Threat(detector="d", signals=(Signal(kind="k", weight=float("inf"), path="$", excerpt=""),))


MISBEHAVING: list[Detector] = [
    raises,
    exits,
    hangs,
    none,
    a_number,
    nan,
    negative,
    past_one,
    a_text_as_score,
    unprintable,
    bad_signal,
]


@pytest.mark.parametrize("detector", MISBEHAVING, ids=lambda one: one.__name__)
def test_a_detector_that_misbehaves_defers_the_bundle_and_is_recorded(detector: Detector) -> None:
    with World(detector=detector, policy=policy(adversarial={"timeout_ms": 50})) as house:
        session = house.session()
        answer = house.agent.submit_claims(session, bundle())
        assert answer.decision == "DEFER"
        assert answer.audit_trail.gates_failed == ("adversarial",)
        assert answer.audit_trail.gates_passed == ("evidence", "uncertainty", "security")
        assert answer.approval_id is not None
        (last,) = house.run(lambda: house.store.entries(session, 1, 1))
        facts = read(last.record).facts
        assert isinstance(facts, ClaimFindings)
        assert facts.threat.failed is not None
        assert facts.threat.detector == detector.__name__
        assert house.agent.verify(session).ok
        assert house.agent.check_claims(bundle()).decision == "DEFER"


def test_a_detector_that_works_is_asked_for_every_text_tier_and_trail() -> None:
    heard: list[tuple[Sequence[tuple[str, str]], int, Sequence[int]]] = []

    def listening(texts: Sequence[tuple[str, str]], tier: int, trail: Sequence[int]) -> Threat:
        heard.append((list(texts), tier, list(trail)))
        return Threat(detector="listening", score=0.3)

    with World(detector=listening) as house:
        session = house.session()
        house.agent.submit_claims(session, bundle(claim("READ_ONLY")))
        house.person(Principal(id="agent://else", role=Role.AGENT)).submit_claims(session, bundle())
        stated = {"method": "confidence_score", "value": 0.1, "interpretation": "gut feeling"}
        house.agent.submit_claims(
            session,
            bundle(claim("MODIFY", evidence_pointers=[pointer(source="ftp://x")], uncertainty=stated)),
        )
    texts, tier, trail = heard[-1]
    assert (tier, trail) == (2, [0])
    assert dict(texts) == {
        "$.origin_agent": "agent://writer",
        "$.claims[0].statement": "rotate the log file",
        "$.claims[0].if_wrong_cost": "a gap in the logs",
        "$.claims[0].uncertainty.interpretation": "gut feeling",
        "$.claims[0].evidence_pointers[0].source": "ftp://x",
    }


def test_hanging_detectors_are_bounded_and_others_go_on_when_they_come_back() -> None:
    let_go = threading.Event()
    started: list[int] = []

    def stuck(*_: Any) -> Threat:
        started.append(1)
        let_go.wait()
        return Threat(detector="stuck")

    # Long enough for each of them to begin, on a busy machine too: one that has not is not asked.
    with World(detector=stuck, policy=policy(adversarial={"timeout_ms": 100})) as house:
        session = house.session()
        agents = [replace(AGENT, id=f"agent://{number}") for number in range(MAX_RUNNING // MAX_OWN + 1)]
        for one in agents * (MAX_OWN + 1):
            given = bundle(origin_agent=one.id)
            assert house.person(one).submit_claims(session, given).decision == "DEFER"
        assert len(started) == MAX_RUNNING
        let_go.set()
        house.steward.in_force.adopt(policy(adversarial={"timeout_ms": 60_000}))
        deadline = time.monotonic() + 60
        while house.agent.submit_claims(session, bundle()).decision != "PUBLISH":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert len(started) > MAX_RUNNING
        assert house.agent.submit_claims(session, bundle()).decision == "PUBLISH"


def test_a_hanging_detector_does_not_keep_the_process_from_ending() -> None:
    program = """
import time
from beliefd.testing.world import World, policy
from tests.claims.support import bundle
def hangs(*_):
    time.sleep(3600)
with World(detector=hangs, policy=policy(adversarial={"timeout_ms": 10})) as house:
    print(house.agent.submit_claims(house.session(), bundle()).decision)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert done.stdout == "DEFER\n"


def test_one_bundle_that_the_detector_chokes_on_does_not_hold_up_the_next() -> None:
    def picky(texts: Sequence[tuple[str, str]], *_: Any) -> Threat:
        if any("choke" in text for _, text in texts):
            raise ValueError
        return Threat(detector="picky")

    with World(detector=picky) as house:
        session = house.session()
        assert house.agent.submit_claims(session, bundle(claim(statement="choke"))).decision == "DEFER"
        assert house.agent.submit_claims(session, bundle()).decision == "PUBLISH"


# -- stored content --------------------------------------------------------------------------------


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    targets: dict[str, str | Path] = {"memory": ":memory:", "sqlite": tmp_path / "beliefd.db"}
    target: str | Path = targets.get(request.param) or request.getfixturevalue("postgres_url")
    with World(target) as house:
        yield house


def corrupt(house: World, name: str, content: bytes) -> None:
    """Change stored bytes behind the store's back."""
    store = house.store
    if isinstance(store, MemoryStore):
        store._content.by_hash[name] = content
    elif isinstance(store, SqliteStore):
        with sqlite3.connect(store._path) as connection:
            connection.execute("UPDATE content SET bytes = ? WHERE sha256 = ?", (content, name))
    else:
        import asyncpg

        async def change() -> None:
            connection = await asyncpg.connect(house.target)
            await connection.execute("UPDATE content SET bytes = $1 WHERE sha256 = $2", content, name)
            await connection.close()

        house.run(change)


def sourced(digest: str = PAPER_HASH) -> dict[str, Any]:
    return bundle(claim("READ_ONLY", "FACT", evidence_pointers=[pointer(evidence_hash=digest)]))


def test_stored_content_is_hashed_again_at_the_gate(stored: World) -> None:
    session = stored.session()
    kept = stored.agent.store_content(PAPER)
    assert (kept.sha256, kept.size) == (PAPER_HASH, len(PAPER))
    assert stored.agent.store_content(PAPER) == kept
    assert stored.agent.submit_claims(session, sourced()).decision == "PUBLISH"
    corrupt(stored, PAPER_HASH, PAPER + b".")
    for digest in (PAPER_HASH, PAPER_HASH.upper()):
        answer = stored.agent.submit_claims(session, sourced(digest))
        assert answer.decision == "REFUSE"
        assert answer.audit_trail.gates_failed == ("evidence",)
        assert answer.approval_id is None
    assert stored.agent.check_claims(sourced()).decision == "REFUSE"
    assert stored.agent.verify(session).ok


def test_content_that_is_not_at_hand_says_nothing(stored: World) -> None:
    session = stored.session()
    assert stored.agent.submit_claims(session, sourced("ab" * 32)).decision == "PUBLISH"


def test_content_corrupted_while_a_person_thinks_is_found_on_approval(stored: World) -> None:
    session = stored.session()
    stored.ann.store_content(PAPER)
    waiting = stored.agent.submit_claims(session, bundle({**sourced()["claims"][0], "risk_tier": "DELETE"}))
    assert waiting.decision == "ESCALATE"
    corrupt(stored, PAPER_HASH, b"another paper")
    decided = stored.ann.approve(waiting)
    assert (decided.status, decided.outcome) == ("approved", "REFUSE")
    assert decided.bundle is not None
    assert decided.bundle.audit_trail.gates_failed == ("evidence",)
    assert stored.agent.show_claims(session, waiting.id).decision == "REFUSE"
    assert stored.agent.verify(session).ok


def test_large_content_is_hashed_too() -> None:
    large = bytes(1024 * 1024)
    with World() as house:
        kept = house.agent.store_content(large)
        session = house.session()
        assert house.agent.submit_claims(session, sourced(kept.sha256)).decision == "PUBLISH"
        corrupt(house, kept.sha256, large[:-1])
        assert house.agent.submit_claims(session, sourced(kept.sha256)).decision == "REFUSE"


def test_empty_content_is_refused() -> None:
    with World() as house:
        refused(Code.INVALID_REQUEST, lambda: house.agent.store_content(b""))


# -- who speaks, how often, from where -------------------------------------------------------------


def test_the_tier_comes_from_the_principal_and_nowhere_else() -> None:
    small = Principal(id="agent://small", role=Role.AGENT, tier="WRITE_LIMITED")
    with World() as house:
        session = house.session()
        answer = house.person(small).submit_claims(
            session, bundle(claim("MODIFY"), origin_agent="agent://writer")
        )
        assert (answer.decision, answer.audit_trail.gates_failed) == ("REFUSE", ("security",))


def test_who_speaks_too_often_is_deferred_and_the_count_is_recorded() -> None:
    with World(policy=policy(security={"rate_limit": 3, "rate_window_seconds": 3600})) as house:
        session, second = house.session(), house.session()
        for number in range(3):
            assert house.agent.submit_claims([session, second][number % 2], bundle()).decision == "PUBLISH"
        answer = house.agent.submit_claims(session, bundle())
        assert (answer.decision, answer.audit_trail.gates_failed) == ("DEFER", ("security",))
        (result,) = [one for one in answer.gates if one.gate == "security"]
        assert (result.limit, result.observed) == (3, 4)
        entries = house.run(lambda: house.store.entries(session))
        facts = read(entries[-1].record).facts
        assert isinstance(facts, ClaimFindings)
        assert facts.recent == 3
        # Another principal has a count of its own.
        other = house.person(Principal(id="agent://else", role=Role.AGENT))
        assert other.submit_claims(session, bundle(origin_agent="agent://else")).decision == "PUBLISH"
        assert house.agent.verify(session).ok


def test_asking_what_the_gates_would_say_counts_like_a_submission() -> None:
    with World(policy=policy(security={"rate_limit": 2, "rate_window_seconds": 3600})) as house:
        session = house.session()
        assert house.agent.check_claims(bundle()).decision == "PUBLISH"
        assert house.agent.submit_claims(session, bundle()).decision == "PUBLISH"
        for answer in (house.agent.check_claims(bundle()), house.agent.submit_claims(session, bundle())):
            assert (answer.decision, answer.audit_trail.gates_failed) == ("DEFER", ("security",))
        other = house.person(Principal(id="agent://else", role=Role.AGENT))
        assert other.check_claims(bundle(origin_agent="agent://else")).decision == "PUBLISH"


def test_no_detector_is_asked_for_whoever_is_over_the_rate() -> None:
    """Else asking too often would cost the server as much as asking."""
    asked: list[int] = []

    def counting(*_: Any) -> Threat:
        asked.append(1)
        return Threat(detector="counting")

    with World(
        detector=counting, policy=policy(security={"rate_limit": 2, "rate_window_seconds": 3600})
    ) as house:
        session = house.session()
        for _ in range(3):
            house.agent.check_claims(bundle())
        late = house.agent.submit_claims(session, bundle())
        assert len(asked) == 2
        # A person's yes answers the rate; what was not looked at before is looked at then.
        assert house.ann.approve(late).outcome == "PUBLISH"
        assert len(asked) == 3
        assert house.agent.verify(session).ok


def test_an_approval_does_not_stumble_over_the_rate() -> None:
    with World(policy=policy(security={"rate_limit": 1, "rate_window_seconds": 3600})) as house:
        session = house.session()
        house.agent.submit_claims(session, bundle())
        late = house.agent.submit_claims(session, bundle())
        assert house.ann.approve(late).outcome == "PUBLISH"


def test_a_window_that_has_passed_counts_no_more() -> None:
    with World(policy=policy(security={"rate_limit": 1, "rate_window_seconds": 1})) as house:
        session = house.session()
        house.agent.submit_claims(session, bundle())
        assert house.agent.submit_claims(session, bundle()).decision == "DEFER"
        for _ in range(100):
            time.sleep(0.1)
            if house.agent.submit_claims(session, bundle()).decision == "PUBLISH":
                return
            # Each try is a submission too; waiting a whole window between two lets the next one through.
            time.sleep(1.0)
        raise AssertionError("the window never passed")


def test_a_call_that_loses_a_race_is_counted_once(tmp_path: Path) -> None:
    """Another process appends first; the bundle is decided again, and has still been submitted once."""
    rules = policy(security={"rate_limit": 2, "rate_window_seconds": 3600})
    with World(tmp_path / "beliefd.db", rules) as one, World(tmp_path / "beliefd.db", rules) as two:
        session = one.session()
        two.state(session)
        one.ann.eliminate(session, source_id="s", observation_id="o", eliminated=["h1"], justification={})
        two.clock._ids = 1_000
        assert two.agent.submit_claims(session, bundle()).decision == "PUBLISH"
        assert two.steward.counts.retries == 1
        assert two.agent.submit_claims(session, bundle()).decision == "PUBLISH"
        assert two.agent.submit_claims(session, bundle()).decision == "DEFER"


def test_a_page_of_another_site_needs_policy_to_name_it() -> None:
    command = SubmitClaims(bundle=read_bundle(bundle()))
    with World() as house:
        session = house.session()

        def decision() -> str:
            event = house.submit(session, command, AGENT, attachments=Attachments("https://a.example")).event
            judged: ClaimBundle = event.gated.bundle  # type: ignore[union-attr]
            return judged.decision

        assert decision() == "REFUSE"
        house.steward.in_force.adopt(policy(security={"allowed_origins": ["https://a.example"]}))
        assert decision() == "PUBLISH"
        house.steward.in_force.adopt(policy(security={"allowed_origins": ["https://b.example"]}))
        assert decision() == "REFUSE"
        assert house.agent.verify(session).ok
