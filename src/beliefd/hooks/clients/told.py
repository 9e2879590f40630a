"""Clients that tell of an event in one flat object: which names it goes by is all that differs."""

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


class FlatEvents:
    """Reads events by the names that a client gives to their members; a refusal is a blocked tool."""

    moments: ClassVar[dict[str, Kind]]
    name: ClassVar = "hook_event_name"
    conversation: ClassVar = "session_id"
    prompt: ClassVar = "prompt"
    tool: ClassVar = "tool_name"
    args: ClassVar = "tool_input"
    use: ClassVar = "tool_use_id"
    roots: ClassVar[str] = ""
    """Folders of the project; most clients name none."""

    def read(self, event: dict[str, Any]) -> HookEvent:
        name = text_in(event, self.name)
        kind = kind_of(name, self.moments)
        told: dict[str, Any] = {
            "conversation": text_in(event, self.conversation),
            "cwd": optional_text(event, "cwd"),
            "roots": texts_in(event, self.roots),
        }
        if kind == "prompt":
            told["text"], told["added"] = self.said(event, text_in(event, self.prompt))
        elif kind in ("before", "after"):
            told |= {"tool_id": text_in(event, self.tool), "args": object_in(event, self.args)}
            told["join_key"] = optional_text(event, self.use)
        if kind == "after":
            told["result"], told["failed"] = self.outcome(event, name)
        return HookEvent(kind=kind, **told)

    def said(self, event: dict[str, Any], prompt: str) -> tuple[str, str]:
        """What the user said, and what else stands in the prompt.

        INVARIANT: what an agent or a program wrote is never the user's word. Agents write to sub-agents.
        """
        return ("", prompt) if event.get("agent_id") is not None else (prompt, "")

    def outcome(self, event: dict[str, Any], name: str) -> tuple[Any, bool]:
        """What came of a tool, and whether that is an error."""
        failed = name.endswith("Failure")
        return event.get("error" if failed else "tool_response"), failed

    def answer(self, event: HookEvent, said: Said) -> Replay:
        return Replay() if said.verdict == "pass" else blocked(said.reason)


def kind_of(name: str, moments: dict[str, Kind]) -> Kind:
    kind = moments.get(name)
    if kind is None:
        raise BadEvent(f"event `{name[:64]}` is not known")
    return kind


def texts_in(event: dict[str, Any], name: str) -> tuple[str, ...]:
    given = event.get(name)
    return tuple(one for one in given if isinstance(one, str)) if isinstance(given, list) else ()
