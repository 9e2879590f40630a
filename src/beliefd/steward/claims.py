"""Handlers of the claim operations: bundles, the inbox, grants, evidence content, policy."""

import hashlib
import re
from typing import Any

import msgspec

from beliefd.kernel.approvals.commands import DecideApproval, GiveGrant, RevokeGrant, WithdrawApproval
from beliefd.kernel.approvals.events import ApprovalClosed, ApprovalDecided, GrantGiven, GrantRevoked
from beliefd.kernel.approvals.state import Approval, required_approvals
from beliefd.kernel.claims.bundle import Claim, ClaimBundle, SpeltTwice, filled, snake_keys, spelt_twice
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.claims.events import BundleGated, Gated
from beliefd.kernel.claims.gates import caveats, run_gates
from beliefd.kernel.claims.judging import gate_input, gated
from beliefd.kernel.claims.measured import as_measured
from beliefd.kernel.commands import Command
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.facts import Facts
from beliefd.kernel.intents.state import Change
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.values import Principal
from beliefd.ledger.envelope import command_of, read
from beliefd.ledger.replay import Position
from beliefd.protocol.approvals import ApprovalCard, DecidedApproval, GrantAnswer, Grants, Inbox
from beliefd.protocol.claims import BundlePage, JudgedBundle, StoredContent, SubmittedBundle, judged
from beliefd.protocol.intents import intent_view
from beliefd.protocol.policy import PolicyAnswer
from beliefd.protocol.wire import bind, convert
from beliefd.steward.call import Call
from beliefd.steward.expiry import expire_due
from beliefd.steward.handle import Outcome, Steward, refusal
from beliefd.steward.inbox import DONE, RUNNING
from beliefd.steward.lookout import Aside
from beliefd.steward.measuring import with_standings
from beliefd.steward.policies import bring_into_force
from beliefd.steward.verdicts import candidate_answer

_IN_FIELD = re.compile(r"in field `([^`]+)`$")


def read_bundle(body: Any) -> ClaimBundle:
    """A bundle from parsed JSON, in either spelling of its keys; most are spelt as the contract does."""
    try:
        return msgspec.convert(body, ClaimBundle)
    except msgspec.ValidationError:
        return convert(_snake(body), ClaimBundle)


def read_submission(body: Any) -> SubmitClaims:
    """A bundle as the contract has it, and apart from it the raw answers that came with its claims."""
    if not _is_sampled(body):
        return SubmitClaims(bundle=read_bundle(body))
    sent = convert(_snake(body), SubmittedBundle)
    try:
        return SubmitClaims(bundle=sent.bundle, samples=sent.samples)
    except ValueError as error:  # what only the contract's own bundle refuses, such as one id for two claims
        named = _IN_FIELD.search(str(error))
        raise invalid(str(error), "$" if named is None else f"$.{named[1]}") from None


def _is_sampled(body: Any) -> bool:
    claims = body.get("claims") if isinstance(body, dict) else None
    if not isinstance(claims, list):
        return False
    told = (claim.get("uncertainty") for claim in claims if isinstance(claim, dict))
    return any(isinstance(one, dict) and "samples" in one for one in told)


def _snake(body: Any) -> Any:
    try:
        return snake_keys(body)
    except SpeltTwice:
        raise invalid("given in both snake_case and kebab-case; keep one", spelt_twice(body)) from None


async def submit_claims(steward: Steward, call: Call) -> JudgedBundle:
    outcome = await submitted(steward, call.session_id, read_submission(call.body), call)
    assert isinstance(outcome.event, BundleGated)  # noqa: S101 - what is not refused was gated
    return judged(outcome.event.gated, outcome.head.event_id)


async def check_claims(steward: Steward, call: Call) -> JudgedBundle:
    return await check_bundle(steward, read_submission(call.body), call.principal, call.origin)


async def check_bundle(
    steward: Steward, command: SubmitClaims, principal: Principal, origin: str | None = None
) -> JudgedBundle:
    """Run the gates as a submission would, and write nothing."""
    examined = await steward.lookout.examine(command.bundle, None, principal.id, steward.policy, 0, origin)
    found = await with_standings(examined, command)
    facts = Facts(
        now=steward.outside.now(),
        event_id=steward.outside.new_id(),
        principal=principal,
        policy=steward.policy,
        policy_hash=steward.policy_hash,
        findings=found,
    )
    complete = as_measured(filled(command.bundle, facts.event_id, facts.now), found)
    chain = run_gates(gate_input(complete, principal, facts, None))
    answer = judged(gated(chain, complete, facts, (principal.id,), principal), None)
    return JudgedBundle(**{**_fields(answer), "approval_id": None})


async def list_claims(steward: Steward, call: Call) -> BundlePage:
    position = await steward.positions.existing(call.session_id)
    cursor, limit = call.query["cursor"], call.query["limit"]
    names = sorted(name for name in position.session.claims.bundles if cursor is None or name > cursor)
    shown = [await _bundle(steward, position, name) for name in names[:limit]]
    return BundlePage(claims=shown, next=names[limit - 1] if len(names) > limit else None)


async def show_claims(steward: Steward, call: Call) -> JudgedBundle:
    position = await steward.positions.existing(call.session_id)
    return await _bundle(steward, position, call.path["bundle_id"])


async def list_approvals(steward: Steward, call: Call) -> Inbox:
    cursor, limit = call.query["cursor"], call.query["limit"]
    await expire_due(steward)
    rows = await steward.store.inbox(call.query["status"], cursor, limit + 1)
    cards = []
    for row in rows[:limit]:
        position = await steward.positions.existing(row.session_id)
        # Somebody may have decided since the rows were read: what is settled is not shown as waiting.
        if position.session.approvals.by_id[row.approval_id].status == row.status:
            cards.append(await _card(steward, position, row.approval_id))
    return Inbox(approvals=cards, next=rows[limit - 1].approval_id if len(rows) > limit else None)


async def show_approval(steward: Steward, call: Call) -> ApprovalCard:
    position = await _holding(steward, call.path["approval_id"])
    return await _card(steward, position, call.path["approval_id"])


async def decide_approval(steward: Steward, call: Call) -> DecidedApproval:
    position = await _holding(steward, call.path["approval_id"])
    command = convert(bind(_snake(call.body), call.path), DecideApproval)
    try:
        outcome = await submitted(steward, position.session.session_id, command, call)
    except BeliefdError as error:
        raise await _with_first_decision(steward, position, command.approval_id, error) from None
    event = outcome.event
    assert isinstance(event, ApprovalDecided)  # noqa: S101 - what is not refused was decided
    resumed = None if event.gated is None else judged(event.gated, outcome.head.event_id)
    after = Position(outcome.session, outcome.head)
    return DecidedApproval(
        approval_id=event.approval_id,
        status=event.approval.status,
        decision=event.decision,
        outcome=None if resumed is None else resumed.decision,
        bundle=resumed,
        call=None if event.result is None else await candidate_answer(steward, outcome, event.result),
        intent=intent_view(event.intents[0]) if event.intents else None,
        approval=await _card(steward, after, event.approval_id),
        audit_event_id=outcome.head.event_id,
    )


async def _with_first_decision(
    steward: Steward, position: Position, approval_id: str, error: BeliefdError
) -> BeliefdError:
    """A head that has moved says little to the second of two people; what the first decided says all."""
    if (error.details or {}).get("path") != "If-Match":
        return error
    session = (await steward.positions.existing(position.session.session_id)).session
    approval: Approval = session.approvals.by_id[approval_id]
    found = {"status": approval.status, "decided_by": approval.decided_by, "successor": approval.successor}
    return BeliefdError(error.code, error.message, {**(error.details or {}), **found})


async def withdraw_approval(steward: Steward, call: Call) -> ApprovalCard:
    position = await _holding(steward, call.path["approval_id"])
    command = convert(bind(call.body, call.path), WithdrawApproval)
    outcome = await submitted(steward, position.session.session_id, command, call)
    return await _card(steward, Position(outcome.session, outcome.head), command.approval_id)


async def give_grant(steward: Steward, call: Call) -> GrantAnswer:
    return await _grant(steward, call, convert(bind(call.body, call.path), GiveGrant))


async def revoke_grant(steward: Steward, call: Call) -> GrantAnswer:
    return await _grant(steward, call, RevokeGrant(grant_id=call.path["grant_id"]))


async def list_grants(steward: Steward, call: Call) -> Grants:
    session = (await steward.positions.existing(call.session_id)).session
    return Grants(grants=[session.approvals.grants[name] for name in sorted(session.approvals.grants)])


async def store_content(steward: Steward, call: Call) -> StoredContent:
    if not call.body:
        raise invalid("the body is empty; send the evidence itself", "$")
    name = hashlib.sha256(call.body).hexdigest()
    await steward.store.put_content(name, call.body)
    return StoredContent(sha256=name, size=len(call.body))


async def show_policy(steward: Steward, _: Call) -> PolicyAnswer:
    origin = steward.policy_origin
    return PolicyAnswer(
        policy_hash=steward.policy_hash,
        policy=steward.policy,
        source=origin.source,
        adopted_at=origin.adopted_at,
        adopted_by=origin.adopted_by,
    )


async def adopt_policy(steward: Steward, call: Call) -> PolicyAnswer:
    await bring_into_force(steward, convert(call.body, Policy), call.principal)
    return await show_policy(steward, call)


async def _grant(steward: Steward, call: Call, command: Command) -> GrantAnswer:
    outcome = await submitted(steward, call.session_id, command, call)
    assert isinstance(outcome.event, GrantGiven | GrantRevoked)  # noqa: S101
    return GrantAnswer(grant=outcome.event.grant, audit_event_id=outcome.head.event_id)


async def submitted(
    steward: Steward, session_id: str, command: Command, call: Call, aside: Aside | None = None
) -> Outcome:
    """Submit on a caller's behalf; a refusal is raised as the error it names."""
    outcome = await steward.submit(
        session_id,
        command,
        call.principal,
        if_match=call.if_match,
        key=call.key,
        aside=aside or Aside(call.origin),
    )
    if (refused := refusal(outcome)) is not None:
        raise refused
    return outcome


async def _holding(steward: Steward, approval_id: str) -> Position:
    """The session that an approval belongs to."""
    row = await steward.store.inbox_row(approval_id)
    if row is None or row.status in (RUNNING, DONE):
        raise BeliefdError(
            Code.APPROVAL_NOT_FOUND, f"no approval `{approval_id[:64]}`", {"path": "approval_id"}
        )
    return await steward.positions.existing(row.session_id)


async def _bundle(steward: Steward, position: Position, bundle_id: str) -> JudgedBundle:
    """A bundle as the event that last judged it holds it."""
    state = position.session.claims.bundles.get(bundle_id)
    if state is None:
        raise BeliefdError(Code.BUNDLE_NOT_FOUND, f"no bundle `{bundle_id[:64]}`", {"path": "bundle_id"})
    judgement = await _judgement(steward, position.session.session_id, state.event_id, bundle_id)
    approval = position.session.approvals.by_id.get(state.approval_id) if state.approval_id else None
    answer = judged(judgement, state.event_id)
    waits = approval is not None and approval.status == "pending"
    return JudgedBundle(**{**_fields(answer), "approval_id": state.approval_id if waits else None})


async def _judgement(steward: Steward, session_id: str, event_id: str, bundle_id: str) -> Gated:
    seq = await steward.store.seq_of(session_id, event_id)
    entries = await steward.store.entries(session_id, (seq or 1) - 1, 1)
    event = read(entries[0].record).delta
    if isinstance(event, BundleGated | ApprovalDecided) and event.gated is not None:
        if event.gated.bundle.id == bundle_id:
            return event.gated
        assert isinstance(event, ApprovalDecided)  # noqa: S101 - only an edit judges two bundles at once
        assert event.replaced is not None  # noqa: S101
        return _closed_bundle(event.approval, event.replaced)
    assert isinstance(event, ApprovalClosed)  # noqa: S101 - no other event holds a bundle
    assert event.bundle is not None  # noqa: S101
    return _closed_bundle(event.approval, event.bundle)


def _closed_bundle(approval: Approval, bundle: ClaimBundle) -> Gated:
    return Gated(
        bundle=bundle,
        content_hash=approval.content_hash,
        results=approval.results,
        caveats=caveats(approval.results, bundle.decision == "PUBLISH"),
    )


async def _card(steward: Steward, position: Position, approval_id: str) -> ApprovalCard:
    session = position.session
    approval: Approval = session.approvals.by_id[approval_id]
    rule = approval.rule
    return ApprovalCard(
        approval_id=approval.approval_id,
        session_id=session.session_id,
        bundle_id=approval.bundle_id,
        status=approval.status,
        gate=approval.gate,
        tier=approval.tier,
        reason=approval.reason,
        content_hash=approval.content_hash,
        claims=await _claims(steward, session, approval),
        call=approval.call,
        patch=None if approval.delta is None else approval.delta.patch,
        change=_change(session, approval),
        intent_id=approval.intent_id,
        gates=list(approval.results),
        proposers=list(approval.proposers),
        required_approvals=list(required_approvals(rule)),
        required=rule.required,
        allowed_decisions=list(approval.allowed),
        approvals=[*approval.earlier, *approval.approvals],
        decided_by=approval.decided_by,
        on_approval=_on_approval(approval),
        opened_at=approval.opened_at,
        expires_at=approval.expires_at,
        overdue=approval.overdue,
        successor=approval.successor,
        audit_head_event_id=position.head.event_id,
    )


async def _claims(steward: Steward, session: Session, approval: Approval) -> list[Claim]:
    """What the approval is about: from the state while it is open, from the ledger afterwards."""
    if approval.bundle is not None:
        return list(approval.bundle.claims)
    if not approval.bundle_id:
        return []
    seq = await steward.store.seq_of(session.session_id, approval.approval_id.removeprefix("apr-"))
    entries = await steward.store.entries(session.session_id, (seq or 1) - 1, 1)
    entry = read(entries[0].record)
    event = entry.delta
    if isinstance(event, BundleGated | ApprovalDecided) and event.gated is not None:
        return list(event.gated.bundle.claims)
    if isinstance(event, ApprovalClosed) and event.bundle is not None:
        return list(event.bundle.claims)
    command = command_of(entry)
    return list(command.bundle.claims) if isinstance(command, SubmitClaims) else []


def _change(session: Session, approval: Approval) -> Change | None:
    intent = session.intents.by_id.get(approval.intent_id)
    return None if intent is None else intent.change


def _on_approval(approval: Approval) -> str:
    if approval.status != "pending":
        return "nothing: it is not waiting any more"
    missing = approval.rule.required - len(approval.approvals)
    if missing > 1:
        return f"{missing - 1} more approvals are needed, then all gates are asked again"
    if approval.change is not None:
        return "its evidence is weighed again at that moment; if it still warrants the change, it is made"
    if approval.candidate is not None:
        return (
            "it is arbitrated again on the state and policy of that moment; if nothing else fails, it happens"
        )
    return "all gates are asked again under today's policy; unless one refuses, the bundle is published"


def _fields(answer: JudgedBundle) -> dict[str, Any]:
    return {name: getattr(answer, name) for name in answer.__struct_fields__}
