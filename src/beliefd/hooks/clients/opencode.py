"""OpenCode: its plugin (see `installing/opencode.js`) sends these events, and throws what is refused."""

from typing import Any, ClassVar

from beliefd.hooks.clients.told import FlatEvents
from beliefd.hooks.events import Kind


class OpenCode(FlatEvents):
    moments: ClassVar[dict[str, Kind]] = {
        "chat.message": "prompt",
        "tool.execute.before": "before",
        "tool.execute.after": "after",
    }
    name, conversation, prompt = "event", "sessionID", "text"
    tool, args, use = "tool", "args", "callID"

    def said(self, event: dict[str, Any], prompt: str) -> tuple[str, str]:
        return (prompt, "") if event.get("spoken") is not False else ("", prompt)

    def outcome(self, event: dict[str, Any], name: str) -> tuple[Any, bool]:
        return event.get("output"), False
