"""What a command came to, in words that can be compared: the same for what was and what would be."""

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from beliefd.kernel.approvals.events import ApprovalDecided
from beliefd.kernel.approvals.state import CallSubject
from beliefd.kernel.beliefs.events import ConclusionRuled, ExitRuled, TerminationRuled
from beliefd.kernel.claims.events import BundleGated, Gated
from beliefd.kernel.commands import Command
from beliefd.kernel.event import Refused
from beliefd.kernel.events import Event
from beliefd.kernel.substrate.commands import Propose
from beliefd.kernel.substrate.events import Arbitrated, CallStarted, CallStopped, CandidateResult
from beliefd.kernel.substrate.proposals import CallCandidate

DONE: Final = "done"


class Outcome(Struct, frozen=True):
    """One verdict. `constraint` is what decided it; `tool` is what was called, if anything was."""

    verdict: str
    tool: str | None = None
    constraint: str | None = None
    reasons: tuple[str, ...] = ()


def outcomes(command: Command, event: Event) -> list[Outcome]:
    """The verdicts of an event, in the order of what they are about."""
    told = _TOLD.get(type(event))
    if told is not None:
        return told(command, event)
    if isinstance(event, Refused):
        refused = Outcome("refused", None, event.code, (event.message,))
        if isinstance(command, Propose):
            return [_of_tool(refused, one) for one in command.candidates]
        return [refused]
    return [Outcome(DONE)]


def _of_tool(outcome: Outcome, candidate: Any) -> Outcome:
    tool = candidate.tool_id if isinstance(candidate, CallCandidate) else None
    return Outcome(outcome.verdict, tool, outcome.constraint, outcome.reasons)


def of_result(result: CandidateResult, tool: str | None = None) -> Outcome:
    """A candidate's verdict: what waits for a person is asked, what waits for something else is deferred."""
    if result.verdict == "allow":
        return Outcome("allow", tool)
    first = result.reasons[0] if result.reasons else None
    named = result.reason_code if first is None or first.constraint is None else first.constraint
    verdict = "ask" if result.on_fail == "ask" else result.verdict
    return Outcome(verdict, tool, named, tuple(one.words for one in result.reasons))


def _arbitrated(command: Any, event: Arbitrated) -> list[Outcome]:
    return [
        _of_tool(of_result(result), candidate)
        for candidate, result in zip(command.candidates, event.results, strict=True)
    ]


def _gated(gated: Gated) -> Outcome:
    last = gated.results[-1] if gated.results else None
    gate, reasons = (None, ()) if last is None else (last.gate, (last.reason,))
    return Outcome(gated.bundle.decision, None, gate, reasons)


def _decided(_: Command, event: ApprovalDecided) -> list[Outcome]:
    if event.result is not None:
        subject = event.approval.subject
        call = subject.candidate if isinstance(subject, CallSubject) else None
        return [of_result(event.result, None if call is None else call.tool_id)]
    return [Outcome(DONE) if event.gated is None else _gated(event.gated)]


def _ruled(said: bool, reason: str) -> list[Outcome]:
    return [Outcome("granted" if said else "not granted", None, None, (reason,) if reason else ())]


_TOLD: Final[dict[type, Callable[[Any, Any], list[Outcome]]]] = {
    Arbitrated: _arbitrated,
    CallStarted: lambda _, event: [Outcome("allow", event.call.tool_id)],
    CallStopped: lambda _, event: [of_result(event.result, event.call.tool_id)],
    BundleGated: lambda _, event: [_gated(event.gated)],
    ApprovalDecided: _decided,
    ExitRuled: lambda _, event: _ruled(event.approved, event.reason),
    ConclusionRuled: lambda _, event: _ruled(event.accepted, event.reason),
    TerminationRuled: lambda _, event: _ruled(event.approved, event.reason),
}
