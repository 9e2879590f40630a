"""What a trace says of calls that their callers run: the permit, given or not, and what was reported of it.

Calls that the server runs have a span while they run (`execute_tool`); these two run elsewhere, so a span of
each decision stands for them. Names are OpenTelemetry's for GenAI; arguments and results are left out.
"""

from msgspec import UNSET

from beliefd import tracing
from beliefd.kernel.commands import Command
from beliefd.kernel.events import Event
from beliefd.kernel.substrate.commands import Propose
from beliefd.kernel.substrate.events import (
    Arbitrated,
    CallStarted,
    CallStopped,
    CandidateResult,
    OutcomeRecorded,
)
from beliefd.kernel.substrate.proposals import CallCandidate
from beliefd.kernel.substrate.state import ToolCall

Said = dict[str, str | int | bool]


def tell_calls(command: Command, event: Event, speaker: str) -> None:
    """Inside the span of the decision."""
    if isinstance(command, Propose) and isinstance(event, Arbitrated) and command.execute is not UNSET:
        for candidate, result in zip(command.candidates, event.results, strict=False):
            if isinstance(candidate, CallCandidate):
                call = result.call or (None if result.started is UNSET else result.started)
                _permit(candidate.tool_id, speaker, call, result)
    elif isinstance(event, CallStarted) and event.call.is_run_by_caller:
        _permit(event.call.tool_id, event.call.agent_id, event.call, None)
    elif isinstance(event, CallStopped) and event.call.is_run_by_caller:
        _permit(event.call.tool_id, event.call.agent_id, event.call, event.result)
    elif isinstance(event, OutcomeRecorded) and event.call.is_run_by_caller:
        said = _said("report", event.call.tool_id, event.call.agent_id, event.call)
        with tracing.span(
            f"report {event.call.tool_id}", {**said, "beliefd.status": event.call.status}
        ) as span:
            if event.call.status != "ok":
                span.fail(event.call.status)


def _permit(tool: str, agent: str, call: ToolCall | None, result: CandidateResult | None) -> None:
    said = _said("permit", tool, agent, call)
    said["beliefd.verdict"] = "allow" if result is None else result.verdict
    if result is not None:
        said["beliefd.reason"] = result.reason_code
    with tracing.span(f"permit {tool}", said):
        pass


def _said(operation: str, tool: str, agent: str, call: ToolCall | None) -> Said:
    said: Said = {
        "gen_ai.operation.name": operation,
        "gen_ai.tool.name": tool,
        "gen_ai.tool.type": "function",
        "gen_ai.agent.id": agent,
    }
    return said if call is None else {**said, "gen_ai.tool.call.id": call.call_id}
