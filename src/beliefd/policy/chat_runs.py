"""Recorded runs of agents in chat form, one JSON object per line: read, and replayed through a judge."""

import gzip
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.kernel.errors import invalid
from beliefd.kernel.origin import CallFacts, ContextItem, Lexicon, Session, ToolInfo
from beliefd.kernel.origin.tools import as_hinted
from beliefd.kernel.values import Id, Object, Value
from beliefd.policy.lexicons import ALL, shipped_lexicon

MAX_LINE: Final = 16 * 1024 * 1024
MAX_MESSAGES: Final = 10_000

Judge = Callable[[CallFacts], tuple[Literal["allow", "ask", "deny"], str, str]]


class ChatCall(Value, frozen=True):
    """A tool call as the model made it. `problem` says why its arguments are not known, `message` which
    message it stands in."""

    call_id: Id
    tool_id: Id
    args: Object
    problem: str = ""
    message: int = 0


class ChatRun(Value, frozen=True):
    """One run: its tools, and what was told and called, in order."""

    run_id: Id
    tools: dict[Id, ToolInfo]
    steps: tuple[ContextItem | ChatCall, ...]
    label: Object = {}


class Judged(Value, frozen=True):
    """The verdict on one call of a run, with the facts it rests on."""

    run: Id
    call_id: Id
    tool_id: Id
    verdict: Literal["allow", "ask", "deny"]
    rule: str
    why: str
    facts: CallFacts


class _Function(msgspec.Struct):
    name: str
    arguments: str | dict[str, Any] = "{}"
    description: str | None = None
    parameters: dict[str, Any] | None = None
    annotations: dict[str, Any] | None = None


class _Call(msgspec.Struct):
    function: _Function
    id: str = ""


class _Message(msgspec.Struct):
    role: str
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None
    structured_content: Any = UNSET


class _Tool(msgspec.Struct):
    function: _Function
    annotations: dict[str, Any] | None = None


class _Line(msgspec.Struct):
    messages: list[_Message]
    id: str | UnsetType = UNSET
    tools: list[_Tool] = []
    metadata: dict[str, Any] = {}
    label: dict[str, Any] = {}


_DECODER: Final = msgspec.json.Decoder(_Line)


def read_runs(path: Path) -> Iterator[ChatRun]:
    """The runs of a file, plain or gzipped. A line that is none ends it with an error that names the line."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if line.strip():
                yield parse_run(line, f"{path.name} line {number}", number)


def parse_run(line: bytes | str, where: str = "run", number: int = 1, *, strict: bool = True) -> ChatRun:
    """The run of a line. Unless `strict`, calls may have arguments that cannot be read: they say so."""
    data = line.encode() if isinstance(line, str) else line
    if len(data) > MAX_LINE:
        raise invalid(f"`{where}`: a run may hold {MAX_LINE} bytes at most", "$")
    try:
        raw = _DECODER.decode(data)
    except msgspec.DecodeError as error:
        raise invalid(f"`{where}` is no chat run: {error}", "$") from None
    if len(raw.messages) > MAX_MESSAGES:
        raise invalid(f"`{where}`: a run may hold {MAX_MESSAGES} messages at most", "$.messages")
    tools = {tool.function.name: _tool(tool) for tool in raw.tools}
    own = raw.metadata.get("own_addresses", [])
    steps: list[ContextItem | ChatCall] = [ContextItem(kind="own_address", text=str(one)) for one in own]
    calls: dict[str, ChatCall] = {}
    for at, message in enumerate(raw.messages):
        steps += _steps(message, calls, f"`{where}` message {at + 1}", at)
    if strict and (bad := [one for one in steps if isinstance(one, ChatCall) and one.problem]):
        raise invalid(bad[0].problem, "$.messages")
    return ChatRun(run_id=raw.id or f"run-{number}", tools=tools, steps=tuple(steps), label=raw.label)


def _tool(tool: _Tool) -> ToolInfo:
    function = tool.function
    hints = tool.annotations or function.annotations or {}
    return annotated(
        ToolInfo(
            tool_id=function.name, description=function.description or "", schema=function.parameters or {}
        ),
        hints,
    )


def annotated(tool: ToolInfo, hints: Mapping[str, Any]) -> ToolInfo:
    """A tool with the hints of the protocol that tools are announced in; `tier` is an operator's word."""
    told = msgspec.structs.replace(
        tool,
        open_world=hints.get("openWorldHint"),
        destructive=hints.get("destructiveHint"),
        identity=bool(hints.get("identityHint", False)),
    )
    told = as_hinted(told, hints.get("readOnlyHint"), shipped_lexicon(ALL))
    return msgspec.structs.replace(told, tier=hints.get("tier") or told.tier)


def _steps(
    message: _Message, calls: dict[str, ChatCall], where: str, at_message: int
) -> Iterator[ContextItem | ChatCall]:
    text = _text(message.content)
    if message.role in ("system", "developer"):
        yield ContextItem(kind="system", text=text)
    elif message.role == "user":
        yield ContextItem(kind="user", text=text)
    elif message.role == "assistant":
        for at, call in enumerate(message.tool_calls or ()):
            args, problem = _args(call, where)
            made = ChatCall(
                call_id=call.id or f"call-{len(calls) + at}",
                tool_id=call.function.name,
                args=args,
                problem=problem,
                message=at_message,
            )
            calls[made.call_id] = made
            yield made
    elif message.role == "tool":
        of = calls.get(message.tool_call_id or "")
        yield ContextItem(
            kind="result",
            text=text,
            structured=message.structured_content,
            call_id=message.tool_call_id or None,
            tool_id=of.tool_id if of else None,
            args=of.args if of else {},
        )
    else:
        raise invalid(
            f"{where}: role `{message.role}` is none of system, developer, user, assistant, tool",
            "$.messages",
        )


def _text(content: str | list[dict[str, Any]] | None) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return content or ""


def _args(call: _Call, where: str) -> tuple[Object, str]:
    """The arguments, and what is wrong with them if there are none."""
    if isinstance(call.function.arguments, dict):
        return call.function.arguments, ""
    try:
        args = msgspec.json.decode(call.function.arguments or "{}")
    except msgspec.DecodeError as error:
        return {}, f"{where}: arguments of `{call.function.name}` are no JSON: {error}"
    if not isinstance(args, dict):
        return {}, f"{where}: arguments of `{call.function.name}` are no object"
    return args, ""


def replay(run: ChatRun, judge: Judge, lexicon: Lexicon) -> list[Judged]:
    """Judges each call on what was told before it. Open loop: the recorded model does not react."""
    session = Session(lexicon)
    found: list[Judged] = []
    refused: set[str] = set()
    for step in run.steps:
        if isinstance(step, ContextItem):
            # What was refused did not happen: what the record says of it is a text.
            told = msgspec.structs.replace(step, error=True) if step.call_id in refused else step
            session.tell(told, run.tools.get(step.tool_id or ""))
            continue
        tool = run.tools.get(step.tool_id) or ToolInfo(tool_id=step.tool_id)
        facts = session.facts(tool, step.args, run.tools)
        verdict, rule, why = judge(facts)
        if verdict == "allow":
            session.allowed(facts)
        else:
            session.refused(facts)
            refused.add(step.call_id)
        found.append(
            Judged(
                run=run.run_id,
                call_id=step.call_id,
                tool_id=step.tool_id,
                verdict=verdict,
                rule=rule,
                why=why,
                facts=facts,
            )
        )
    return found
