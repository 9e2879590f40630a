"""What hooks of all clients have in common: an event comes in, a verdict goes out."""

from typing import Any, Final, Literal, Protocol

from msgspec import Struct

BLOCKED: Final = 2
"""The exit code that every client with hooks takes for a refusal."""
Kind = Literal["prompt", "before", "after", "other"]


class BadEvent(Exception):
    """An event that is not understood: it is refused, so that nothing passes by being unknown."""


class HookEvent(Struct, frozen=True, kw_only=True):
    """What a client tells: a prompt, a tool that is about to run, or what came of one.

    `join_key` is the client's own id of this use of a tool; some have none. `text` is what the user said, and
    `added` what stands in the prompt and is not his: files that he only named, news of programs and agents.
    """

    kind: Kind
    conversation: str
    cwd: str | None = None
    roots: tuple[str, ...] = ()
    tool_id: str = ""
    args: dict[str, Any] = {}
    join_key: str | None = None
    text: str = ""
    added: str = ""
    result: Any = None
    failed: bool = False


class Said(Struct, frozen=True, kw_only=True):
    """The verdict on an event, in words for the agent. `unattended`: nobody sits in front of the client."""

    verdict: Literal["pass", "deny", "wait"] = "pass"
    reason: str = ""
    unattended: bool = False


class Replay(Struct, frozen=True, kw_only=True):
    """What the hook process prints, and how it ends."""

    exit_code: int = 0
    stdout: str = ""
    stderr: str = ""


class HookClient(Protocol):
    """One client: how its events read, and how it wants to be answered."""

    def read(self, event: dict[str, Any]) -> HookEvent: ...

    def answer(self, event: HookEvent, said: Said) -> Replay: ...


def text_in(event: dict[str, Any], name: str) -> str:
    value = event.get(name)
    if not isinstance(value, str) or not value:
        raise BadEvent(f"the event has no text `{name}`")
    return value


def object_in(event: dict[str, Any], name: str) -> dict[str, Any]:
    value = event.get(name)
    if not isinstance(value, dict):
        raise BadEvent(f"the event has no object `{name}`")
    return value


def optional_text(event: dict[str, Any], name: str) -> str | None:
    value = event.get(name)
    return value if isinstance(value, str) and value else None


def blocked(reason: str, stdout: str = "") -> Replay:
    """INVARIANT: a refusal is an exit code. Half a text on stdout is taken for talk by some clients."""
    return Replay(exit_code=BLOCKED, stdout=stdout, stderr=reason + "\n")
