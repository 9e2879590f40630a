"""Cursor: wants to be told that something is allowed."""

import json
from typing import Any, ClassVar

from beliefd.hooks.clients.told import FlatEvents
from beliefd.hooks.events import HookEvent, Kind, Replay, Said, blocked


class Cursor(FlatEvents):
    """Without an explicit `allow` it may ask its user, whose answer is no approval."""

    moments: ClassVar[dict[str, Kind]] = {
        "beforeSubmitPrompt": "prompt",
        "preToolUse": "before",
        "postToolUse": "after",
        "postToolUseFailure": "after",
        **dict.fromkeys(("sessionStart", "sessionEnd", "stop"), "other"),
    }

    conversation, roots = "conversation_id", "workspace_roots"

    def outcome(self, event: dict[str, Any], name: str) -> tuple[Any, bool]:
        failed = name.endswith("Failure")
        return event.get("error_message" if failed else "tool_output"), failed

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
