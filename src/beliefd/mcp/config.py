"""What a gateway is told: its upstreams, which tools go where, what is opened, and its limits."""

import os
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from beliefd.documents import read_document
from beliefd.kernel.errors import invalid
from beliefd.kernel.values import Id
from beliefd.protocol.operation import KIB, MIB
from beliefd.protocol.wire import convert

NAME_PATTERN: Final = r"^[a-z0-9][a-z0-9_-]{0,62}$(?!\n)"
Name = Annotated[str, Meta(pattern=NAME_PATTERN)]
Text = Annotated[str, Meta(min_length=1, max_length=4096)]
Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Opened = bool | tuple[Text, ...]
"""Closed, open, or open for what matches one of these patterns (`*` stands for anything)."""
LAUNCHERS: Final = re.compile(r"(npx|node|uvx?|run|python[\d.]*|docker|deno|bunx?|sh|bash|exec)")
"""Words of a command that start programs and are none themselves."""
PROGRAM_FILE: Final = re.compile(r"\.(py|js|mjs|cjs|ts|sh|exe)$")
ANY_PROGRAM: Final = frozenset(
    {
        "index",
        "main",
        "__main__",
        "server",
        "cli",
        "app",
        "run",
        "start",
        "dist",
        "build",
        "lib",
        "src",
        "bin",
    }
)
"""Names of files and folders that say nothing of the program: the folder around them does."""
BASE_VARIABLES: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TERM", "USER")
"""What a child gets without being asked: enough to find and start a program, no secret among them."""


def opens(opened: Opened, name: str) -> bool:
    if isinstance(opened, bool):
        return opened
    return any(fnmatchcase(name, pattern) for pattern in opened)


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what stands in the file: a field that nobody knows is an error."""


class Limits(Settings, frozen=True):
    """Bounds on what an upstream can do to the gateway and to the agent behind it.

    A message larger than `message_bytes` is dropped as it arrives, and the call that it answers is unknown.
    Of a result larger than `result_bytes` the client gets a head; the whole is kept as content. More than
    `notifications_per_second` are dropped. `call_seconds` holds where policy gives a call more.
    """

    message_bytes: Annotated[int, Meta(ge=KIB, le=256 * MIB)] = 12 * MIB
    result_bytes: Annotated[int, Meta(ge=KIB, le=64 * MIB)] = 256 * KIB
    notifications_per_second: Annotated[int, Meta(ge=1, le=10_000)] = 200
    tools: Annotated[int, Meta(ge=1, le=10_000)] = 1_000
    concurrent_calls: Annotated[int, Meta(ge=1, le=10_000)] = 256
    start_seconds: Seconds = 60
    call_seconds: Seconds = 3_600


class Upstream(Settings, frozen=True):
    """A tool server: a command that talks over its standard streams, or an address.

    `environment` names the variables that the command gets beside the basic ones. `tools` is the route table:
    the name that clients see, and the tool's name there. Of several upstreams each has one; without it,
    a sole upstream has all its tools by their own names.
    `headers` names, per header of a request, the variable of the environment that holds its value.
    """

    command: tuple[Text, ...] = ()
    environment: tuple[Id, ...] = ()
    directory: str | None = None
    url: Text | None = None
    headers: dict[Id, Id] = {}
    tools: dict[Id, Id] | None = None
    protocol: Literal["auto", "legacy"] = "auto"


class GatewayConfig(Settings, frozen=True):
    """Everything but the name of one upstream has a safe default: closed, or off."""

    upstreams: Annotated[dict[Name, Upstream], Meta(min_length=1, max_length=64)]
    name: Name = "gateway"
    hold_seconds: Annotated[float, Meta(ge=0, le=3_600)] = 0
    resources: Opened = False
    prompts: Opened = False
    logging: bool = True
    sampling: bool = False
    roots: tuple[Text, ...] = ()
    point_at_inbox: bool = True
    limits: Limits = Limits()


def read_config(path: Path) -> GatewayConfig:
    return checked(convert(read_document(path), GatewayConfig))


def of_command(
    command: tuple[str, ...], name: str | None = None, environment: tuple[str, ...] = ()
) -> GatewayConfig:
    """One upstream on the command line: a command, or an address alone."""
    is_address = len(command) == 1 and command[0].startswith(("http://", "https://"))
    upstream: dict[str, Any] = {"url": command[0]} if is_address else {"command": list(command)}
    chosen = name or name_of(command)
    value = {"name": chosen, "upstreams": {chosen: {**upstream, "environment": list(environment)}}}
    return checked(convert(value, GatewayConfig))


def name_of(command: tuple[str, ...]) -> str:
    """A name out of a command or an address: that of the program which it starts, or of the host.

    Definitions are pinned under it. So it is the same whenever the same server is started, and another one
    for another server.
    """
    if len(command) == 1 and "://" in command[0]:
        words = [command[0].partition("://")[2].partition("/")[0]]
    else:
        words = [_program(word) for word in command if not word.startswith("-")]
        words = [word for word in words if not LAUNCHERS.fullmatch(word)]
    stem = PROGRAM_FILE.sub("", re.sub(r"(?<=.)@.*$", "", "".join(words[:1]).lower()))
    return re.sub(r"[^a-z0-9_-]+", "-", stem).strip("-_")[:63] or "gateway"


def _program(word: str) -> str:
    """The last part of a path that names something: `server-git` of `server-git/dist/index.js`."""
    last = word.rstrip("/").rpartition("/")[2]
    if not PROGRAM_FILE.search(last):
        return last
    parts = [last, *reversed(os.path.abspath(word).split("/")[1:-1])]
    telling = (one for one in parts if PROGRAM_FILE.sub("", one.lower()) not in ANY_PROGRAM)
    return next(telling, last)


def checked(config: GatewayConfig) -> GatewayConfig:
    """Refuse what cannot be meant: an upstream that is neither or both, one route to two places."""
    seen: dict[str, str] = {}
    for name, upstream in config.upstreams.items():
        place = f"$.upstreams.{name}"
        if bool(upstream.command) == bool(upstream.url):
            raise invalid(f"upstream `{name}` needs a `command` or a `url`, and not both", place)
        if upstream.url and not upstream.url.startswith(("http://", "https://")):
            raise invalid(f"`{upstream.url}` begins neither with http:// nor with https://", f"{place}.url")
        for shown in upstream.tools or {}:
            if shown in seen:
                raise invalid(f"`{shown}` is routed to `{seen[shown]}` and to `{name}`", f"{place}.tools")
            seen[shown] = name
    return config
