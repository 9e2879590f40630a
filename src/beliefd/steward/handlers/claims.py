"""Handlers of claims."""

import asyncio
import re
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.approvals.events import ApprovalClosed, ApprovalDecided
from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.claims.actions import unknown_action
from beliefd.kernel.claims.bundle import ClaimBundle, SpeltTwice, filled, snake_keys, spelt_twice
from beliefd.kernel.claims.commands import RetractClaims, SubmitClaims
from beliefd.kernel.claims.ending import cannot_correct
from beliefd.kernel.claims.events import BundleGated, ClaimsRetracted, Gated
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.gates import caveats, run_gates
from beliefd.kernel.claims.judging import gate_input, gated
from beliefd.kernel.claims.measured import with_receipts
from beliefd.kernel.claims.resolving import unsaid
from beliefd.kernel.doors import speculation_in
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.facts import Facts
from beliefd.kernel.json_bounds import NEVER_CROWDED
from beliefd.kernel.measurements.state import Measurements
from beliefd.kernel.policy import Policy
from beliefd.kernel.strict_json import is_verbatim
from beliefd.kernel.values import Principal
from beliefd.ledger.replay import Position
from beliefd.protocol.afterwards import progress_of
from beliefd.protocol.claims import BundlePage, JudgedBundle, RetractedClaims, SubmittedBundle, judged
from beliefd.protocol.wire import bind, convert
from beliefd.steward.call import Call
from beliefd.steward.entries import entry_of
from beliefd.steward.environment import Environment
from beliefd.steward.facts.attachments import Attachments
from beliefd.steward.facts.finder import FactFinder
from beliefd.steward.facts.threats import is_long, refuse_too_long
from beliefd.steward.failures import not_found
from beliefd.steward.handlers.shared import page, page_filled, view_of
from beliefd.steward.offload import HEAVY_BYTES, offload
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.queued import Outcome
from beliefd.steward.write.submitting import Submit, expected, submit_for, submit_on_behalf
from beliefd.stores.base import Store

NO_RECEIPTS: Final = "a check knows none, because receipts belong to a session"
ORIGIN: Final = frozenset({"origin_agent", "origin-agent"})
_NAMES_ORIGIN: Final = b'"origin_agent":'
_read_bundle: Final = msgspec.json.Decoder(ClaimBundle).decode
_IN_FIELD = re.compile(r"in field `([^`]+)`$")


def read_bundle(body: Any) -> ClaimBundle:
    """A bundle from parsed JSON, in either spelling of its keys; most are spelt as the contract does."""
    try:
        return msgspec.convert(body, ClaimBundle)
    except msgspec.ValidationError:
        return convert(snake_body(body), ClaimBundle)


def submission_of(body: Any, principal: Principal) -> SubmitClaims:
    """What was submitted. Who does not say on whose behalf speaks for itself."""
    if isinstance(body, dict) and not ORIGIN & body.keys():
        body = {**body, "origin_agent": principal.id}
    return read_submission(body)


def read_submission(body: Any) -> SubmitClaims:
    """A bundle as the contract has it, and apart from it the raw answers that came with its claims."""
    if not _is_sampled(body):
        return SubmitClaims(bundle=read_bundle(body))
    sent = convert(snake_body(body), SubmittedBundle)
    try:
        return SubmitClaims(bundle=sent.bundle, samples=sent.samples)
    except ValueError as error:  # what only the contract's own bundle refuses, such as one id for two claims
        named = _IN_FIELD.search(str(error))
        raise invalid(str(error), "$" if named is None else f"$.{named[1]}") from None


def read_at_once(data: bytes, principal: Principal) -> SubmitClaims | None:
    """What was submitted, made from its bytes without a value in between, as long as they are written as most
    programs write them. All else, and all that is wrong, is None: `submission_of` tells which, and where."""
    if data[:1] == b"{" and _NAMES_ORIGIN not in data:
        data = b'{"origin_agent":%b,%b' % (msgspec.json.encode(principal.id), data[1:])
    # A number below zero is in no bundle, but for zero itself, whose sign does not survive.
    if len(data) > NEVER_CROWDED or b":-" in data or not is_verbatim(data):
        return None
    try:
        return SubmitClaims(bundle=_read_bundle(data))
    except msgspec.ValidationError:
        return None


def _is_sampled(body: Any) -> bool:
    claims = body.get("claims") if isinstance(body, dict) else None
    if not isinstance(claims, list):
        return False
    told = (claim.get("uncertainty") for claim in claims if isinstance(claim, dict))
    return any(isinstance(one, dict) and "samples" in one for one in told)


def snake_body(body: Any) -> Any:
    try:
        return snake_keys(body)
    except SpeltTwice:
        raise invalid("given in both snake_case and kebab-case; keep one", spelt_twice(body)) from None


def submit_bundle(submit: Submit, call: Call) -> "asyncio.Future[Outcome]":
    """The bundle is in its session's queue when this returns."""
    read = isinstance(call.body, SubmitClaims)
    command = call.body if read else submission_of(call.body, call.principal)
    return submit_on_behalf(call, submit, call.session_id, command)


def samples_first(policy: Policy) -> bool:
    """May the server's model be asked before a bundle is submitted?"""
    return policy.uncertainty.missing == "sample"


async def read_beside(call: Call) -> SubmitClaims:
    """What was submitted, read beside the event loop if it is long."""
    return await offload(call.size > HEAVY_BYTES, submission_of, call.body, call.principal, kind="parse")


def judgement_of(outcome: Outcome) -> JudgedBundle:
    event = expected(outcome, BundleGated)
    return judged(event.gated, outcome.head.event_id, event.proposer, outcome.session)


class ClaimHandlers(Struct, frozen=True):
    """Claims, judged and kept."""

    store: Store
    positions: Positions
    submit: Submit
    finder: FactFinder
    in_force: PolicyInForce

    async def submit_claims(self, call: Call) -> JudgedBundle:
        command, policy = await read_beside(call), self.in_force.policy
        attached = Attachments(call.origin, size=call.size)
        if samples_first(policy):
            position = await self.positions.existing(call.session_id)  # or a model is asked for nothing
            session = position.session
            sampled = await self.finder.sampled(command, session, call.principal, policy, call.size)
            attached = replace(attached, sampled=sampled)
        return judgement_of(await submit_on_behalf(call, self.submit, call.session_id, command, attached))

    async def retract_claims(self, call: Call) -> RetractedClaims:
        heavy = call.size > HEAVY_BYTES
        body = await offload(heavy, snake_body, call.body, kind="parse")
        command = convert(bind(body, call.path), RetractClaims)
        outcome, event = await submit_for(call, self.submit, call.session_id, command, ClaimsRetracted)
        bundle = await self._bundle(Position(outcome.session, outcome.head), command.bundle_id)
        return view_of(
            RetractedClaims,
            event.ended,
            claim_ids=list(event.ended.claim_ids),
            bundle=bundle,
            audit_event_id=outcome.head.event_id,
        )

    async def list_claims(self, call: Call) -> BundlePage:
        position = await self.positions.as_of(call.session_id, call.query["at"])
        names, after = page(position.session.claims.bundles, call, str)
        claims, after = await page_filled(names, lambda name: self._bundle(position, name), after)
        return BundlePage(claims=claims, next=after)

    async def show_claims(self, call: Call) -> JudgedBundle:
        position = await self.positions.as_of(call.session_id, call.query["at"])
        return await self._bundle(position, call.path["bundle_id"], _when(call))

    async def _bundle(self, position: Position, bundle_id: str, when: str = "") -> JudgedBundle:
        """A bundle as the event that last judged it holds it, and what became of it since."""
        claims = position.session.claims
        state = claims.bundles.get(bundle_id)
        if state is None:
            raise not_found(Code.BUNDLE_NOT_FOUND, "bundle", bundle_id, when)
        judgement, proposer = await self._judgement(position.session.session_id, state.event_id, bundle_id)
        approval = position.session.approvals.by_id.get(state.approval_id) if state.approval_id else None
        answer = judged(judgement, state.event_id, proposer, position.session)
        waits = approval is not None and approval.status == "pending"
        return replace(
            answer,
            approval_id=state.approval_id if waits else None,
            progress=progress_of(approval),
            foreign=position.foreign,
        )

    async def _judgement(self, session_id: str, event_id: str, bundle_id: str) -> tuple[Gated, str]:
        """How a bundle was last judged, and which principal had submitted it."""
        event = (await entry_of(self.store, session_id, event_id)).delta
        if isinstance(event, BundleGated):
            return event.gated, event.proposer
        assert isinstance(event, ApprovalDecided | ApprovalClosed)  # noqa: S101 - no other event holds a bundle
        proposer = event.approval.proposer.id
        if isinstance(event, ApprovalDecided):
            if event.gated is not None and event.gated.bundle.id == bundle_id:
                return event.gated, proposer
            bundle = event.replaced  # only an edit judges two bundles at once
        else:
            bundle = event.bundle
        assert bundle is not None  # noqa: S101
        return _closed_bundle(event.approval, bundle), proposer


def _when(call: Call) -> str:
    """What an answer adds that knows of nothing at a past event."""
    return "" if call.query["at"] is None else f" at event {call.query['at']}"


class ClaimCheckHandlers(Struct, frozen=True):
    """The gates, tried out."""

    finder: FactFinder
    in_force: PolicyInForce
    environment: Environment

    async def check_claims(self, call: Call) -> JudgedBundle:
        """Run the gates as a submission would, and write nothing."""
        principal, policy = call.principal, self.in_force.policy
        command = await read_beside(call)
        refuse_too_long(command.bundle, policy)
        heavy = call.size > HEAVY_BYTES or is_long(command.bundle)
        if (problem := await offload(heavy, speculation_in, command, kind="decide")) is not None:
            raise BeliefdError(problem.code, problem.message, problem.details)
        recent = self.finder.submissions.count(
            command, principal, policy
        )  # a try costs as much as a submission
        examined = await self.finder.examine(
            command.bundle, None, principal.id, policy, recent, call.origin, within=call.readable
        )
        found = await self.finder.meter.with_measured(examined, command)
        return await offload(heavy, self._judged, command, principal, found, kind="decide")

    def _judged(self, command: SubmitClaims, principal: Principal, found: ClaimFindings) -> JudgedBundle:
        facts = Facts(
            now=self.environment.now(),
            event_id=self.environment.new_id(),
            principal=principal,
            policy=self.in_force.policy,
            policy_hash=self.in_force.hash,
            findings=found,
        )
        complete, receipts = with_receipts(filled(command.bundle, facts.event_id, facts.now), command, facts)
        measurements = Measurements().with_receipts(receipts)
        refusal = (
            unknown_action(None, complete, facts)
            or unsaid(complete.claims, measurements, (principal.id,))
            or cannot_correct(None, complete, facts, principal)
        )
        if refusal is not None:
            hint = f"; {NO_RECEIPTS}" if refusal.code == Code.MEASUREMENT_NOT_FOUND else ""
            raise BeliefdError(refusal.code, refusal.message + hint, refusal.details)
        given = gate_input(complete, None, principal, facts, (principal.id,), measurements=measurements)
        found_by_gates = gated(run_gates(given), given, facts, (principal.id,), principal)
        answer = judged(found_by_gates, None, principal.id)
        return replace(answer, approval_id=None)


def _closed_bundle(approval: Approval, bundle: ClaimBundle) -> Gated:
    return Gated(
        bundle=bundle,
        content_hash=approval.content_hash,
        results=approval.results,
        caveats=caveats(approval.results, bundle.decision == "PUBLISH"),
        standings=approval.standings,
        raised=approval.raised,
    )
