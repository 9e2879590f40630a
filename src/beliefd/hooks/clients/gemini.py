"""Gemini CLI: events of its own names, no id per use of a tool."""

from typing import Any, ClassVar

from beliefd.hooks.events import (
    BadEvent,
    HookEvent,
    Kind,
    Replay,
    Said,
    blocked,
    object_in,
    optional_text,
    text_in,
)


class Gemini:
    moments: ClassVar[dict[str, Kind]] = {
        "BeforeAgent": "prompt",
        "BeforeTool": "before",
        "AfterTool": "after",
        **dict.fromkeys(("SessionStart", "SessionEnd", "AfterAgent", "Notification"), "other"),
    }

    def read(self, event: dict[str, Any]) -> HookEvent:
        name = text_in(event, "hook_event_name")
        kind = self.moments.get(name)
        if kind is None:
            raise BadEvent(f"event `{name[:64]}` is not known")
        told: dict[str, Any] = {
            "conversation": text_in(event, "session_id"),
            "cwd": optional_text(event, "cwd"),
        }
        if kind == "prompt":
            told["text"] = text_in(event, "prompt")
        elif kind in ("before", "after"):
            told |= {"tool_id": text_in(event, "tool_name"), "args": object_in(event, "tool_input")}
        if kind == "after":
            response = event.get("tool_response")
            told["result"] = response
            told["failed"] = isinstance(response, dict) and bool(response.get("error"))
        return HookEvent(kind=kind, **told)

    def answer(self, event: HookEvent, said: Said) -> Replay:
        return Replay() if said.verdict == "pass" else blocked(said.reason)
