"""Traces of OpenTelemetry (OTLP as JSON, one export per line) with spans of the GenAI conventions.

Spans come in the order in which they ended, those of many traces between each other. A trace is a run. It is
read when its root span is there, and those that are open are bounded: what was read and goes on is not whole.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from beliefd.kernel.origin import ContextItem
from beliefd.kernel.values import Object
from beliefd.policy.backtesting.steps import (
    Began,
    Called,
    Damaged,
    Line,
    Missing,
    Step,
    named,
    parts_text,
    without_result,
)

MOST_OPEN: Final = 256
MOST_SPANS: Final = 10_000
MOST_REMEMBERED: Final = 4_096
SAYS_NOTHING: Final = "the trace does not carry what the agent was told (`gen_ai.input.messages`)"
TOGETHER: Final = "one"
"""When calls ended is said by their spans, so nothing follows from the order in which they were made."""
_READ_BY: Final = "gen_ai.input.messages"


class _Value(Struct, frozen=True):
    string: str | UnsetType = msgspec.field(default=UNSET, name="stringValue")
    boolean: bool | UnsetType = msgspec.field(default=UNSET, name="boolValue")
    integer: int | str | UnsetType = msgspec.field(default=UNSET, name="intValue")
    number: float | UnsetType = msgspec.field(default=UNSET, name="doubleValue")
    array: Any = msgspec.field(default=UNSET, name="arrayValue")
    pairs: Any = msgspec.field(default=UNSET, name="kvlistValue")


class _Attribute(Struct):
    key: str
    value: _Value = _Value()


class _Span(Struct):
    trace: str = msgspec.field(name="traceId")
    span: str = msgspec.field(default="", name="spanId")
    parent: str = msgspec.field(default="", name="parentSpanId")
    start: int | str = msgspec.field(default=0, name="startTimeUnixNano")
    end: int | str = msgspec.field(default=0, name="endTimeUnixNano")
    attributes: list[_Attribute] = []
    status: dict[str, Any] = {}


class _Scope(Struct):
    spans: list[_Span] = []


class _Resource(Struct):
    scopes: list[_Scope] = msgspec.field(default=[], name="scopeSpans")


class _Export(Struct):
    resources: list[_Resource] = msgspec.field(name="resourceSpans")


_read = msgspec.json.Decoder(_Export).decode


def fits(value: dict[str, Any]) -> bool:
    return isinstance(value.get("resourceSpans"), list)


class _Open(Struct):
    """A trace whose spans are being gathered; `again` if some of them were read before."""

    spans: list[_Span] = msgspec.field(default_factory=list)
    again: bool = False


def steps(lines: Iterable[Line]) -> Iterator[Step]:
    held: OrderedDict[str, _Open] = OrderedDict()
    told: OrderedDict[str, None] = OrderedDict()

    def over(trace: str) -> Iterator[Step]:
        told[trace] = None
        if len(told) > MOST_REMEMBERED:
            told.popitem(last=False)
        yield from _run(trace, held.pop(trace))

    for line in lines:
        try:
            export = _read(line.data or b"")
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield Damaged(line.number, str(error) if line.data is not None else "it is too long")
            for trace in [*held]:
                held[trace].again = True  # it may have held more of any of them
            continue
        for span in (one for r in export.resources for scope in r.scopes for one in scope.spans):
            found = held.setdefault(span.trace, _Open(again=span.trace in told))
            found.spans.append(span)
            held.move_to_end(span.trace)
            if not span.parent or len(found.spans) >= MOST_SPANS:
                yield from over(span.trace)
        while len(held) > MOST_OPEN:
            yield from over(next(iter(held)))
    for trace in [*held]:
        yield from over(trace)


def _run(trace: str, held: _Open) -> Iterator[Step]:
    """What was told before a call began comes before it: results, and what models read."""
    asked = [(span, {one.key: _value(one.value) for one in span.attributes}) for span in held.spans]
    spans = [(span, said) for span, said in asked if "gen_ai.operation.name" in said]
    if not spans:
        return
    run = _Run()
    moments: list[tuple[int, int, list[Step | Ended]]] = []
    for span, said in spans:
        if said["gen_ai.operation.name"] == "execute_tool":
            call = _called(span, said)
            moments.append((_nanos(span.start), 1, [call]))
            moments.append((_nanos(span.end), 0, [_result(span, said, call) or Ended(call)]))
        else:
            moments.append((_nanos(span.start), 0, [*_messages(said)]))
    yield Began(named(trace, "trace"))
    if held.again:
        yield Missing("spans of this trace came apart from the others, or a line between them is damaged")
    for _, _, found in sorted(moments, key=lambda one: one[:2]):
        yield from run.new(found)


class Ended(Struct, frozen=True):
    """A call has ended, and its span does not say with what."""

    call: Called


class _Run:
    """What was told of a run so far: every message of a model's input is told once, every result, too."""

    def __init__(self) -> None:
        self.said: set[tuple[str, str]] = set()
        self.results: set[str | None] = set()
        self.without: dict[str, Called] = {}
        self.speaks = False

    def new(self, found: Iterable[Step | Ended]) -> Iterator[Step]:
        for step in found:
            if isinstance(step, Ended):
                self.without[step.call.call_id] = step.call
            elif isinstance(step, Called):
                yield from self._gaps()
                yield step
            elif isinstance(step, ContextItem) and self._is_new(step):
                yield step

    def _gaps(self) -> Iterator[Missing]:
        if not self.speaks:
            yield Missing(SAYS_NOTHING)
        for name, call in self.without.items():
            if name not in self.results:
                yield without_result(call)
        self.without.clear()

    def _is_new(self, item: ContextItem) -> bool:
        if item.kind == "result":
            new = item.call_id not in self.results
            self.results.add(item.call_id)
            return new
        new = (item.kind, item.text) not in self.said
        self.said.add((item.kind, item.text))
        self.speaks = self.speaks or item.kind == "user"
        return new


def _called(span: _Span, said: Object) -> Called:
    args = _parsed(said.get("gen_ai.tool.call.arguments"))
    known = isinstance(args, dict)
    return Called(
        named(said.get("gen_ai.tool.call.id"), named(span.span, "call")),
        named(said.get("gen_ai.tool.name"), "unknown"),
        args if known else {},
        "" if known else "its arguments are not in the trace (`gen_ai.tool.call.arguments`)",
        turn=TOGETHER,
    )


def _result(span: _Span, said: Object, call: Called) -> ContextItem | None:
    given = said.get("gen_ai.tool.call.result")
    if given is None:
        return None
    parsed = _parsed(given)
    return ContextItem(
        kind="result",
        text=given if isinstance(given, str) else msgspec.json.encode(given).decode(),
        structured=parsed if isinstance(parsed, dict | list) else UNSET,
        call_id=call.call_id,
        tool_id=call.tool_id,
        args=call.args,
        error=span.status.get("code") in (2, "STATUS_CODE_ERROR"),
    )


def _messages(said: Object) -> Iterator[Step]:
    system = _parsed(said.get("gen_ai.system_instructions"))
    if text := parts_text(system):
        yield ContextItem(kind="system", text=text)
    messages = _parsed(said.get(_READ_BY))
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict):
            yield from _message(message)


def _message(message: Object) -> Iterator[Step]:
    role, parts = message.get("role"), message.get("parts", message.get("content"))
    if role in ("user", "system", "developer"):
        text = parts_text([one for one in parts if _is_text(one)] if isinstance(parts, list) else parts)
        if text:
            yield ContextItem(kind="user" if role == "user" else "system", text=text)
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and part.get("type") == "tool_call_response":
            given = part.get("response", part.get("result"))
            text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
            yield ContextItem(kind="result", text=text, call_id=named(part.get("id"), "unknown"))


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text"


def _value(one: _Value) -> Any:
    if one.integer is not UNSET:
        return int(one.integer)
    if isinstance(one.array, dict):
        return [_value(_convert(item)) for item in one.array.get("values", ())]
    if isinstance(one.pairs, dict):
        return {item["key"]: _value(_convert(item.get("value"))) for item in one.pairs.get("values", ())}
    return next((part for part in (one.string, one.boolean, one.number) if part is not UNSET), None)


def _convert(raw: Any) -> _Value:
    return msgspec.convert(raw or {}, _Value)


def _parsed(value: Any) -> Any:
    """Structures stand in attributes as they are, or as JSON in a text."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeError):
        return value


def _nanos(value: int | str) -> int:
    return int(value) if isinstance(value, int) or value.isdigit() else 0
