"""Every operation's handler, by name. Entrypoints look a handler up, call it, and encode what it returns."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from io import BytesIO
from typing import Any, Final

from msgspec.structs import replace

from beliefd.kernel import events
from beliefd.kernel.commands import Command
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.values import Principal
from beliefd.protocol.beliefs import Concluded, Declared, Eliminated, Recorded, Ruled, snapshot_of
from beliefd.protocol.ledger import AskCounterfactual
from beliefd.protocol.operation import Answer
from beliefd.protocol.operations import BY_NAME, Operation
from beliefd.protocol.wire import bind, convert, query_values
from beliefd.steward import (
    calibrations,
    claims,
    experiments,
    firewall,
    propositions,
    queries,
    substrate,
    transfer,
    uncertainty,
)
from beliefd.steward.call import Call
from beliefd.steward.counterfactual import counterfactual
from beliefd.steward.handle import Outcome, Steward, refusal
from beliefd.steward.offload import HEAVY_ITEMS, offload

__all__ = ["HANDLERS", "VERBS", "Call", "admit", "answer_to", "authorise", "perform", "submit"]

Handler = Callable[[Steward, Call], Awaitable[Any]]
VERBS: Final = (
    "eliminate",
    "enter_obligation",
    "request_exit",
    "declare_conclusion",
    "request_termination",
)
"""Operations that are one command to a session, and nothing else."""
KEY_PATTERN: Final = "^[!-~]([ -~]{0,253}[!-~])?$"
_ELIMINATING: Final = (events.Eliminated, events.Merged)
_RULING: Final = (events.ExitRuled, events.TerminationRuled)
_KEY: Final = re.compile(KEY_PATTERN)


async def perform(steward: Steward, operation: Operation, call: Call) -> Any:
    """Admit and run one operation."""
    return await HANDLERS[operation.name](steward, admit(operation, call))


def authorise(operation: Operation, principal: Principal) -> None:
    if principal.role not in operation.roles:
        allowed = ", ".join(f"`{role}`" for role in sorted(operation.roles))
        raise BeliefdError(
            Code.FORBIDDEN,
            f"role `{principal.role}` may not {operation.name}; it takes one of {allowed}",
        )


def admit(operation: Operation, call: Call) -> Call:
    """The call with its query parsed, if this principal may make it and the operation heeds all it says."""
    authorise(operation, call.principal)
    if call.if_match is not None and not operation.if_match:
        raise invalid(f"`{operation.name}` does not heed If-Match; leave it out", "If-Match")
    if call.key is not None:
        if not operation.idempotency_key:
            raise invalid(
                f"`{operation.name}` does not heed Idempotency-Key; leave it out", "Idempotency-Key"
            )
        if not _KEY.match(call.key) or call.key.endswith("\n"):
            raise invalid("Idempotency-Key must be 1 to 255 printable ASCII characters", "Idempotency-Key")
    if call.query or operation.query:
        return replace(call, query=query_values(operation.query, call.query))
    return call


def answer_to(outcome: Outcome) -> Answer:
    """An event and the state after it, in the words of the protocol. A refusal becomes the error it names."""
    event, event_id = outcome.event, outcome.head.event_id
    if (refused := refusal(outcome)) is not None:
        raise refused
    snapshot = snapshot_of(outcome.session, outcome.head)
    if isinstance(event, _ELIMINATING):
        return Eliminated(
            applied_eliminated=list(event.eliminated),
            ignored_eliminated=list(event.ignored),
            snapshot=snapshot,
            audit_event_id=event_id,
        )
    if isinstance(event, _RULING):
        return Ruled(approved=event.approved, reason=event.reason, snapshot=snapshot, audit_event_id=event_id)
    if isinstance(event, events.ConclusionRuled):
        return Concluded(
            accepted=event.accepted, reason=event.reason, snapshot=snapshot, audit_event_id=event_id
        )
    if isinstance(event, events.Declared):
        return Declared(session_id=outcome.session.session_id, snapshot=snapshot, audit_event_id=event_id)
    return Recorded(snapshot=snapshot, audit_event_id=event_id)


async def _converted(body: dict[str, Any], kind: Any) -> Any:
    for value in body.values():
        if type(value) is list and len(value) > HEAVY_ITEMS:
            return await offload(True, convert, body, kind)
    return convert(body, kind)


async def _declare(steward: Steward, call: Call) -> Answer:
    command = await _converted(call.body, BY_NAME["declare_session"].body)
    return answer_to(await steward.declare(command, call.principal, key=call.key))


def submit(steward: Steward, operation: Operation, call: Call) -> "asyncio.Future[Outcome]":
    """One of `VERBS`: its command is in its session's lane when this returns."""
    return _queued(steward, call, convert(bind(call.body, call.path), operation.body))


def _queued(steward: Steward, call: Call, command: Command) -> "asyncio.Future[Outcome]":
    return steward.submit(call.session_id, command, call.principal, if_match=call.if_match, key=call.key)


def _verb(name: str) -> Handler:
    kind = BY_NAME[name].body

    async def handle(steward: Steward, call: Call) -> Answer:
        command = await _converted(bind(call.body, call.path), kind)
        return answer_to(await _queued(steward, call, command))

    return handle


async def _list(steward: Steward, call: Call) -> Any:
    return await queries.list_sessions(steward, call.query["cursor"], call.query["limit"])


async def _query(steward: Steward, call: Call) -> Any:
    asked = call.query
    return await queries.query_belief(
        steward, call.session_id, asked["at"], asked["survivors_limit"], asked["survivors_after"]
    )


async def _audit(steward: Steward, call: Call) -> Any:
    return await queries.audit_trace(
        steward, call.session_id, call.query["since_event_id"], call.query["limit"]
    )


async def _verify(steward: Steward, call: Call) -> Any:
    return await queries.verify_session(steward, call.session_id)


async def _why(steward: Steward, call: Call) -> Any:
    return await queries.why(steward, call.session_id, call.path["hypothesis"])


async def _counterfactual(steward: Steward, call: Call) -> Any:
    question = convert(bind(call.body, call.path), AskCounterfactual)
    return await counterfactual(steward, call.session_id, list(question.without.source_ids))


async def _merge(steward: Steward, call: Call) -> Any:
    return answer_to(await transfer.merge(steward, call.session_id, BytesIO(call.body), call.principal))


async def _import(steward: Steward, call: Call) -> Any:
    return await transfer.import_ledger(steward, BytesIO(call.body))


HANDLERS: Final[dict[str, Handler]] = {
    "declare_session": _declare,
    "list_sessions": _list,
    "query_belief": _query,
    **{name: _verb(name) for name in VERBS},
    "audit_trace": _audit,
    "verify": _verify,
    "why": _why,
    "counterfactual": _counterfactual,
    "merge": _merge,
    "import_ledger": _import,
    "submit_claims": claims.submit_claims,
    "list_claims": claims.list_claims,
    "show_claims": claims.show_claims,
    "check_claims": claims.check_claims,
    "list_approvals": claims.list_approvals,
    "show_approval": claims.show_approval,
    "decide_approval": claims.decide_approval,
    "withdraw_approval": claims.withdraw_approval,
    "give_grant": claims.give_grant,
    "list_grants": claims.list_grants,
    "revoke_grant": claims.revoke_grant,
    "store_content": claims.store_content,
    "show_policy": claims.show_policy,
    "adopt_policy": claims.adopt_policy,
    "show_state": substrate.show_state,
    "propose": substrate.propose,
    "list_tools": substrate.list_tools,
    "issue_capability": substrate.issue_capability,
    "show_capability": substrate.show_capability,
    "revoke_capability": substrate.revoke_capability,
    "remember": substrate.remember,
    "list_memory": substrate.list_memory,
    "speculate": firewall.speculate,
    "list_hypotheses": firewall.list_hypotheses,
    "design_experiment": experiments.design_experiment,
    "list_experiments": experiments.list_experiments,
    "show_experiment": experiments.show_experiment,
    "run_experiment": experiments.run_experiment,
    "cancel_experiment": experiments.cancel_experiment,
    "reproduce_experiment": experiments.reproduce_experiment,
    "link_evidence": firewall.link_evidence,
    "list_evidence": firewall.list_evidence,
    "list_discoveries": firewall.list_discoveries,
    "stage_intent": firewall.stage_intent,
    "list_intents": firewall.list_intents,
    "show_intent": firewall.show_intent,
    "list_propositions": propositions.list_propositions,
    "show_proposition": propositions.show_proposition,
    "why_proposition": propositions.why_proposition,
    "measure_semantic_entropy": uncertainty.measure_semantic_entropy,
    "measure_model_disagreement": uncertainty.measure_model_disagreement,
    "measure_confidence": uncertainty.measure_confidence,
    "measure_conformal_set": uncertainty.measure_conformal_set,
    "store_calibration": calibrations.store_calibration,
    "append_calibration": calibrations.append_calibration,
    "show_calibration": calibrations.show_calibration,
}
