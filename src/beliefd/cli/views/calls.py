"""Calls that were let through, drawn for people."""

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import json_text, view
from beliefd.kernel.values import shown_time
from beliefd.protocol.calls import CallView, ReportedOutcome


@view.register
def call(answer: CallView) -> RenderableType:
    who = "its caller" if answer.executor == "caller" else "the server"
    lines = [
        Text.assemble((answer.call_id, "bold"), f"  {visible(answer.tool_id)} {json_text(answer.args)}"),
        Text(f"{answer.status}, proposed by {visible(answer.agent_id)}, run by {who}"),
        Text(f"scheduled {shown_time(answer.scheduled_at)}, deadline {shown_time(answer.deadline)}"),
    ]
    for name, value in (("join key", answer.join_key), ("upstream", answer.upstream)):
        if value is not None:
            lines.append(Text(f"{name} {visible(value)}"))
    if answer.label is not None:
        kept = "content" if answer.content is not None else "not kept,"
        lines.append(Text(f"result {kept} {answer.result_hash}, {answer.size} bytes, {answer.label}"))
    return Group(*lines)


@view.register
def reported(answer: ReportedOutcome) -> RenderableType:
    kept = "nothing is kept of it" if answer.content is None else f"kept as {answer.content}"
    return Text(f"{answer.call_id} {answer.status}; {kept}; {answer.label or 'no label'}")
