"""`ask`: into the inbox, confirmed by a person, judged again on what holds then, done once or not at all."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from beliefd.kernel.approvals.events import ApprovalDecided
from beliefd.kernel.approvals.outlook import ELSEWHERE
from beliefd.kernel.approvals.state import CallSubject
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.arbitration_policy import ArbitrationPolicy
from beliefd.kernel.substrate.events import Arbitrated, CallStarted, OutcomeRecorded
from beliefd.protocol.approvals import ApprovalCard, DecidedApproval
from beliefd.testing.world import AGENT, policy, refused
from tests.claims.support import claim, inbox_is_the_fold_of_all_ledgers
from tests.substrate.conftest import Build
from tests.substrate.support import (
    ALLOW_ALL,
    ToolWorld,
    allow,
    codes,
    delta,
    deny,
    one,
    remove,
    rules,
    tool_call,
    when,
    with_tools,
)

FIRST = ArbitrationPolicy(failures="first")
SOURCE = deny("email.send", when=when("missing", "fact.source_ref"), on_fail="ask", reason="no source")
ASKS = rules(all=ALLOW_ALL, requires_source=SOURCE)


def ask(house: ToolWorld, session: str, token: str, key: str = "k", **args: Any) -> ApprovalCard:
    """A call that somebody must confirm."""
    answer = one(house.agent.propose(session, [tool_call("email.send", token, key, **{"to": "ana", **args})]))
    assert (answer.verdict, answer.on_fail, answer.status) == ("defer", "ask", None)
    assert answer.approval_id is not None
    card = house.ann.show_approval(answer.approval_id)
    assert card.content_hash == answer.content_hash
    return card


def confirmed(decided: DecidedApproval) -> Any:
    assert decided.call is not None
    return decided.call


@pytest.fixture
def asking(build: Build) -> ToolWorld:
    return build(policy=ASKS)


def test_an_asked_for_call_is_confirmed_in_the_inbox_judged_again_and_run_once(asking: ToolWorld) -> None:
    session = asking.session()
    card = ask(asking, session, asking.token(session))
    assert asking.toolbox.count == 0
    assert [one.approval_id for one in asking.ann.list_approvals().approvals] == [card.approval_id]
    assert (card.gate, card.tier, card.reason, card.claims) == ("constraints", "MODIFY", "no source", [])
    assert isinstance(card.subject, CallSubject)
    assert card.subject.candidate is not None
    assert (card.subject.candidate.tool_id, card.subject.candidate.args) == ("email.send", {"to": "ana"})
    assert card.allowed_decisions == ["APPROVED", "REJECTED"]
    assert "the rules are asked again" in card.on_approval
    assert card.on_approval.endswith("it happens")

    decided = asking.ann.approve(card)
    result = confirmed(decided)
    assert (decided.status, result.verdict, result.status, result.result) == (
        "approved",
        "allow",
        "ok",
        "sent",
    )
    assert asking.toolbox.ran == [("email.send", {"to": "ana"})]
    assert asking.ann.list_approvals().approvals == []
    asked, yes, began, outcome = asking.deltas(session)[-4:]
    assert isinstance(began, CallStarted)
    assert isinstance(asked, Arbitrated)
    assert isinstance(yes, ApprovalDecided)
    assert isinstance(outcome, OutcomeRecorded)
    assert yes.result is not None
    assert yes.result.call is not None
    assert yes.result.call.agent_id == AGENT.id, "it is the agent's call, whoever confirmed it"
    asking.check(session)
    inbox_is_the_fold_of_all_ledgers(asking)


def test_a_confirmation_is_good_once(asking: ToolWorld) -> None:
    session = asking.session()
    card = ask(asking, session, asking.token(session))
    asking.ann.approve(card)
    for act in (asking.ann.approve, asking.bob.approve, asking.ann.reject, asking.bob.reject):
        refused(Code.CONFLICT, partial(act, card))
    assert asking.toolbox.count == 1
    asking.check(session)


def test_a_confirmation_sent_again_runs_nothing_again(asking: ToolWorld) -> None:
    session = asking.session()
    card = ask(asking, session, asking.token(session))
    first = asking.ann.approve(card, idempotency_key="yes-1")
    again = asking.ann.approve(card, idempotency_key="yes-1")
    assert confirmed(again).result == confirmed(first).result == "sent"
    assert asking.toolbox.count == 1


def test_a_confirmation_is_for_what_was_looked_at(asking: ToolWorld) -> None:
    session = asking.session()
    token = asking.token(session)
    card, other = ask(asking, session, token), ask(asking, session, token, "k2", to="bob")
    assert card.content_hash != other.content_hash
    for wrong in (other.content_hash, "", "0" * 64):
        act = partial(asking.ann.decide_approval, card.approval_id, "APPROVED", content_hash=wrong)
        refused(Code.CONFLICT if wrong else Code.INVALID_REQUEST, act)
    assert asking.toolbox.count == 0
    asking.check(session)


def test_what_a_question_binds_changes_with_arguments_tool_policy_and_snapshot(build: Build) -> None:
    house = build(policy=ASKS)
    session = house.session()
    token = house.token(session)
    seen = {ask(house, session, token).content_hash}
    seen.add(ask(house, session, token, to="bob").content_hash)
    house.agent.propose(session, [delta(goal__x=1)])
    seen.add(ask(house, session, token).content_hash)
    house.steward.in_force.adopt(rules(all=ALLOW_ALL, requires_source=SOURCE, more=deny("nobody")))
    seen.add(ask(house, session, token).content_hash)
    house.toolbox.registry._tools.pop("email.send")
    house.toolbox.add("email.send", lambda to: "sent", mutates=True, tier="MODIFY", description="other")
    seen.add(ask(house, session, token).content_hash)
    assert len(seen) == 5


def test_who_proposed_it_a_program_and_who_may_not_decide_confirm_nothing(asking: ToolWorld) -> None:
    session = asking.session()
    card = ask(asking, session, asking.token(session))
    for person in (asking.agent, asking.helper, asking.encoder):
        refused(Code.FORBIDDEN, partial(person.approve, card))
    assert asking.toolbox.count == 0


def test_an_edit_is_a_new_proposal(asking: ToolWorld) -> None:
    session = asking.session()
    card = ask(asking, session, asking.token(session))
    refused(Code.FORBIDDEN, lambda: asking.ann.modify(card, claim()))
    assert asking.ann.show_approval(card.approval_id).status == "pending"
    assert asking.toolbox.count == 0
    asking.check(session)


def test_what_is_rejected_withdrawn_or_expired_never_runs(asking: ToolWorld) -> None:
    session = asking.session()
    token = asking.token(session)
    rejected, withdrawn, expired = (ask(asking, session, token, key) for key in ("a", "b", "c"))
    asking.ann.reject(rejected, reason="no")
    asking.agent.withdraw_approval(withdrawn.approval_id)
    asking.clock.advance(8 * 24 * 3600)
    assert asking.expire() == 1
    for card in (rejected, withdrawn, expired):
        refused(Code.CONFLICT, partial(asking.ann.approve, card))
    statuses = [asking.ann.show_approval(card.approval_id).status for card in (rejected, withdrawn, expired)]
    assert statuses == ["rejected", "withdrawn", "timed_out"]
    assert asking.toolbox.count == 0
    asking.check(session)
    inbox_is_the_fold_of_all_ledgers(asking)


def test_a_yes_after_its_time_is_no_yes(asking: ToolWorld) -> None:
    session = asking.session()
    card = ask(asking, session, asking.token(session))
    asking.clock.advance(7 * 24 * 3600)
    refused(Code.CONFLICT, lambda: asking.ann.approve(card))
    assert asking.toolbox.count == 0


def test_several_people_must_agree_where_the_policy_says_so(build: Build) -> None:
    two = {"approvers": {"MODIFY": {"required": 2}}}
    house = build(policy=policy(constraints=ASKS.constraints, approvals=two))
    session = house.session()
    card = ask(house, session, house.token(session))
    assert house.ann.approve(card).call is None
    assert house.toolbox.count == 0
    refused(Code.CONFLICT, lambda: house.ann.approve(card))
    assert confirmed(house.bob.approve(card)).result == "sent"
    assert house.toolbox.count == 1
    house.check(session)


# -- judged again ---------------------------------------------------------------------------------------


def adopt(rules: Policy) -> Any:
    return lambda house, *_: house.steward.in_force.adopt(rules)


def revoke(house: ToolWorld, session: str, token: str) -> None:
    house.root.revoke_capability(f"{session}/{token.partition('.')[0]}")


def change_tool(house: ToolWorld, *_: Any) -> None:
    house.toolbox.registry._tools.pop("email.send")
    house.toolbox.add("email.send", lambda to: "sent elsewhere", mutates=True, tier="MODIFY", description="x")


def write(*candidates: dict[str, Any]) -> Any:
    return lambda house, session, _: house.encoder.propose(session, list(candidates))


STOP = deny("email.send", when=when("exists", "fact.stop"))
MEANWHILE: dict[str, tuple[Any, str]] = {
    "a policy that denies it": (adopt(rules(all=ALLOW_ALL, a=deny("email.send"))), "DENIED"),
    "a policy that allows nothing": (adopt(rules(requires_source=SOURCE)), "NO_ALLOW"),
    "a policy that defers it": (
        adopt(rules(all=ALLOW_ALL, requires_source=SOURCE, a=deny("email.send", on_fail="defer"))),
        "DENIED",
    ),
    "a policy that cannot be read": (adopt(rules(all=ALLOW_ALL, a={"v": 2})), "MALFORMED_CONSTRAINT"),
    "a policy with a schema it does not fit": (
        adopt(with_tools(ASKS, email__send={"schema": {"required": ["subject"]}})),
        "BAD_ARGUMENTS",
    ),
    "a revoked capability": (revoke, "BAD_CAPABILITY"),
    "an expired capability": (lambda house, *_: house.clock.advance(3601), "BAD_CAPABILITY"),
    "another tool under its name": (change_tool, "TOOL_CHANGED"),
    "no tool under its name": (
        lambda house, *_: house.toolbox.registry._tools.pop("email.send"),
        "UNKNOWN_TOOL",
    ),
}


@pytest.mark.parametrize(("meanwhile", "code"), MEANWHILE.values(), ids=MEANWHILE.keys())
def test_a_confirmed_call_is_judged_by_what_holds_when_it_is_confirmed(
    asking: ToolWorld, meanwhile: Any, code: str
) -> None:
    session = asking.session()
    token = asking.token(session)
    card = ask(asking, session, token)
    meanwhile(asking, session, token)
    error = in_vain(asking, session, card)
    assert (error.details or {})["reasons"][0] == code
    assert asking.toolbox.count == 0
    asking.check(session)


def in_vain(house: ToolWorld, session: str, card: ApprovalCard) -> BeliefdError:
    """A yes that would lead to nothing: the card says so before, it is not used up, and a no still counts."""
    warned = house.ann.show_approval(card.approval_id)
    before = house.hash(session)
    error = refused(Code.CONFLICT, lambda: house.ann.approve(card))
    assert house.hash(session) == before
    assert warned.cannot_run is not None
    why = warned.cannot_run.removeprefix("cannot run now: ").removesuffix(ELSEWHERE)
    assert why in error.message
    assert why in warned.on_approval
    assert house.ann.show_approval(card.approval_id).status == "pending"
    return error


def test_a_confirmed_call_is_judged_on_the_state_of_that_moment(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL, requires_source=SOURCE, stop=STOP))
    session = house.session()
    token = house.token(session)
    stopped, later = ask(house, session, token, "a"), ask(house, session, token, "b")
    house.encoder.propose(session, [delta(fact__stop=1)])
    in_vain(house, session, stopped)
    house.encoder.propose(session, [remove("fact.stop"), delta(fact__source_ref="doc-1")])
    assert confirmed(house.ann.approve(later)).status == "ok", "with a source nobody need have been asked"
    assert house.toolbox.count == 1
    house.check(session)


def test_budgets_are_counted_when_it_is_confirmed(asking: ToolWorld) -> None:
    session = asking.session()
    token = asking.token(session, budgets={"calls": 1})
    first, second = ask(asking, session, token, "a"), ask(asking, session, token, "b")
    assert confirmed(asking.ann.approve(first)).status == "ok"
    assert (in_vain(asking, session, second).details or {})["reasons"] == ["BUDGET_EXHAUSTED"]
    assert asking.toolbox.count == 1
    asking.check(session)


def test_a_question_asked_twice_under_one_key_runs_once(asking: ToolWorld) -> None:
    session = asking.session()
    token = asking.token(session)
    first, second = ask(asking, session, token, "k"), ask(asking, session, token, "k")
    assert confirmed(asking.ann.approve(first)).reason_code == "ALLOWED"
    repeated = confirmed(asking.ann.approve(second))
    assert (repeated.reason_code, repeated.result) == ("REPEATED", "sent")
    assert asking.toolbox.count == 1
    asking.check(session)


def test_a_yes_answers_only_what_was_asked(asking: ToolWorld) -> None:
    """A constraint that asks only now, or asks something else under the same name, asks a person again."""
    session = asking.session()
    token = asking.token(session)
    new = deny("email.send", when=when("missing", "fact.consent"), on_fail="ask", reason="no consent")
    changed = {**SOURCE, "reason": "no source, and it matters now"}
    for number, more in enumerate(
        ({"requires_source": SOURCE, "consent": new}, {"requires_source": changed})
    ):
        asking.steward.in_force.adopt(ASKS)
        card = ask(asking, session, token, f"k{number}")
        asking.steward.in_force.adopt(rules(all=ALLOW_ALL, **more))
        decided = asking.ann.approve(card)
        result = confirmed(decided)
        assert (result.verdict, result.on_fail) == ("defer", "ask")
        assert result.approval_id is not None
        assert decided.approval.successor == result.approval_id
        assert asking.toolbox.count == number
        again = asking.ann.show_approval(result.approval_id)
        assert isinstance(again.subject, CallSubject)
        assert isinstance(card.subject, CallSubject)
        assert again.subject.candidate == card.subject.candidate
        assert again.proposers == [AGENT.id]
        assert confirmed(asking.bob.approve(again)).status == "ok"
    asking.check(session)
    inbox_is_the_fold_of_all_ledgers(asking)


def test_a_yes_stands_for_an_allow_that_asks_but_not_for_an_allow_that_is_missing(build: Build) -> None:
    conditional = allow("email.send", when=when("exists", "fact.source_ref"), on_fail="ask")
    house = build(policy=rules(allowed=conditional))
    session = house.session()
    token = house.token(session)
    assert confirmed(house.ann.approve(ask(house, session, token))).status == "ok"
    house.steward.in_force.adopt(rules(requires_source=SOURCE))
    answer = one(house.agent.propose(session, [tool_call("email.send", token, "k2", to="ana")]))
    assert (answer.verdict, answer.on_fail, answer.approval_id) == ("deny", "block", None)
    assert codes(answer) == ["NO_ALLOW", "DENIED"]
    house.steward.in_force.adopt(replace(rules(requires_source=SOURCE), arbitration=FIRST))
    card = ask(house, session, token, "k3")
    assert (in_vain(house, session, card).details or {})["reasons"] == ["NO_ALLOW"]
    assert house.toolbox.count == 1
    house.check(session)


def test_rules_can_tell_that_a_call_is_confirmed(build: Build) -> None:
    twice = deny("email.send", when=when("eq", "call.confirmed", False), on_fail="ask")
    house = build(policy=rules(all=ALLOW_ALL, twice=twice))
    session = house.session()
    card = ask(house, session, house.token(session))
    assert confirmed(house.ann.approve(card)).status == "ok"


def test_questions_outlive_the_server_and_snapshots_restore_them(tmp_path: Path) -> None:
    house = ToolWorld(tmp_path / "b.db", ASKS)
    session = house.session()
    token = house.token(session)
    card = ask(house, session, token)
    entry = {"memory_id": "m", "kind": "hypothesis", "value": {"x": [1]}, "confidence": 0.2, "ttl_ms": 10**9}
    house.agent.remember(session, entry)
    number = 0
    while not house.run(lambda: house.store.saved_state(session)):
        number += 1
        house.agent.propose(session, [delta(goal__n=number), tool_call("note.read", token)])
    hashed = house.hash(session)
    house = house.restarted()
    assert house.run(lambda: house.store.saved_state(session)) is not None
    assert house.hash(session) == hashed
    assert house.agent.list_memory(session).entries[0].entry.value == {"x": [1]}
    assert confirmed(house.ann.approve(card)).result == "sent"
    assert [name for name, _ in house.toolbox.ran].count("email.send") == 1
    house.check(session)
    house.close()


def test_an_imported_ledger_brings_its_questions_along(build: Build) -> None:
    house = build(policy=ASKS)
    session = house.session()
    card = ask(house, session, house.token(session))
    elsewhere = build(policy=ASKS)
    elsewhere.root.import_ledger(house.agent.export(session))
    assert elsewhere.ann.show_approval(card.approval_id).content_hash == card.content_hash
    assert elsewhere.hash(session) == house.hash(session)
    elsewhere.check(session)
