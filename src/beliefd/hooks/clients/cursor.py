"""Cursor: wants to be told that something is allowed."""

import json
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


class Cursor:
    """Without an explicit `allow` it may ask its user, whose answer is no approval."""

    moments: ClassVar[dict[str, Kind]] = {
        "beforeSubmitPrompt": "prompt",
        "preToolUse": "before",
        "postToolUse": "after",
        "postToolUseFailure": "after",
        **dict.fromkeys(("sessionStart", "sessionEnd", "stop"), "other"),
    }

    def read(self, event: dict[str, Any]) -> HookEvent:
        name = text_in(event, "hook_event_name")
        kind = self.moments.get(name)
        if kind is None:
            raise BadEvent(f"event `{name[:64]}` is not known")
        roots = event.get("workspace_roots")
        told: dict[str, Any] = {
            "conversation": text_in(event, "conversation_id"),
            "cwd": optional_text(event, "cwd"),
            "roots": tuple(one for one in roots if isinstance(one, str)) if isinstance(roots, list) else (),
        }
        if kind == "prompt":
            told["text"] = text_in(event, "prompt")
        elif kind in ("before", "after"):
            told |= {"tool_id": text_in(event, "tool_name"), "args": object_in(event, "tool_input")}
            told["join_key"] = optional_text(event, "tool_use_id")
        if kind == "after":
            told["failed"] = name.endswith("Failure")
            told["result"] = event.get("error_message") if told["failed"] else event.get("tool_output")
        return HookEvent(kind=kind, **told)

    def answer(self, event: HookEvent, said: Said) -> Replay:
        if said.verdict != "pass":
            told: dict[str, Any] = {
                "permission": "deny",
                "user_message": said.reason,
                "agent_message": said.reason,
            }
            if event.kind == "prompt":
                told["continue"] = False
            return blocked(said.reason, json.dumps(told) + "\n")
        if event.kind == "before":
            return Replay(stdout='{"permission": "allow"}\n')
        return Replay(stdout='{"continue": true}\n' if event.kind == "prompt" else "")
