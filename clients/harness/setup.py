"""How a client is configured, in words that are the same for every client."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Moment(Enum):
    BEFORE_TOOL = "before a tool"
    AFTER_TOOL = "after a tool"
    PROMPT = "prompt"
    ELICITATION = "elicitation"


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


@dataclass(frozen=True)
class Setup:
    hooks: tuple[Hook, ...] = ()
    servers: Mapping[str, Server] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What only one client knows, beside the rest of its settings file."""
    written: bool = True
    """False: the settings file is somebody else's, for example written by `beliefd hook install`."""


def grouped(setup: Setup, names: Mapping[Moment, str], entry: Any) -> dict[str, Any]:
    """Hooks by event, in the nesting that all three clients have."""
    events: dict[str, Any] = {}
    for hook in setup.hooks:
        group: dict[str, Any] = {"hooks": [{**entry(hook), **hook.fields}]}
        if hook.moment in (Moment.BEFORE_TOOL, Moment.AFTER_TOOL):
            group["matcher"] = ".*"
        events.setdefault(names[hook.moment], []).append(group)
    return events
