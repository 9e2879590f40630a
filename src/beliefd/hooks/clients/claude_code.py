"""Claude Code: `hook_event_name` says what happened."""

import json
import re
from typing import Any, ClassVar, Final

from beliefd.hooks.clients.told import FlatEvents
from beliefd.hooks.events import HookEvent, Kind, Replay, Said

_BY_MACHINE: Final = re.compile(r"\s*<(task-notification|teammate-message|cross-session-message|channel)\b")


class ClaudeCode(FlatEvents):
    """Allowed is silence: an `allow` would override the client's own question to its user."""

    moments: ClassVar[dict[str, Kind]] = {
        "UserPromptSubmit": "prompt",
        "PreToolUse": "before",
        "PostToolUse": "after",
        "PostToolUseFailure": "after",
        **dict.fromkeys(("SessionStart", "SessionEnd", "Stop", "SubagentStop", "Notification"), "other"),
    }

    def said(self, event: dict[str, Any], prompt: str) -> tuple[str, str]:
        """It tells who wrote the prompt; older ones do not, and are known by how machines begin theirs."""
        source = event.get("source")
        by_machine = _BY_MACHINE.match(prompt) if source is None else source not in ("user", "sdk")
        return ("", prompt) if by_machine else super().said(event, prompt)

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
