"""Gemini CLI: events of its own names, no id per use of a tool."""

from typing import Any, ClassVar

from beliefd.hooks.clients.told import FlatEvents
from beliefd.hooks.events import Kind


class Gemini(FlatEvents):
    moments: ClassVar[dict[str, Kind]] = {
        "BeforeAgent": "prompt",
        "BeforeTool": "before",
        "AfterTool": "after",
        **dict.fromkeys(("SessionStart", "SessionEnd", "AfterAgent", "Notification"), "other"),
    }

    def outcome(self, event: dict[str, Any], name: str) -> tuple[Any, bool]:
        response = event.get("tool_response")
        return response, isinstance(response, dict) and bool(response.get("error"))
