"""How a client is configured, in words that are the same for every client."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple


class Moment(Enum):
    BEFORE_TOOL = "before a tool"
    AFTER_TOOL = "after a tool"
    TOOL_FAILED = "after a tool that failed"
    PROMPT = "prompt"
    ELICITATION = "elicitation"


ABOUT_TOOLS: Final = (Moment.BEFORE_TOOL, Moment.AFTER_TOOL, Moment.TOOL_FAILED)


@dataclass(frozen=True)
class Hook:
    command: tuple[str, ...]
    moment: Moment = Moment.BEFORE_TOOL
    seconds: int = 60
    fields: Mapping[str, Any] = field(default_factory=dict)
    """What only one client knows, such as `onFailure`."""

    @property
    def line(self) -> str:
        return shlex.join(self.command)


@dataclass(frozen=True)
class Server:
    """An MCP server on stdio."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    name: str = "server"
    """Under which a gateway pins its tools."""


@dataclass(frozen=True)
class Setup:
    hooks: tuple[Hook, ...] = ()
    servers: Mapping[str, Server] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What only one client knows, beside the rest of its settings file."""
    allowed: bool = True
    """Whether the client may use the shell and all servers without asking its person."""
    trusted: bool = True
    """Whether hooks are taken for trusted, where the client asks for that."""


class Launch(NamedTuple):
    command: list[str]
    environment: dict[str, str]


class Outcome(NamedTuple):
    session: str | None
    answer: str


def servers(setup: Setup, **fields: Any) -> dict[str, Any]:
    """MCP servers by name, in the form that all three clients have."""
    return {
        name: {
            "command": server.command[0],
            "args": list(server.command[1:]),
            "env": dict(server.environment),
            **fields,
        }
        for name, server in setup.servers.items()
    }


def hooks(
    setup: Setup, names: Mapping[Moment, str], limit: Callable[[int], int] = lambda seconds: seconds
) -> dict[str, Any]:
    """Hooks by event, in the nesting that all three clients have."""
    events: dict[str, Any] = {}
    for hook in setup.hooks:
        entry = {"type": "command", "command": hook.line, "timeout": limit(hook.seconds)}
        group: dict[str, Any] = {"hooks": [{**entry, **hook.fields}]}
        if hook.moment in ABOUT_TOOLS:
            group["matcher"] = ".*"
        events.setdefault(names[hook.moment], []).append(group)
    return events
