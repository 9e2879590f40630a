"""Symbolic state, proposals, tools and memory drawn for people."""

from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import (
    TIER_STYLE,
    EventDetails,
    EventWords,
    first_names,
    json_text,
    names,
    view,
)
from beliefd.kernel.substrate.constraints import Reason
from beliefd.kernel.values import shown_time
from beliefd.protocol.headlines import REPEATED
from beliefd.protocol.substrate import (
    CandidateAnswer,
    MemoryAnswer,
    MemoryPage,
    MemoryView,
    ProposalAnswer,
    StateAnswer,
    ToolList,
)

VERDICT_STYLE = {"allow": "bold green", "defer": "bold yellow", "deny": "bold red"}


@view.register
def state(answer: StateAnswer) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for key in sorted(answer.f_sparse):
        table.add_row(Text(visible(key), "bold"), Text(json_text(answer.f_sparse[key])))
        if (source := answer.derived.get(key)) is not None:
            read = f" from {names(source.inputs)}" if source.inputs else ""
            table.add_row("", Text(f"derived by {visible(source.rule)}{read}", "dim"))
    head = Text.assemble(("snapshot ", "dim"), answer.state_snapshot_id, ("  mode ", "dim"), answer.mode)
    made = Text.assemble(("made by ", "dim"), visible(answer.agent_id), (" at ", "dim"), answer.created_at)
    if answer.s_core is not None:
        made.append(f"  vector of {answer.s_core.dims} numbers, {answer.s_core.digest[:16]}", "dim")
    return Group(head, made, table if answer.f_sparse else Text("nothing is known", "dim"))


@view.register
def remembered_entry(answer: MemoryAnswer) -> RenderableType:
    return _entry_words(answer.memory)


@view.register
def memory(answer: MemoryPage) -> RenderableType:
    lines = [_entry_words(one) for one in answer.entries]
    return Group(*lines) if lines else Text("nothing is remembered", "dim")


def _entry_words(one: MemoryView) -> Text:
    entry = one.entry
    told = f" {entry.kind} {json_text(entry.value)}  confidence {entry.confidence:g}, "
    words = Text.assemble((visible(entry.memory_id), "bold"), told, _confirmation(msgspec.to_builtins(one)))
    return words.append("  due for review", "yellow") if one.review_due else words


@view.register
def proposal(answer: ProposalAnswer) -> RenderableType:
    lines = [
        Group(Text(f"{number}. ", end=""), candidate(result))
        for number, result in enumerate(answer.results, 1)
    ]
    return Group(*lines, Text.assemble(("snapshot ", "dim"), answer.state_snapshot_id))


@view.register
def candidate(result: CandidateAnswer) -> RenderableType:
    """One verdict, what came of it, and every reason."""
    head = Text.assemble(
        (result.verdict, VERDICT_STYLE[result.verdict]),
        f" {result.reason_code}",
        f"  {_came_to(result)}" if result.status else "",
        (f"  {visible(result.error)}" if result.error else "", "red"),
        (f"  waits as {result.approval_id}" if result.approval_id else "", "yellow"),
    )
    cite = f"  call://{result.call_id} with result hash {result.result_hash}"
    told = [Text(cite, "dim")] if result.result_hash is not None else []
    return Group(head, *told, *(reason_words(reason) for reason in result.reasons))


def _came_to(result: CandidateAnswer) -> str:
    """A call that was stopped never ran, and one that is scheduled has not: neither has a result, not even an
    empty one."""
    if result.status == "stopped":
        return "stopped before it began"
    if result.permit is not None:
        return f"yours to run until {shown_time(result.permit.expires_at)}: {result.call_id}"
    if result.status == "scheduled":
        return result.status
    return f"{result.status}: {json_text(result.result)}"


@view.register
def tools(answer: ToolList) -> RenderableType:
    if not answer.tools:
        return Text("no tools; start the server with --tools MODULE", "dim")
    table = Table.grid(padding=(0, 2))
    for item in answer.tools:
        table.add_row(
            Text(visible(item.tool_id), "bold"),
            Text(item.tier, TIER_STYLE[item.tier]),
            Text(visible(item.definition.description.partition("\n")[0])),
        )
    return table


def reason_words(reason: Reason) -> Text:
    return Text.assemble(
        (f"   {visible(reason.constraint or reason.code)}: ", "bold"),
        visible(reason.text),
        (f"; to pass: {visible(reason.remedy)}" if reason.remedy else "", "dim"),
    )


def verdict_words(result: dict[str, Any], about: str) -> Text:
    """What came of it in a line. What a person is asked about is not denied: it waits, in that item."""
    approval = result.get("waits") or (result.get("approval") or {}).get("approval_id")
    if approval is not None:
        return Text.assemble(("waits", "bold yellow"), f" {about} ", (visible(approval), "dim"))
    if result["reason_code"] == "REPEATED":
        return Text.assemble((REPEATED, "dim"), f" {about}")
    style = "green" if result["verdict"] == "allow" else "bold red"
    return Text.assemble((result["verdict"], style), f" {about} ", (result["reason_code"], "dim"))


def _arbitrated(payload: dict[str, Any], delta: dict[str, Any]) -> Text:
    pairs = zip(payload["candidates"], delta["results"], strict=True)
    told = [verdict_words(result, _asked(candidate)) for candidate, result in pairs]
    return Text("  ").join([*told, *map(_by_policy, delta.get("issued", []))])


def _by_policy(issued: dict[str, Any]) -> Text:
    """What policy issues is revoked by this name: no other line has it."""
    return Text(f"{visible(issued['issued_by'])} issues {visible(issued['capability_id'])}", "dim")


def _asked(candidate: dict[str, Any]) -> str:
    if candidate["kind"] == "tool_call":
        return visible(candidate["tool_id"])
    patch = candidate["patch"]
    return first_names([*patch["set"], *patch["remove"]], 3)


def _call_started(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    return Text(f"{visible(delta['call']['tool_id'])} begins")


def _call_stopped(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    return verdict_words(delta["result"], f"{visible(delta['call']['tool_id'])}, before it began")


def _outcome_recorded(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    call = delta["call"]
    return Text(f"{visible(call['tool_id'])}: {call['status']} {visible(delta['error'])}")


def _remembered(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    entry = delta["entry"]
    return Text(f"{entry['kind']} {visible(entry['memory_id'])}, {_confirmation(delta)}")


def _confirmation(delta: dict[str, Any]) -> str:
    """What confirms an entry; sources are its author's word."""
    witness = delta["witness"]
    if witness is not None:
        return f"confirmed by a {witness['kind']}: {visible(witness['about'])}"
    return "confirmed by sources that its author names" if delta["confirmed"] else "unconfirmed"


def _capability(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    found = delta["capability"]
    origin = f", out of {visible(found['parent'])}" if found["parent"] is not None else ""
    told = Text(f"{visible(found['capability_id'])} for {visible(found['agent_id'])}{origin}")
    return Text("  ").join([told, *map(_by_policy, delta.get("issued", []))])


def _proposed(payload: dict[str, Any], delta: dict[str, Any]) -> list[Text]:
    """Every candidate with its arguments, why its agent wanted it, and what stands in its way."""
    lines: list[Text] = []
    for one, result in zip(payload["candidates"], delta["results"], strict=True):
        if one["kind"] == "tool_call":
            lines.append(Text.assemble((f"{visible(one['tool_id'])} ", "bold"), json_text(one["args"])))
        else:
            patch = one["patch"]
            lines.append(Text(json_text({**patch["set"], **dict.fromkeys(patch["remove"])})))
        if one.get("rationale"):
            lines.append(Text.assemble(("  because ", "dim"), visible(one["rationale"])))
        lines += _in_the_way(result)
    return lines


def _stopped(_: dict[str, Any], delta: dict[str, Any]) -> list[Text]:
    return _in_the_way(delta["result"])


def _in_the_way(result: dict[str, Any]) -> list[Text]:
    """Why it was denied or waits: each reason with the constraint that it comes from, and what would do."""
    return [reason_words(msgspec.convert(reason, Reason)) for reason in result.get("reasons", ())]


def _called(_: dict[str, Any], delta: dict[str, Any]) -> list[Text]:
    return [Text(json_text(delta["call"]["args"]))] if delta["call"].get("args") else []


DETAILS: dict[str, EventDetails] = {
    "arbitrated": _proposed,
    "call_started": _called,
    "call_stopped": _stopped,
}
EVENTS: dict[str, EventWords] = {
    "arbitrated": _arbitrated,
    "call_started": _call_started,
    "call_stopped": _call_stopped,
    "outcome_recorded": _outcome_recorded,
    "remembered": _remembered,
    "capability_issued": _capability,
    "capability_revoked": _capability,
}
