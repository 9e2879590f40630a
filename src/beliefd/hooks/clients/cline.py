"""Cline: one executable file per event, an object `cancel` as the answer."""

import json
from typing import Any, ClassVar

from beliefd.hooks.clients.told import kind_of, texts_in
from beliefd.hooks.events import HookEvent, Kind, Replay, Said, object_in, text_in


class Cline:
    """A refusal is what it prints. That a hook fails is no refusal to it: the installed files see to that."""

    moments: ClassVar[dict[str, Kind]] = {
        "UserPromptSubmit": "prompt",
        "PreToolUse": "before",
        "PostToolUse": "after",
        **dict.fromkeys(("TaskStart", "TaskResume", "TaskCancel", "TaskComplete"), "other"),
    }

    def read(self, event: dict[str, Any]) -> HookEvent:
        kind = kind_of(text_in(event, "hookName"), self.moments)
        roots = texts_in(event, "workspaceRoots")
        told: dict[str, Any] = {"conversation": text_in(event, "taskId"), "roots": roots}
        told["cwd"] = roots[0] if roots else None
        if kind == "prompt":
            told["text"] = text_in(object_in(event, "userPromptSubmit"), "prompt")
        elif kind in ("before", "after"):
            use = object_in(event, "preToolUse" if kind == "before" else "postToolUse")
            told |= {"tool_id": text_in(use, "toolName"), "args": object_in(use, "parameters")}
            told["result"] = use.get("result")
            told["failed"] = use.get("success") is False
        return HookEvent(kind=kind, **told)

    def answer(self, event: HookEvent, said: Said) -> Replay:
        if said.verdict == "pass":
            return Replay(stdout='{"cancel": false}\n')
        return Replay(stdout=json.dumps({"cancel": True, "errorMessage": said.reason}) + "\n")
