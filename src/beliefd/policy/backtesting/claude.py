"""Transcripts of Claude Code: one JSON object per line, under `~/.claude/projects`."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from beliefd.kernel.origin import ContextItem
from beliefd.policy.backtesting.steps import (
    Began,
    Called,
    Damaged,
    Line,
    Step,
    named,
    parts_text,
    workspace,
)

NOT_TYPED: Final = ("<system-reminder>", "<local-command-", "<command-", "<task-notification>")
"""What the client itself writes into the user's turn begins so. Nobody typed it."""


class _Block(Struct):
    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: Any = UNSET
    tool_use_id: str = ""
    content: Any = None
    is_error: bool | None = None


class _Message(Struct):
    content: str | list[_Block] = ""
    id: str | None = None


class _Attached(Struct):
    type: str = ""
    prompt: Any = None


class _Entry(Struct):
    type: str
    session_id: str | UnsetType = msgspec.field(default=UNSET, name="sessionId")
    message: _Message | UnsetType = UNSET
    cwd: str | None = None
    is_meta: bool = msgspec.field(default=False, name="isMeta")
    is_sidechain: bool = msgspec.field(default=False, name="isSidechain")
    is_summary: bool = msgspec.field(default=False, name="isCompactSummary")
    attachment: _Attached | UnsetType = UNSET


_read = msgspec.json.Decoder(_Entry).decode


def fits(value: dict[str, Any]) -> bool:
    return "sessionId" in value or ("leafUuid" in value and value.get("type") == "summary")


def steps(lines: Iterable[Line]) -> Iterator[Step]:
    """Every stretch of lines of one session is a run. What subagents call belongs to it: so hooks tell it."""
    run: _Run | None = None
    for line in lines:
        try:
            entry = _read(line.data or b"")
            if entry.type in ("user", "assistant") and entry.message is UNSET:
                raise msgspec.ValidationError("it has no `message`")
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield Damaged(line.number, str(error) if line.data is not None else "it is too long")
            continue
        if entry.session_id is not UNSET and (run is None or run.name != entry.session_id):
            run = _Run(entry.session_id)
            yield Began(named(run.name, f"line-{line.number}"))
        if run is not None:
            yield from run.steps(entry, line.number)


class _Run:
    """What is remembered of a run while it is read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.root: str | None = None
        self.calls: dict[str, str] = {}

    def steps(self, entry: _Entry, number: int) -> Iterator[Step]:
        self.root = self.root or entry.cwd
        if entry.attachment is not UNSET and entry.attachment.type == "queued_command":
            yield ContextItem(kind="user", text=parts_text(entry.attachment.prompt))
        if entry.message is UNSET:
            return
        content = entry.message.content
        blocks = [_Block(type="text", text=content)] if isinstance(content, str) else content
        for at, block in enumerate(blocks):
            if block.type == "tool_use" and entry.type == "assistant":
                yield self._called(block, entry, f"line-{number}-{at}")
            elif block.type == "tool_result":
                yield self._result(block)
            elif block.type == "text" and entry.type == "user" and _is_typed(entry, block.text):
                yield ContextItem(kind="user", text=block.text)

    def _called(self, block: _Block, entry: _Entry, otherwise: str) -> Called:
        call_id, tool = named(block.id, otherwise), named(block.name, "unknown")
        self.calls[call_id] = tool
        known = isinstance(block.input, dict)
        return Called(
            call_id,
            tool,
            block.input if known else {},
            "" if known else "its arguments are not in the trace",
            turn="" if entry.message is UNSET else entry.message.id or "",
            workspace=workspace(entry.cwd, self.root),
        )

    def _result(self, block: _Block) -> ContextItem:
        call_id = named(block.tool_use_id, "unknown")
        return ContextItem(
            kind="result",
            text=parts_text(block.content),
            call_id=call_id,
            tool_id=self.calls.pop(call_id, None),
            error=block.is_error is True,
        )


def _is_typed(entry: _Entry, text: str) -> bool:
    """INVARIANT: what a model or the client wrote does not count as the user's word."""
    apart = entry.is_meta or entry.is_sidechain or entry.is_summary
    return not apart and bool(text.strip()) and not text.lstrip().startswith(NOT_TYPED)
