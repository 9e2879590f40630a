"""Claude Code: `hook_event_name` says what happened."""

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


class ClaudeCode:
    """Allowed is silence: an `allow` would override the client's own question to its user."""

    moments: ClassVar[dict[str, Kind]] = {
        "UserPromptSubmit": "prompt",
        "PreToolUse": "before",
        "PostToolUse": "after",
        "PostToolUseFailure": "after",
        **dict.fromkeys(("SessionStart", "SessionEnd", "Stop", "SubagentStop", "Notification"), "other"),
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
            told["join_key"] = optional_text(event, "tool_use_id")
        if kind == "after":
            told["failed"] = name.endswith("Failure")
            told["result"] = event.get("error") if told["failed"] else event.get("tool_response")
        return HookEvent(kind=kind, **told)

    def answer(self, event: HookEvent, said: Said) -> Replay:
        if said.verdict == "pass":
            return Replay()
        if said.verdict == "wait" and event.kind == "before" and said.unattended:
            # With a person in front of it the client does not know how to wait, and would go on by itself.
            decision = {
                "hookEventName": "PreToolUse",
                "permissionDecision": "defer",
                "permissionDecisionReason": said.reason,
            }
            return Replay(stdout=json.dumps({"hookSpecificOutput": decision}) + "\n")
        return blocked(said.reason)
