"""Approvals outlast what happens around them: restarts, races, retries, moves to another store."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from beliefd.embedded import AsyncEmbedded
from beliefd.kernel.approvals.events import ApprovalDecided
from beliefd.kernel.claims.events import BundleGated
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.ledger.envelope import read
from beliefd.ledger.state_hash import STATE_HASH_EVERY, state_hash
from beliefd.protocol.approvals import DecidedApproval
from beliefd.protocol.claims import JudgedBundle
from beliefd.stores.base import Append
from beliefd.stores.projections import InboxRow
from beliefd.stores.within import Within
from beliefd.testing.frozen import Clock
from beliefd.testing.world import AGENT, ROOT, World, policy, refused
from tests.claims.conftest import Build
from tests.claims.support import bundle, bundle_of, claim, delete, inbox_is_the_fold_of_all_ledgers


def publications(house: World, session: str, bundle_id: str) -> int:
    """How often a bundle got out, by the ledger."""
    found = 0
    for sealed in house.run(lambda: house.store.entries(session)):
        event = read(sealed.record).delta
        if isinstance(event, BundleGated | ApprovalDecided) and event.gated is not None:
            out = event.gated.bundle
            found += out.id == bundle_id and out.decision == "PUBLISH"
    return found


# -- restart ---------------------------------------------------------------------------------------


def test_what_waits_still_waits_after_a_restart_and_can_be_decided(tmp_path: Path) -> None:
    house = World(tmp_path / "beliefd.db")
    session = house.session()
    waiting, partly, noted = (
        house.agent.submit_claims(session, bundle(claim(tier))) for tier in ("DELETE", "PRIVILEGE", "MODIFY")
    )
    before = house.ann.list_approvals().approvals
    with house.restarted() as again:
        assert again.ann.list_approvals().approvals == before
        assert [card.approval_id for card in before] == [waiting.approval_id, partly.approval_id]
        (notice,) = again.ann.list_approvals(status="information").approvals
        assert bundle_of(notice) == noted.id
        assert again.ann.approve(waiting).outcome == "PUBLISH"
        inbox_is_the_fold_of_all_ledgers(again)
        with again.restarted() as third:
            (card,) = third.ann.list_approvals().approvals
            assert card.approval_id == partly.approval_id
            assert third.agent.show_claims(session, waiting.id).decision == "PUBLISH"
            refused(Code.CONFLICT, lambda: third.bob.approve(waiting))


def test_postgres_keeps_what_waits_too(postgres_url: str) -> None:
    house = World(postgres_url, policy(approvals={"otherwise": {"required": 2}, "expires_seconds": 60}))
    session = house.session()
    waiting, late = (house.agent.submit_claims(session, delete()) for _ in range(2))
    house.ann.approve(waiting)
    with house.restarted() as again:
        assert [card.approval_id for card in again.ann.list_approvals().approvals] == [
            waiting.approval_id,
            late.approval_id,
        ]
        assert again.bob.approve(waiting).outcome == "PUBLISH"
        again.clock.advance(60)
        assert again.expire() == 1
        assert again.agent.show_claims(session, late.id).decision == "REFUSE"
        assert again.agent.verify(session).ok
        inbox_is_the_fold_of_all_ledgers(again)


def test_the_first_of_two_words_outlasts_a_restart(tmp_path: Path) -> None:
    house = World(tmp_path / "beliefd.db", policy(approvals={"otherwise": {"required": 2}}))
    waiting = house.agent.submit_claims(house.session(), delete())
    house.ann.approve(waiting)
    with house.restarted() as again:
        refused(Code.CONFLICT, lambda: again.ann.approve(waiting))
        assert again.bob.approve(waiting).outcome == "PUBLISH"


def test_time_that_passed_while_nobody_ran_counts(tmp_path: Path) -> None:
    house = World(tmp_path / "beliefd.db", policy(approvals={"expires_seconds": 60}))
    waiting = house.agent.submit_claims(house.session(), delete())
    house.close()
    house.clock.advance(60)
    with house.restarted() as again:
        refused(Code.CONFLICT, lambda: again.ann.approve(waiting))
        assert again.expire() == 1


def test_approvals_and_grants_come_back_from_a_snapshot_as_they_were(tmp_path: Path) -> None:
    house = World(tmp_path / "beliefd.db", policy(security={"rate_limit": 1_000_000}))
    session = house.session()
    house.ann.give_grant(session, principal="agent://x", tiers=["MODIFY"], expires_in_seconds=60)
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE", "FACT", value=0.6)))
    while (length := len(house.run(lambda: house.store.entries(session)))) < STATE_HASH_EVERY + 5:
        house.agent.submit_claims(session, bundle(claim(["READ_ONLY", "MODIFY", "DELETE"][length % 3])))
    before = house.state(session)
    with house.restarted() as again:
        assert again.run(lambda: again.store.saved_state(session)) is not None
        after = again.state(session)
        assert state_hash(after) == state_hash(before)
        assert (after.claims, after.approvals) == (before.claims, before.approvals)
        assert again.ann.approve(waiting).outcome == "PUBLISH"
        assert again.agent.verify(session).ok


@pytest.mark.slow
def test_a_session_with_very_many_bundles_verifies(tmp_path: Path) -> None:
    """Past a thousand bundles state hashes are due less often; the verifier knows."""
    with World(policy=policy(security={"rate_limit": 1_000_000})) as house:
        session = house.session()
        for _ in range(1_300):
            house.agent.submit_claims(session, bundle())
        assert house.agent.verify(session).ok


# -- races -----------------------------------------------------------------------------------------


def at_once(*acts: Any) -> list[Any]:
    """Run acts in threads that start together; what they return or raise, in order."""
    ready = threading.Barrier(len(acts))

    def run(act: Any) -> Any:
        ready.wait()
        try:
            return act()
        except BeliefdError as error:
            return error

    with ThreadPoolExecutor(len(acts)) as threads:
        return list(threads.map(run, acts))


@pytest.mark.parametrize(
    "decisions", [("APPROVED", "APPROVED"), ("APPROVED", "REJECTED"), ("MODIFIED", "APPROVED")]
)
def test_of_two_people_at_once_one_wins_and_the_other_is_told_who(
    build: Build, decisions: tuple[str, str]
) -> None:
    house = build()
    session = house.session()
    for number in range(10):
        waiting = house.agent.submit_claims(session, delete())
        head = house.ann.show_approval(str(waiting.approval_id)).audit_head_event_id
        people = (house.ann, house.bob)

        if_match = head if number % 2 else None
        acts = [
            partial(
                person.decide,
                waiting,
                decision,
                claims=[claim("DELETE", statement="less")] if decision == "MODIFIED" else [],
                if_match=if_match,
            )
            for person, decision in zip(people, decisions, strict=True)
        ]
        results = at_once(*acts)
        (won,) = [one for one in results if isinstance(one, DecidedApproval)]
        (lost,) = [one for one in results if isinstance(one, BeliefdError)]
        winner = people[results.index(won)].principal.id
        assert lost.code is Code.CONFLICT
        assert (lost.details or {})["decided_by"] == winner
        assert won.approval.decided_by == winner
        assert publications(house, session, waiting.id) == (won.decision == "APPROVED")
    assert house.agent.verify(session).ok
    inbox_is_the_fold_of_all_ledgers(house)


def test_two_servers_on_one_file_decide_once(tmp_path: Path) -> None:
    path, clock = tmp_path / "beliefd.db", Clock()
    with World(path, clock=clock) as one, World(path, clock=clock) as two:
        session = one.session()
        for _ in range(5):
            waiting = one.agent.submit_claims(session, delete())
            results = at_once(partial(one.ann.approve, waiting), partial(two.bob.approve, waiting))
            (lost,) = [result for result in results if isinstance(result, BeliefdError)]
            assert lost.code is Code.CONFLICT
            assert publications(one, session, waiting.id) == 1
        assert one.ann.list_approvals().approvals == two.ann.list_approvals().approvals == []
        assert two.agent.verify(session).ok
        inbox_is_the_fold_of_all_ledgers(two)


def test_two_first_words_at_once_are_two_words(build: Build) -> None:
    house = build(policy=policy(approvals={"otherwise": {"required": 2}}))
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    results = at_once(lambda: house.ann.approve(waiting), lambda: house.bob.approve(waiting))
    assert sorted(str(result.outcome) for result in results) == ["None", "PUBLISH"]


def test_an_item_decided_while_the_inbox_is_read_is_not_listed_as_pending(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    kept = house.agent.submit_claims(session, delete())
    read_rows = house.store.inbox

    async def slow(
        status: str | None, after: str | None, limit: int, within: Within = None
    ) -> list[InboxRow]:
        rows = await read_rows(status, after, limit, within)
        if rows and rows[0].approval_id == waiting.approval_id:
            house.store.inbox = read_rows  # type: ignore[method-assign]
            await asyncio.to_thread(house.ann.approve, waiting)
        return rows

    house.store.inbox = slow  # type: ignore[method-assign]
    listed = house.bob.list_approvals().approvals
    assert [card.approval_id for card in listed] == [kept.approval_id]


# -- retries ---------------------------------------------------------------------------------------


def test_a_retried_submission_with_its_key_is_submitted_once(house: World) -> None:
    session = house.session()
    first = house.agent.submit_claims(session, delete(), idempotency_key="k")
    second = house.agent.submit_claims(session, delete(), idempotency_key="k")
    assert second == first
    assert len(house.ann.list_approvals().approvals) == 1
    # Even when it has been decided meanwhile, the answer is that of then.
    house.ann.approve(first)
    assert house.agent.submit_claims(session, delete(), idempotency_key="k") == first
    refused(Code.CONFLICT, lambda: house.agent.submit_claims(session, bundle(), idempotency_key="k"))
    assert publications(house, session, first.id) == 1


def test_a_retried_approval_with_its_key_has_one_effect(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    first = house.ann.approve(waiting, idempotency_key="k")
    length = len(house.run(lambda: house.store.entries(session)))
    second = house.ann.approve(waiting, idempotency_key="k")
    assert (second.outcome, second.bundle, second.audit_event_id) == (
        first.outcome,
        first.bundle,
        first.audit_event_id,
    )
    assert len(house.run(lambda: house.store.entries(session))) == length
    assert publications(house, session, waiting.id) == 1


def test_a_retried_approval_without_a_key_has_one_effect_too(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    house.ann.approve(waiting)
    for person in (house.ann, house.bob):
        refused(Code.CONFLICT, partial(person.approve, waiting))
    refused(Code.CONFLICT, lambda: house.agent.submit_claims(session, delete(id=waiting.id)))
    assert publications(house, session, waiting.id) == 1


def test_a_refused_word_stays_refused_under_its_key(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    for _ in range(2):
        refused(Code.FORBIDDEN, lambda: house.agent.approve(waiting, idempotency_key="k"))
    assert house.ann.approve(waiting, idempotency_key="k").outcome == "PUBLISH"


# -- another store ---------------------------------------------------------------------------------


def test_an_imported_ledger_brings_its_inbox(build: Build) -> None:
    house = build()
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    gone = house.agent.submit_claims(session, delete())
    house.ann.reject(gone)
    house.agent.submit_claims(session, bundle(claim("MODIFY")))
    exported = house.root.export(session)
    clock = Clock()
    clock._ids = 1_000
    elsewhere = build(clock=clock)
    elsewhere.root.import_ledger(exported)
    assert elsewhere.rows() == house.rows()
    (card,) = elsewhere.ann.list_approvals().approvals
    assert card.foreign is not None
    there = house.ann.show_approval(str(waiting.approval_id))
    assert card.proposers == [*there.proposers, ROOT.id], "who imported it does not decide it"
    here = elsewhere.ann.show_approval(card.approval_id)
    assert replace(here, foreign=None, proposers=there.proposers) == there
    assert elsewhere.ann.approve(card).outcome == "PUBLISH"
    assert elsewhere.agent.verify(session).ok
    inbox_is_the_fold_of_all_ledgers(elsewhere)


# -- policies and the ledger -----------------------------------------------------------------------


def test_a_policy_adopted_while_an_append_is_under_way_is_stored_with_what_it_decides(build: Build) -> None:
    house = build()
    session = house.session()
    stricter = policy(uncertainty={"explain_above": 0.1, "defer_above": 0.2})
    append = house.store.append

    async def interrupted(batch: Append) -> None:
        house.steward.in_force.adopt(stricter)
        await append(batch)

    house.store.append = interrupted  # type: ignore[method-assign]
    assert house.agent.submit_claims(session, bundle(claim(value=0.3))).decision == "PUBLISH"
    house.store.append = append  # type: ignore[method-assign]
    assert house.agent.submit_claims(session, bundle(claim(value=0.3))).decision == "DEFER"
    assert house.agent.verify(session).ok


def test_a_policy_adopted_while_a_detector_thinks_is_stored_too(build: Build) -> None:
    adopted: list[Policy] = []

    def thinking(*_: Any) -> Any:
        adopted.append(policy(adversarial={"defer_above": len(adopted) / 10}))
        house.steward.in_force.adopt(adopted[-1])
        return Threat(detector="thinking", score=0.15)

    house = build(detector=thinking)
    session = house.session()

    async def many() -> list[JudgedBundle]:
        agent = AsyncEmbedded(house.runtime, AGENT)
        return await asyncio.gather(*(agent.submit_claims(session, bundle()) for _ in range(6)))

    decisions = [answer.decision for answer in house.run(many)]
    assert "DEFER" in decisions
    assert "PUBLISH" in decisions
    assert house.agent.verify(session).ok
