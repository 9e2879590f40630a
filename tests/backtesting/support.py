"""Recorded runs of our own making, in the shapes that other systems write."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from beliefd.kernel.policy import Policy
from beliefd.policy.backtesting.files import steps_of
from beliefd.policy.backtesting.steps import Called, Damaged
from beliefd.steward.backtesting.runs import NOTHING_GIVEN, CallVerdict, Given, RunsTrial
from beliefd.testing.world import policy

ALLOW_ALL: dict[str, Any] = {"v": 1, "effect": "allow", "subject": None}
ANY_TOOL: dict[str, Any] = {"*": {"executor": "caller", "tier": "WRITE_LIMITED", "mutates": True}}
WORDS = "Mail the minutes to anna@example.com, please"


def deny(when: Any = None, tool: str | None = None, on_fail: str = "block") -> dict[str, Any]:
    subject = None if tool is None else {"tool_id": tool}
    rule: dict[str, Any] = {"v": 1, "effect": "deny", "subject": subject, "on_fail": on_fail}
    return rule if when is None else {**rule, "when": when}


def eq(path: str, value: Any) -> dict[str, Any]:
    return {"op": "eq", "args": [path, value]}


def rules(tools: dict[str, Any] | None = None, **constraints: Any) -> Policy:
    named = {f"constraint.{name}": one for name, one in {"all": ALLOW_ALL, **constraints}.items()}
    return policy(constraints=named, tools=ANY_TOOL if tools is None else tools)


def written(path: Path, lines: Sequence[Any]) -> Path:
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines))
    return path


def calls_of(path: Path, form: str) -> list[Called]:
    return [one for one in steps_of(path, form) if isinstance(one, Called)]


def verdicts(path: Path, form: str, by: Policy, given: Given = NOTHING_GIVEN) -> list[CallVerdict]:
    found = RunsTrial(by, given).verdicts(steps_of(path, form))
    return [one for one in found if isinstance(one, CallVerdict)]


def damaged(path: Path, form: str) -> list[Damaged]:
    return [one for one in steps_of(path, form) if isinstance(one, Damaged)]


class Chat:
    """A run in chat form, as one line."""

    name = "openai-chat"

    def __init__(self) -> None:
        self.messages: list[Any] = []

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def call(self, name: str, tool: str, args: Any) -> None:
        arguments = args if isinstance(args, str) else json.dumps(args)
        call = {"id": name, "type": "function", "function": {"name": tool, "arguments": arguments}}
        self.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})

    def result(self, name: str, text: str) -> None:
        self.messages.append({"role": "tool", "tool_call_id": name, "content": text})

    @property
    def lines(self) -> list[Any]:
        return [{"id": "r1", "messages": self.messages}]


class Claude:
    """A transcript of Claude Code."""

    name = "claude"

    def __init__(self) -> None:
        self.lines: list[Any] = [{"type": "summary", "summary": "Minutes", "leafUuid": "u0"}]

    def _add(self, kind: str, content: Any, **more: Any) -> None:
        number = len(self.lines)
        message = {"role": kind, "content": content, "id": f"msg_{number}"}
        self.lines.append(
            {
                "type": kind,
                "sessionId": "r1",
                "uuid": f"u{number}",
                "parentUuid": f"u{number - 1}",
                "isSidechain": False,
                "userType": "external",
                "cwd": "/home/ann/shop",
                "version": "2.1.0",
                "timestamp": "2026-01-01T00:00:00.000Z",
                "message": message,
                **more,
            }
        )

    def user(self, text: str, **more: Any) -> None:
        self._add("user", text, **more)

    def call(self, name: str, tool: str, args: Any) -> None:
        self._add("assistant", [{"type": "tool_use", "id": name, "name": tool, "input": args}])

    def result(self, name: str, text: str) -> None:
        block = {"type": "tool_result", "tool_use_id": name, "content": [{"type": "text", "text": text}]}
        self._add("user", [block], toolUseResult={"stdout": text})


class Codex:
    """A rollout of Codex."""

    name = "codex"

    def __init__(self) -> None:
        meta = {"id": "r1", "cwd": "/home/ann/shop", "originator": "codex_exec", "cli_version": "0.90.0"}
        self.lines: list[Any] = []
        self.add("session_meta", **meta)
        context = "<environment_context>\n  <cwd>/home/ann/shop</cwd>\n</environment_context>"
        self.add("response_item", **self._message("user", context))
        self.add("turn_context", cwd="/home/ann/shop", model="gpt", approval_policy="never")

    def add(self, line: str, **payload: Any) -> None:
        self.lines.append({"timestamp": "2026-01-01T00:00:00.000Z", "type": line, "payload": payload})

    def _message(self, role: str, text: str) -> dict[str, Any]:
        return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}

    def user(self, text: str) -> None:
        self.add("response_item", **self._message("user", text))
        self.add("event_msg", type="user_message", message=text, kind="plain")

    def call(self, name: str, tool: str, args: Any) -> None:
        arguments = args if isinstance(args, str) else json.dumps(args)
        self.add("response_item", type="function_call", name=tool, arguments=arguments, call_id=name)

    def result(self, name: str, text: str) -> None:
        self.add("response_item", type="function_call_output", call_id=name, output=text)


class Otlp:
    """A trace: an agent's span, and one per model's answer and per tool."""

    name = "otlp"

    def __init__(self, trace: str = "r1") -> None:
        self.trace = trace
        self.spans: list[dict[str, Any]] = []
        self.told: list[Any] = []
        self.clock = 1
        self._by_id: dict[str, dict[str, Any]] = {}

    def _span(self, name: str, attributes: dict[str, Any], parent: str = "root") -> dict[str, Any]:
        self.clock += 10
        span = {
            "traceId": self.trace,
            "spanId": f"s{len(self.spans)}",
            "parentSpanId": parent,
            "name": name,
            "startTimeUnixNano": str(self.clock),
            "endTimeUnixNano": str(self.clock + 5),
            "attributes": [{"key": key, "value": {"stringValue": one}} for key, one in attributes.items()],
        }
        self.spans.append(span)
        return span

    def user(self, text: str) -> None:
        self.told.append({"role": "user", "parts": [{"type": "text", "content": text}]})

    def call(self, name: str, tool: str, args: Any) -> None:
        told = {"gen_ai.operation.name": "chat"}
        if self.told:
            told["gen_ai.input.messages"] = json.dumps(self.told)
        self._span("chat gpt", told)
        said = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": name,
        }
        if args is not None:
            said["gen_ai.tool.call.arguments"] = json.dumps(args)
        self._by_id[name] = self._span(f"execute_tool {tool}", said)

    def result(self, name: str, text: str) -> None:
        held = self._by_id[name]["attributes"]
        held.append({"key": "gen_ai.tool.call.result", "value": {"stringValue": text}})
        self.told.append(
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": name, "response": text}]}
        )

    def export(self, spans: list[dict[str, Any]]) -> dict[str, Any]:
        return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}

    @property
    def lines(self) -> list[Any]:
        root = {**self.spans[0], "spanId": "root", "parentSpanId": "", "attributes": []}
        return [self.export([one]) for one in self.spans] + [self.export([root])]


FORMS: list[Any] = [Chat, Claude, Codex, Otlp]
