"""What a recorded run consists of, in whatever format it was recorded."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from beliefd.kernel.origin import ContextItem, ToolInfo
from beliefd.kernel.substrate.provenance import Workspace
from beliefd.kernel.values import Object

MAX_NAME: Final = 256
"""Names in a trace are strangers' texts: what is longer is cut."""


class Line(Struct, frozen=True):
    """A line of a file. `data` is None if it is too long to be read."""

    number: int
    data: bytes | None


class Began(Struct, frozen=True):
    """A run begins. `kind` is what its label calls it, `tools` is what the trace says of tools."""

    run: str
    tools: dict[str, ToolInfo] = {}
    kind: str = "run"


class Called(Struct, frozen=True):
    """A tool call as the model made it. `problem` says why its arguments are not known.

    Calls of one `turn` were made together: none of them had seen the result of another.
    """

    call_id: str
    tool_id: str
    args: Object = {}
    problem: str = ""
    turn: str = ""
    workspace: Workspace | None = None


class Missing(Struct, frozen=True):
    """The agent was told something that the trace does not carry: what follows rests on it."""

    why: str


class Damaged(Struct, frozen=True):
    """A line that cannot be read. The others are."""

    line: int
    why: str


Step = Began | ContextItem | Called | Missing | Damaged
Reader = Callable[[Iterable[Line]], Iterator[Step]]


def with_gaps(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps, and what is missing: calls whose results the model had, and the trace has not.

    INVARIANT: a damaged line may have held anything: whatever follows it in its run rests on more than is
    known.
    """
    waiting: dict[str, Called] = {}
    for step in steps:
        if isinstance(step, Began):
            waiting.clear()
        elif isinstance(step, Called):
            for one in [one for one in waiting.values() if not one.turn or one.turn != step.turn]:
                del waiting[one.call_id]
                yield without_result(one)
            waiting[step.call_id] = step
        elif isinstance(step, ContextItem) and step.kind == "result" and waiting:
            waiting.pop(step.call_id if step.call_id in waiting else next(iter(waiting)), None)
        elif isinstance(step, Damaged):
            yield Missing(f"line {step.line} of the trace cannot be read")
        yield step


def without_result(call: Called) -> Missing:
    return Missing(f"the result of `{call.tool_id}` (`{call.call_id}`) is not in the trace")


def named(text: Any, otherwise: str) -> str:
    """A name as a trace gives it, or another one where it gives none."""
    return text[:MAX_NAME] if isinstance(text, str) and text else otherwise


def workspace(cwd: Any, root: str | None) -> Workspace | None:
    """Where a call ran, and what the user's project is: the folder that the run began in."""
    if not isinstance(cwd, str) or not cwd.startswith("/") or "\0" in cwd:
        return None
    return Workspace(cwd=cwd, roots=(root,) if root else ())


def parts_text(content: Any) -> str:
    """The text of a content that is one, or that consists of parts of which some have texts."""
    if isinstance(content, list):
        found = (part.get("text", part.get("content")) for part in content if isinstance(part, dict))
        return "\n".join(one for one in found if isinstance(one, str))
    return content if isinstance(content, str) else ""
