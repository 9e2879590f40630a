"""Rollouts of Codex: one JSON object per line, under `~/.codex/sessions`."""

import shlex
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

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
    workspace,
)

KINDS: Final = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
SHELL: Final = "Bash"
"""What hooks of this client call its shell, whatever the model calls it: policies are written for that."""
SHELLS: Final = frozenset({"shell", "shell_command", "exec_command", "local_shell", "container.exec"})
NOT_TYPED: Final = ("<", "# AGENTS.md instructions")
"""What the client puts into the user's turn begins so. Of newer rollouts only what was typed counts."""
_BY_SHELL: Final = 3


class _Entry(Struct):
    type: str
    payload: dict[str, Any] = {}


_read = msgspec.json.Decoder(_Entry).decode


def fits(value: dict[str, Any]) -> bool:
    return value.get("type") in KINDS and isinstance(value.get("payload"), dict)


def steps(lines: Iterable[Line]) -> Iterator[Step]:
    """Which calls were made together is not said: those that no result stands between.

    So whether a result is missing shows when the next turn begins.
    """
    turn: list[Step] = []
    at = ""
    for step in _steps(lines):
        if isinstance(step, Began) or (isinstance(step, Called) and step.turn != at):
            yield from _whole(turn)
            turn = []
        at = step.turn if isinstance(step, Called) else at
        turn.append(step)
    yield from _whole(turn)


def _whole(turn: list[Step]) -> Iterator[Step]:
    """A turn, in which a call that has no result may be what the next one of them rests on."""
    results = {one.call_id for one in turn if isinstance(one, ContextItem)}
    gap: Missing | None = None
    for step in turn:
        if isinstance(step, Called):
            if gap is not None:
                yield gap
            if step.call_id not in results:
                gap = without_result(step)
        yield step


def _steps(lines: Iterable[Line]) -> Iterator[Step]:
    run: _Run | None = None
    for line in lines:
        try:
            entry = _read(line.data or b"")
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield Damaged(line.number, str(error) if line.data is not None else "it is too long")
            continue
        if run is None or entry.type == "session_meta":
            run = _Run(entry.payload.get("cwd"))
            yield Began(named(entry.payload.get("id"), f"line-{line.number}"))
        yield from run.steps(entry.type, entry.payload, line.number)


class _Run:
    """What is remembered of a run while it is read. A turn is what is called before any result."""

    def __init__(self, cwd: Any) -> None:
        self.cwd = self.root = cwd if isinstance(cwd, str) else None
        self.calls: dict[str, tuple[str, Object]] = {}
        self.turn = 0
        self.typed = False

    def steps(self, kind: str, payload: dict[str, Any], number: int) -> Iterator[Step]:
        what = payload.get("type")
        if kind == "turn_context" and isinstance(payload.get("cwd"), str):
            self.cwd = payload["cwd"]
            self.root = self.root or self.cwd
        elif kind == "event_msg" and what == "user_message":
            self.typed = True
            yield ContextItem(kind="user", text=parts_text(payload.get("message")))
        elif kind == "response_item" and what == "message" and payload.get("role") == "user":
            text = parts_text(payload.get("content"))
            if not self.typed and text.strip() and not text.lstrip().startswith(NOT_TYPED):
                yield ContextItem(kind="user", text=text)
        elif kind == "response_item" and what in _ARGUMENTS:
            yield self._called(payload, str(what), number)
        elif kind == "response_item" and isinstance(what, str) and what.endswith("_output"):
            self.turn += 1
            yield self._result(payload, number)

    def _called(self, payload: dict[str, Any], what: str, number: int) -> Called:
        call_id = named(payload.get("call_id") or payload.get("id"), f"line-{number}")
        tool = named(payload.get("name"), "local_shell" if what == "local_shell_call" else "unknown")
        if isinstance(space := payload.get("namespace"), str) and space:
            tool = f"{space.removesuffix('__')}__{tool}"
        args, cwd = _ARGUMENTS[what](payload), self.cwd
        if args is not None and tool in SHELLS:
            cwd = args.get("workdir") or args.get("working_directory") or cwd
            tool, args = SHELL, {"command": _command(args)}
        self.calls[call_id] = tool, args or {}
        return Called(
            call_id,
            tool,
            args or {},
            "" if args is not None else "its arguments are not in the trace, or no object",
            turn=str(self.turn),
            workspace=workspace(cwd, self.root),
        )

    def _result(self, payload: dict[str, Any], number: int) -> ContextItem:
        call_id, output = named(payload.get("call_id"), f"line-{number}"), payload.get("output")
        tool, args = self.calls.pop(call_id, (None, {}))
        failed = isinstance(output, dict) and output.get("success") is False
        if isinstance(output, dict):
            output = output.get("content", "")
        return ContextItem(
            kind="result", text=parts_text(output), call_id=call_id, tool_id=tool, args=args, error=failed
        )


def _json(payload: dict[str, Any]) -> Object | None:
    given = payload.get("arguments")
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given or "{}")
        except (msgspec.DecodeError, UnicodeError):
            return None
    return given if isinstance(given, dict) else None


def _input(payload: dict[str, Any]) -> Object | None:
    return {"input": payload["input"]} if isinstance(payload.get("input"), str) else None


def _action(payload: dict[str, Any]) -> Object | None:
    action = payload.get("action")
    return action if isinstance(action, dict) and "command" in action else None


_ARGUMENTS: Final = {"function_call": _json, "custom_tool_call": _input, "local_shell_call": _action}


def _command(args: Object) -> Any:
    """The command as one text, as hooks are told it; what is none stays what it is, and is not read."""
    given = args.get("command", args.get("cmd"))
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        return given
    if len(given) == _BY_SHELL and given[1] in ("-c", "-lc") and given[0].endswith("sh"):
        return given[2]
    return shlex.join(given)
