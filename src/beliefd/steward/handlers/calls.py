"""Handlers of calls that their callers run: what they are, beginning them, and what came of them."""

import hashlib
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.canonical import canonical
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.event import Refused
from beliefd.kernel.labels import WITNESSED, Bringer
from beliefd.kernel.substrate.beginning import cannot_begin
from beliefd.kernel.substrate.commands import RecordOutcome, StartCall
from beliefd.kernel.substrate.events import CallStarted, CallStopped, CandidateResult, OutcomeRecorded
from beliefd.kernel.substrate.outcomes import cannot_report, label_of
from beliefd.kernel.substrate.state import Reported, ToolCall
from beliefd.kernel.values import DEFAULT_SPACE, Role
from beliefd.protocol.calls import CallView, OutcomeRequest, ReportedOutcome
from beliefd.protocol.substrate import CandidateAnswer
from beliefd.protocol.wire import convert
from beliefd.steward.call import Call
from beliefd.steward.effects.background import Background
from beliefd.steward.environment import Environment
from beliefd.steward.facts.origin import Origins
from beliefd.steward.failures import not_found
from beliefd.steward.handlers.shared import as_recorded, read, view_of
from beliefd.steward.handlers.substrate import candidate_answer, permit_of
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.spaces import Spaces
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.submitting import Submit, raise_if_refused, submit_for, submit_on_behalf
from beliefd.stores.base import Store
from beliefd.stores.content import ContentErased, Quota, QuotaExceeded


class CallHandlers(Struct, frozen=True):
    """What callers run themselves.

    INVARIANT: what is plainly not theirs to begin or to report is turned away before anything is recorded or
    kept; of two who come at once, the ledger refuses the second.
    """

    store: Store
    positions: Positions
    submit: Submit
    in_force: PolicyInForce
    environment: Environment
    spaces: Spaces
    origins: Origins
    background: Background

    async def show_call(self, call: Call) -> CallView:
        one = await self._call(call)
        kept = one.reported and one.reported.kept
        return view_of(
            CallView,
            one,
            session_id=call.session_id,
            executor=one.executor or "server",
            permit=permit_of(one),
            provenance=one.provenance or None,
            join_key=one.join_key or None,
            upstream=one.upstream or None,
            content=one.reported.content if one.reported and kept else None,
            size=one.reported.size if one.reported else None,
            label=one.label or None,
        )

    async def begin_call(self, call: Call) -> CandidateAnswer:
        one = await self._own(call)
        if call.key is None:
            _raise(cannot_begin(one, one.call_id, call.principal.id, self.environment.now()))
        outcome = await submit_on_behalf(call, self.submit, call.session_id, StartCall(call_id=one.call_id))
        raise_if_refused(outcome)
        event = outcome.event
        if isinstance(event, CallStopped):
            return candidate_answer(replace(event.result, stopped=event.call), None, outcome)
        assert isinstance(event, CallStarted)  # noqa: S101 - what is not refused begins or is stopped
        result = CandidateResult(verdict="allow", reason_code="ALLOWED", started=event.call)
        return candidate_answer(result, None, outcome)

    async def report_outcome(self, call: Call) -> ReportedOutcome:
        one = await self._own(call)
        asked, document, name = await read(call, _read_outcome)
        if call.key is None:
            _raise(cannot_report(one, one.call_id, asked.status, call.principal.id, self.environment.now()))
        reported = await self._kept(call, document, name) if document else UNSET
        command = RecordOutcome(
            call_id=one.call_id,
            status=asked.status,
            tokens=asked.tokens,
            cpu_ms=asked.cpu_ms,
            disk_bytes=asked.disk_bytes,
            reported=reported,
        )
        outcome, event = await submit_for(call, self.submit, call.session_id, command, OutcomeRecorded)
        self.background.start(self.origins.prepare(outcome.session, self.in_force.policy))
        done = event.call
        return view_of(
            ReportedOutcome,
            done,
            content=done.reported.content if done.reported and done.reported.kept else None,
            label=done.label or None,
            audit_event_id=outcome.head.event_id,
        )

    async def _kept(self, call: Call, document: bytes, name: str) -> Reported:
        """A result as it is kept: beside the ledger, so that it can be erased there.

        One that is too large, or more than its reporter may bring, is not kept: that it ran is recorded.
        """
        limits, who = self.in_force.policy.content, call.principal
        quota = Quota(items=limits.max_items_per_principal, bytes=limits.max_bytes_per_principal)
        # INVARIANT: who only attests a result is no witness of its content either.
        role = who.role if label_of(who, self.in_force.policy) == WITNESSED else Role.AGENT
        bringer = Bringer(id=who.id, role=role, at=self.environment.now())
        space = await self.spaces.of(call.session_id) or DEFAULT_SPACE
        kept = len(document) <= limits.max_item_bytes
        try:
            if kept:
                await self.store.put_content(name, document, bringer, quota, space)
        except (QuotaExceeded, ContentErased):
            kept = False
        return Reported(content=name, size=len(document), kept=kept)

    async def _own(self, call: Call) -> ToolCall:
        one = await self._call(call)
        if not one.is_run_by_caller:
            text = f"`{one.tool_id}` is run by the server, which records what comes of it"
            raise BeliefdError(Code.CONFLICT, text, {"path": "call_id"})
        return one

    async def _call(self, call: Call) -> ToolCall:
        session = (await self.positions.existing(call.session_id)).session
        one = session.substrate.calls.get(call.path["call_id"])
        if one is None:
            raise not_found(Code.NOT_FOUND, "call", call.path["call_id"])
        return one


def _read_outcome(body: Any, _: dict[str, str]) -> tuple[OutcomeRequest, bytes, str]:
    """What was reported, and the document that is kept of it with its name; empty if there is nothing."""
    asked = convert(as_recorded(body), OutcomeRequest)
    told = {
        "content_type": asked.content_type,
        "error": asked.error or None,
        "structured": asked.structured,
        "result": asked.result,
    }
    said = {name: value for name, value in told.items() if value is not None}
    if asked.status == "unknown" and not said:
        return asked, b"", ""
    document = canonical({"result": None, **said})
    return asked, document, hashlib.sha256(document).hexdigest()


def _raise(problem: Refused | None) -> None:
    if problem is not None:
        raise BeliefdError(problem.code, problem.message, problem.details)
