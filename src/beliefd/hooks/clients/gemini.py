"""Gemini CLI: events of its own names, no id per use of a tool."""

from typing import Any, ClassVar, Final

from beliefd.hooks.clients.told import FlatEvents
from beliefd.hooks.events import Kind

_FILES: Final = "--- Content from referenced files ---"
_STEERING: Final = "User steering update:\n<user_input>"


class Gemini(FlatEvents):
    moments: ClassVar[dict[str, Kind]] = {
        "BeforeAgent": "prompt",
        "BeforeTool": "before",
        "AfterTool": "after",
        **dict.fromkeys(("SessionStart", "SessionEnd", "AfterAgent", "Notification"), "other"),
    }

    def said(self, event: dict[str, Any], prompt: str) -> tuple[str, str]:
        """What files hold that the user named (`@page.md`) stands behind his words, and may end as it likes.

        What he says in between comes in one text with what programs in the background printed.
        """
        if prompt.startswith(_STEERING):
            return "", prompt
        words, mark, files = prompt.partition(_FILES)
        return words, mark + files

    def outcome(self, event: dict[str, Any], name: str) -> tuple[Any, bool]:
        response = event.get("tool_response")
        return response, isinstance(response, dict) and bool(response.get("error"))
