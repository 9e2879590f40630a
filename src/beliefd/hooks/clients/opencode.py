"""OpenCode: its plugin (see `installing/opencode.js`) sends these events, and throws what is refused."""

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


class OpenCode:
    moments: ClassVar[dict[str, Kind]] = {
        "chat.message": "prompt",
        "tool.execute.before": "before",
        "tool.execute.after": "after",
    }

    def read(self, event: dict[str, Any]) -> HookEvent:
        name = text_in(event, "event")
        kind = self.moments.get(name)
        if kind is None:
            raise BadEvent(f"event `{name[:64]}` is not known")
        told: dict[str, Any] = {
            "conversation": text_in(event, "sessionID"),
            "cwd": optional_text(event, "cwd"),
        }
        if kind == "prompt":
            told["text"] = text_in(event, "text")
        else:
            told |= {"tool_id": text_in(event, "tool"), "args": object_in(event, "args")}
            told["join_key"] = optional_text(event, "callID")
        if kind == "after":
            told["result"] = event.get("output")
        return HookEvent(kind=kind, **told)

    def answer(self, event: HookEvent, said: Said) -> Replay:
        return Replay() if said.verdict == "pass" else blocked(said.reason)
