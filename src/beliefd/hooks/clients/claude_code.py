"""Claude Code: `hook_event_name` says what happened."""

import json
from typing import ClassVar

from beliefd.hooks.clients.told import FlatEvents
from beliefd.hooks.events import HookEvent, Kind, Replay, Said


class ClaudeCode(FlatEvents):
    """Allowed is silence: an `allow` would override the client's own question to its user."""

    moments: ClassVar[dict[str, Kind]] = {
        "UserPromptSubmit": "prompt",
        "PreToolUse": "before",
        "PostToolUse": "after",
        "PostToolUseFailure": "after",
        **dict.fromkeys(("SessionStart", "SessionEnd", "Stop", "SubagentStop", "Notification"), "other"),
    }

    def answer(self, event: HookEvent, said: Said) -> Replay:
        if said.verdict == "wait" and event.kind == "before" and said.unattended:
            # With a person in front of it the client does not know how to wait, and would go on by itself.
            decision = {
                "hookEventName": "PreToolUse",
                "permissionDecision": "defer",
                "permissionDecisionReason": said.reason,
            }
            return Replay(stdout=json.dumps({"hookSpecificOutput": decision}) + "\n")
        return super().answer(event, said)
