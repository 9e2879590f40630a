"""Does what a client is configured to start reach the server, and block when it does not?"""

import json
import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from beliefd.hooks.entry import BLOCKED
from beliefd.hooks.installing import INSTALLATIONS
from beliefd.hooks.installing.writing import Found, NotInstalled

PATIENCE_SECONDS: Final = 60


class Finding(Struct, frozen=True):
    """One thing that was looked at."""

    client: str
    level: Literal["ok", "wrong"]
    message: str


def examine(client: str | None, project: Path) -> Iterator[Finding]:
    """Every place where hooks are; without a client, every client that has some."""
    seen: set[Path] = set()
    broken = False
    for name in INSTALLATIONS if client is None else (client,):
        here = len(seen)
        for place in (None, project):
            try:
                found = INSTALLATIONS[name].found(place)
            except NotInstalled as error:
                yield Finding(name, "wrong", str(error))
                broken = True
                continue
            if found is not None and found.path.resolve() not in seen:
                seen.add(found.path.resolve())  # a home may be the project
                yield from _examined(name, found)
        if len(seen) > here:
            yield from _switched_off(name, project)
    if not (seen or broken):
        yield Finding(client or "hooks", "wrong", "no hook is installed; use `beliefd hook install`")


def _examined(client: str, found: Found) -> Iterator[Finding]:
    for problem in found.problems:
        yield Finding(client, "wrong", f"`{found.path}`: {problem}")
    for command in dict.fromkeys(found.commands.values()):
        yield _canary(client, command)
        yield _blocks(client, command)


def _switched_off(client: str, project: Path) -> Iterator[Finding]:
    """A command that works is started by nobody where the client's settings say so."""
    try:
        for problem in INSTALLATIONS[client].off(project):
            yield Finding(client, "wrong", problem)
    except NotInstalled as error:
        yield Finding(client, "wrong", str(error))


def _canary(client: str, command: str) -> Finding:
    """INVARIANT: only the server knows what to answer; that a hook ran and was silent proves nothing."""
    nonce = secrets.token_hex(16)
    code, printed, errors = _run(command, nonce, {})
    if code == 0 and f"beliefd received {nonce} from " in printed:
        return Finding(client, "ok", printed.strip())
    said = errors.strip() or printed.strip() or f"it ended with {code} and said nothing"
    return Finding(client, "wrong", f"no event arrived at the server: {said}")


def _blocks(client: str, command: str) -> Finding:
    code, printed, _ = _run(command, "x", {"BELIEFD_HOOK_NOWHERE": "1"})
    if code == BLOCKED or '"cancel": true' in printed:
        return Finding(client, "ok", "without a server it blocks")
    return Finding(client, "wrong", f"without a server it does not block: it ended with {code}")


def _run(command: str, nonce: str, more: dict[str, str]) -> tuple[int, str, str]:
    try:
        done = subprocess.run(  # noqa: S602 - as the client starts it, which is what is tried
            command,
            shell=True,
            input=json.dumps({"beliefd_canary": nonce}),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            env={**os.environ, **more},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, "", "it did not end"
    return done.returncode, done.stdout, done.stderr
