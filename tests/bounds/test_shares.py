"""What is kept because of one principal: it is bounded for each, and nobody takes the place of others."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from beliefd.kernel.claims.policy import AdversarialPolicy
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused
from beliefd.kernel.experiments.commands import StartRun
from beliefd.kernel.experiments.events import RunStarted
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.commands import RecordOutcome
from beliefd.ledger.chain import policy_hash
from beliefd.steward.facts import shares, threats
from beliefd.steward.facts.threats import MAX_OWN, MAX_RUNNING, ThreatFinder
from beliefd.testing.world import AGENT, ONTOLOGY, OTHER_AGENT, World, policy, refused
from tests.claims.support import bundle, claim
from tests.substrate.support import ALLOW_ALL, ToolWorld, delta, rules, tool_call

SOON = 60
WAITS = bundle(claim("DELETE"))
PASSES = bundle(claim())
IDEA: dict[str, Any] = {"kind": "hypothesis", "ttl_ms": 60_000, "confidence": 0.5}


def limited(**limits: int) -> Policy:
    return policy(limits=limits)


def said(text: str) -> dict[str, Any]:
    """An elimination that eliminates nothing."""
    return {"source_id": "s", "observation_id": "o", "eliminated": [], "justification": {"x": text}}


def test_limits_that_are_not_given_leave_the_hash_of_a_policy_as_it_was() -> None:
    assert Policy().bounds.pending_approvals == 500
    assert "limits" not in Policy().__struct_fields__ or policy_hash(Policy()) == policy_hash(policy())
    assert policy_hash(limited(pending_approvals=500)) != policy_hash(Policy())


# -- the inbox -----------------------------------------------------------------------------------------


def test_who_has_enough_waiting_is_refused_on_record_and_others_are_not() -> None:
    with World(policy=limited(pending_approvals=3)) as house:
        session, elsewhere = house.session(), house.session()
        waiting = [house.agent.submit_claims(one, WAITS) for one in (session, session, elsewhere)]
        assert {one.decision for one in waiting} == {"ESCALATE"}
        error = refused(Code.RATE_LIMITED, lambda: house.agent.submit_claims(session, WAITS))
        assert error.details is not None
        told = {name: error.details[name] for name in ("path", "limit", "reason", "retry_after")}
        assert told == {"path": "$.claims", "limit": 3, "reason": "pending_approvals", "retry_after": 60}
        last = house.deltas(session)[-1]
        assert isinstance(last, Refused)
        assert last.code is Code.RATE_LIMITED
        assert house.agent.submit_claims(session, PASSES).decision == "PUBLISH", "it waits for nobody"
        other = house.person(OTHER_AGENT)
        mine = bundle(claim("DELETE"), origin_agent=OTHER_AGENT.id)
        assert other.submit_claims(session, mine).decision == "ESCALATE"
        assert len([row for row in house.rows() if row.status == "pending"]) == 4
        assert house.steward.counts.limited["pending_approvals"] == 1
        house.check(session)
        house.check(elsewhere)


def test_who_has_enough_sessions_open_ends_one_first() -> None:
    with World(policy=limited(open_sessions=2)) as house:
        first, _ = house.session(), house.session()
        error = refused(Code.RATE_LIMITED, house.session)
        assert error.details is not None
        assert (error.details["limit"], error.details["reason"]) == (2, "open_sessions")
        other = house.person(OTHER_AGENT)
        assert other.declare_session(["a", "b"], ONTOLOGY).session_id
        assert house.ann.request_termination(first, context={"force": True})
        assert house.session()
        refused(Code.RATE_LIMITED, house.session)


def test_a_place_is_free_again_when_somebody_decides_or_the_proposer_withdraws() -> None:
    with World(policy=limited(pending_approvals=1)) as house:
        session = house.session()
        for end in (house.ann.reject, lambda card: house.agent.withdraw_approval(card.approval_id)):
            card = house.agent.submit_claims(session, WAITS)
            refused(Code.RATE_LIMITED, lambda: house.agent.submit_claims(session, WAITS))
            end(card)
        assert house.agent.submit_claims(session, WAITS).decision == "ESCALATE"


def test_a_new_version_of_what_waits_takes_no_other_place() -> None:
    with World(policy=limited(pending_approvals=1)) as house:
        session = house.session()
        house.agent.submit_claims(session, bundle(claim("DELETE"), id="b"))
        again = bundle(claim("DELETE", statement="rotate another file"), id="b")
        assert house.agent.submit_claims(session, again).decision == "ESCALATE"
        house.check(session)


def test_a_principal_over_its_rate_fills_no_inbox() -> None:
    rules = policy(security={"rate_limit": 1, "rate_window_seconds": 3600}, limits={"pending_approvals": 5})
    with World(policy=rules) as house:
        session = house.session()
        answers = house.agent.batch(session, [{"verb": "SUBMIT_CLAIMS", **PASSES}] * 50)
        decisions = [one.get("decision") or one["error"]["code"] for one in answers]
        assert decisions == ["PUBLISH", *["DEFER"] * 5, *["RATE_LIMITED"] * 44]
        assert len([row for row in house.rows() if row.status == "pending"]) == 5
        house.check(session)


def test_processes_on_one_store_count_together(tmp_path: Path) -> None:
    rules = limited(pending_approvals=2)
    with World(tmp_path / "beliefd.db", rules) as one, World(tmp_path / "beliefd.db", rules) as two:
        two.clock._ids = 1_000
        here, there = one.session(), two.session()
        one.agent.submit_claims(here, WAITS)
        two.agent.submit_claims(there, WAITS)
        refused(Code.RATE_LIMITED, lambda: one.agent.submit_claims(here, WAITS))
        refused(Code.RATE_LIMITED, lambda: two.agent.submit_claims(there, WAITS))


def test_far_below_its_limit_the_store_is_asked_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "LOOKED_AGAIN_SECONDS", 3600.0)
    asked: list[str] = []
    with World(policy=limited(pending_approvals=100)) as house:
        session, store = house.session(), house.store
        original = store.inbox_count

        async def counting(principal: str, status: str) -> int:
            asked.append(principal)
            return await original(principal, status)

        monkeypatch.setattr(store, "inbox_count", counting)
        for _ in range(8):
            house.agent.submit_claims(session, PASSES)
        assert asked == [AGENT.id]


def test_proposals_that_may_wait_are_turned_away_too() -> None:
    asking = {"v": 1, "effect": "deny", "on_fail": "ask", "subject": None, "reason": "why"}
    asks = rules(all={"v": 1, "effect": "allow", "subject": None}, asking=asking)
    given = policy(constraints=asks.constraints, limits={"pending_approvals": 1})
    with ToolWorld(policy=given) as house:
        session = house.session()
        first = house.agent.propose(session, [delta(goal__x=1)])
        assert first.results[0].verdict == "defer", first
        refused(Code.RATE_LIMITED, lambda: house.agent.propose(session, [delta(goal__x=2)]))


# -- bundles -------------------------------------------------------------------------------------------


def test_a_bundle_too_long_to_wait_in_memory_is_turned_away_wherever_it_comes_from() -> None:
    with World(policy=limited(bundle_bytes=1_000)) as house:
        session = house.session()
        long = bundle(claim("DELETE", statement="x" * 1_000))
        card = house.agent.submit_claims(session, WAITS)
        before = len(house.entries(session))
        ways: list[Any] = [
            lambda: house.agent.submit_claims(session, long),
            lambda: house.agent.check_claims(long),
            lambda: house.ann.modify(card, claim("DELETE", statement="x" * 1_000)),
        ]
        for way in ways:
            error = refused(Code.PAYLOAD_TOO_LARGE, way)
            assert error.details == {"path": "$.claims", "limit": 1_000}
        (answer,) = house.agent.batch(session, [{"verb": "SUBMIT_CLAIMS", **long}])
        assert answer["error"]["code"] == "PAYLOAD_TOO_LARGE"
        assert len(house.entries(session)) == before, "a ledger keeps what it records"
        assert house.ann.approve(card).bundle is not None


# -- ledgers -------------------------------------------------------------------------------------------


def test_who_has_written_enough_into_ledgers_waits_and_others_do_not() -> None:
    with World(policy=limited(ledger_bytes_per_hour=10_000)) as house:
        session = house.session()
        told = said("y" * 12_000)
        house.agent.eliminate(session, **told)
        for way in (lambda: house.agent.eliminate(session, **told), house.session):
            error = refused(Code.RATE_LIMITED, way)
            assert error.details is not None
            assert (error.details["limit"], error.details["reason"]) == (10_000, "ledger_bytes_per_hour")
            assert error.details["retry_after"] > 60, "what is over the limit is made up for first"
        (line,) = house.agent.batch(session, [{"verb": "ELIMINATE", **told}])
        assert line["error"]["code"] == "RATE_LIMITED"
        assert house.steward.counts.limited["ledger_bytes_per_hour"] == 3
        assert house.person(OTHER_AGENT).eliminate(session, **told)
        house.check(session)


def test_what_was_let_through_is_told_to_its_end_whoever_has_written_enough() -> None:
    given = policy(constraints=rules(all=ALLOW_ALL).constraints, limits={"ledger_bytes_per_hour": 1})
    with ToolWorld(policy=given) as house:
        session = house.person(OTHER_AGENT).declare_session(["a", "b"], ONTOLOGY).session_id
        answer = house.agent.propose(session, [tool_call("note.read", house.token(session))])
        assert (answer.results[0].status, answer.results[0].result) == ("ok", "a note")
        refused(Code.RATE_LIMITED, lambda: house.agent.propose(session, [delta(goal__x=1)]))


def test_what_a_tool_gave_back_counts_for_who_had_it_called_and_is_recorded_all_the_same() -> None:
    given = policy(constraints=rules(all=ALLOW_ALL).constraints, limits={"ledger_bytes_per_hour": 50_000})
    with ToolWorld(policy=given) as house:
        house.toolbox.add("big", lambda: "y" * 100_000, network=False)
        session = house.session()
        answer = house.agent.propose(session, [tool_call("big", house.token(session))])
        assert answer.results[0].status == "ok"
        error = refused(Code.RATE_LIMITED, lambda: house.agent.propose(session, [delta(goal__x=1)]))
        assert error.details is not None
        assert error.details["reason"] == "ledger_bytes_per_hour"


def test_who_has_written_enough_still_reports_what_came_of_a_call() -> None:
    """What is reported of a call that there is not is refused for that, and on record."""
    with World(policy=limited(ledger_bytes_per_hour=1_000)) as house:
        session = house.session()
        house.agent.eliminate(session, **said("y" * 2_000))
        refused(Code.RATE_LIMITED, lambda: house.agent.eliminate(session, **said("y")))
        event = house.submit(session, RecordOutcome(call_id="call", status="ok"), AGENT).event
        assert isinstance(event, Refused)
        assert event.code is Code.NOT_FOUND


# -- detectors -----------------------------------------------------------------------------------------


def test_hanging_questions_about_one_principal_leave_places_for_others() -> None:
    let_go = threading.Event()

    def hangs(texts: threats.Texts, *_: Any) -> Threat:
        if texts[0][1] == "hang":
            let_go.wait(60)
        return Threat(detector="slow@1")

    async def run() -> None:
        finder, rules = ThreatFinder(hangs), AdversarialPolicy(timeout_ms=60_000)
        hanging = [
            asyncio.ensure_future(finder.threats([("$", "hang")], 0, (), rules, "agent://greedy"))
            for _ in range(2 * MAX_RUNNING)
        ]
        async with asyncio.timeout(SOON):
            while sum(one.done() for one in hanging) < 2 * MAX_RUNNING - MAX_OWN:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        done = [one for one in hanging if one.done()]
        told = {one.result()[0].failed for one in done}
        assert told == {f"{MAX_OWN} earlier questions about this principal hang"}
        assert len(done) == 2 * MAX_RUNNING - MAX_OWN
        (honest,) = await finder.threats([("$", "x")], 0, (), rules, "agent://honest")
        assert honest.failed is None
        let_go.set()
        await asyncio.gather(*hanging)
        (again,) = await finder.threats([("$", "x")], 0, (), rules, "agent://greedy")
        assert again.failed is None
        assert not finder._by_asker

    asyncio.run(run())


def test_who_waits_behind_others_has_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The built-in detector takes one question at a time; those before do not use up the time of the next."""
    let_go = threading.Event()

    def slow(texts: threats.Texts, *_: Any) -> Threat:
        if texts[0][1].startswith("first"):
            let_go.wait(60)
        return Threat(detector="slow@1")

    async def run() -> None:
        finder, rules = ThreatFinder(), AdversarialPolicy(timeout_ms=1_000)
        texts = [[("$", f"{name} {'x' * 5_000}")] for name in ("first", "second")]
        first, second = (
            asyncio.ensure_future(finder.threats(one, 0, (), rules, f"agent://{at}"))
            for at, one in enumerate(texts)
        )
        (given_up,) = await first
        assert given_up.failed == "no answer within 1000 ms"
        done, _ = await asyncio.wait([second], timeout=0.3)
        assert not done, "its time has only begun"
        let_go.set()
        (answered,) = await second
        assert answered.failed is None

    monkeypatch.setattr(threats, "assess", slow)
    asyncio.run(run())


# -- experiments ---------------------------------------------------------------------------------------

SPEC: dict[str, Any] = {
    "template": "threshold_check",
    "params": {"values": [2.0, 2.1, 1.9, 2.05, 1.95, 2.0], "threshold": 1.0, "direction": "above"},
}


def test_runs_under_way_are_bounded_per_principal_in_all_sessions() -> None:
    with World(policy=limited(running_experiments=2)) as house:
        for number in range(2):
            session = house.session()
            planned = house.agent.design_experiment(session, spec={"claim_id": f"c{number}", **SPEC})
            event = house.submit(session, StartRun(experiment_id=planned.experiment_id), AGENT).event
            assert isinstance(event, RunStarted)
        session = house.session()
        planned = house.agent.design_experiment(session, spec={"claim_id": "c", **SPEC})
        command = StartRun(experiment_id=planned.experiment_id)
        event = house.submit(session, command, AGENT).event
        assert isinstance(event, Refused)
        assert (event.code, event.details["reason"]) == (Code.RATE_LIMITED, "running_experiments")
        assert isinstance(house.submit(session, command, OTHER_AGENT).event, RunStarted)
        house.check(session)
