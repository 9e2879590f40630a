"""State, proposals, capabilities and explanations drawn for people; foreign text goes through `visible`."""

import json
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.kernel.substrate.constraints import Reason
from beliefd.kernel.substrate.explaining import Explanation
from beliefd.policy.trying import Tried
from beliefd.protocol.substrate import CandidateAnswer, CapabilityView, ProposalAnswer, StateAnswer, ToolList

VERDICT_STYLE = {"allow": "bold green", "defer": "bold yellow", "deny": "bold red"}


def state(answer: StateAnswer) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for key in sorted(answer.f_sparse):
        table.add_row(Text(visible(key), "bold"), Text(_json(answer.f_sparse[key])))
    head = Text.assemble(("snapshot ", "dim"), answer.state_snapshot_id, ("  mode ", "dim"), answer.mode)
    return Group(head, table if answer.f_sparse else Text("nothing is known", "dim"))


def proposal(answer: ProposalAnswer) -> RenderableType:
    lines = [
        Group(Text(f"{number}. ", end=""), candidate(result))
        for number, result in enumerate(answer.results, 1)
    ]
    return Group(*lines, Text.assemble(("snapshot ", "dim"), answer.state_snapshot_id))


def candidate(result: CandidateAnswer) -> RenderableType:
    """One verdict, what came of it, and every reason."""
    head = Text.assemble(
        (result.verdict, VERDICT_STYLE[result.verdict]),
        f" {result.reason_code}",
        (f"  {result.status}: {_json(result.result)}" if result.status else ""),
        (f"  {visible(result.error)}" if result.error else "", "red"),
        (f"  waits as {result.approval_id}" if result.approval_id else "", "yellow"),
    )
    return Group(head, *(_reason(reason) for reason in result.reasons))


def capability(answer: CapabilityView) -> RenderableType:
    scope, used, budgets = answer.scope, answer.used, answer.scope.budgets
    limit = "any number of" if budgets.calls is None else str(budgets.calls)
    lines = [
        Text.assemble((answer.capability_id, "bold"), f"  for {visible(answer.agent_id)}"),
        Text(f"tools {', '.join(visible(name) for name in scope.tools)}; {used.calls} of {limit} calls used"),
        Text(
            f"open until {answer.expires_at}"
            + (f", revoked {answer.revoked_at}" if answer.revoked_at else "")
        ),
    ]
    for word, names in (
        ("may read below", scope.fs_read_roots),
        ("may write below", scope.fs_write_roots),
        ("may connect to", scope.net_allowlist),
    ):
        if names:
            lines.append(Text(f"{word} {', '.join(visible(name) for name in names)}"))
    return Group(*lines)


def tools(answer: ToolList) -> RenderableType:
    if not answer.tools:
        return Text("no tools; start the server with --tools MODULE", "dim")
    table = Table.grid(padding=(0, 2))
    for item in answer.tools:
        table.add_row(
            Text(visible(item.tool_id), "bold"),
            Text(item.definition.tier, "yellow"),
            Text(visible(item.definition.description.partition("\n")[0])),
        )
    return table


def explanation(answer: Explanation) -> RenderableType:
    lines: list[RenderableType] = [
        Text.assemble((answer.verdict, VERDICT_STYLE[answer.verdict]), f" {answer.reason_code}"),
        *(_reason(reason) for reason in answer.reasons),
    ]
    if answer.allowed_by:
        lines.append(Text(f"  allowed by {', '.join(visible(key) for key in answer.allowed_by)}", "dim"))
    lines.append(Text(f"  not judged here: {', '.join(answer.left_out)}", "dim"))
    return Group(*lines)


def cases(tried: list[Tried]) -> RenderableType:
    lines: list[RenderableType] = []
    for case in tried:
        mark = ("ok   ", "green") if case.ok else ("FAIL ", "bold red")
        lines.append(Text.assemble(mark, visible(case.name)))
        if not case.ok:
            wanted = f"{case.expected.verdict} {case.expected.reason_code or ''}".strip()
            lines.append(Text(f"     expected {wanted}, got:"))
            lines.append(explanation(case.explanation))
    return Group(*lines)


def _reason(reason: Reason) -> Text:
    return Text.assemble(
        (f"   {visible(reason.constraint or reason.code)}: ", "bold"),
        visible(reason.text),
        (f"; to pass: {visible(reason.remedy)}" if reason.remedy else "", "dim"),
    )


def _json(value: Any) -> str:
    return visible(json.dumps(value, ensure_ascii=False))
