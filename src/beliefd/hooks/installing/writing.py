"""Writing other programs' files: whole or not at all, with what was there kept beside."""

import os
import secrets
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from beliefd.hooks import entry

BACKUP: Final = ".before-beliefd"
ENTRY: Final = str(Path(entry.__file__).resolve())
MARK: Final = "hooks/entry.py"
"""By this a command is known as one of ours, wherever it was installed from."""


class NotInstalled(Exception):
    """Why nothing was written."""


class Settings(Struct, frozen=True, kw_only=True):
    """What the hook is told by its command line, beside the environment of the client."""

    url: str | None = None
    token_file: str | None = None
    gated: str | None = None


class Found(Struct, frozen=True, kw_only=True):
    """The commands that a client is configured with, by event, and what is wrong with that."""

    path: Path
    commands: dict[str, str] = {}
    problems: tuple[str, ...] = ()


class Change(Struct, frozen=True, kw_only=True):
    """A file as it is to be; None: it goes away."""

    path: Path
    text: str | None
    executable: bool = False


class Installation(Protocol):
    """One client's place for hooks."""

    @property
    def advice(self) -> str: ...

    def installed(self, project: Path | None, settings: Settings) -> list[Change]: ...

    def uninstalled(self, project: Path | None) -> list[Change]: ...

    def found(self, project: Path | None) -> Found | None: ...

    def off(self, project: Path) -> Iterator[str]:
        """What keeps the client from running hooks that are there, as sentences."""
        ...


def command_line(client: str, settings: Settings) -> str:
    """INVARIANT: whatever becomes of interpreter and file, the shell ends with the code that blocks."""
    names = {
        "BELIEFD_URL": settings.url,
        "BELIEFD_TOKEN_FILE": settings.token_file,
        "BELIEFD_GATED": settings.gated,
    }
    given = [f"{name}={shlex.quote(value)}" for name, value in names.items() if value]
    return " ".join([*given, shlex.join([sys.executable, "-S", "-E", ENTRY, client]), "|| exit 2"])


def is_ours(command: object) -> bool:
    return isinstance(command, str) and MARK in command.replace("\\", "/")


def read_text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise NotInstalled(f"cannot read `{path}`: {error}") from None


def apply(changes: list[Change]) -> list[Path]:
    """Write what differs from what is there; the paths that were written."""
    written = []
    for change in changes:
        if read_text(change.path) != change.text:
            _write(change)
            written.append(change.path)
    return written


def _write(change: Change) -> None:
    path = change.path.resolve()  # a settings file may be a link into somebody's collection of them
    try:
        backup = path.with_name(path.name + BACKUP)
        if path.exists() and not backup.exists():
            backup.write_bytes(path.read_bytes())
            backup.chmod(path.stat().st_mode & 0o777)
        if change.text is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o755 if change.executable else (path.stat().st_mode & 0o777 if path.exists() else 0o600)
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(change.text.encode())
        os.chmod(draft, mode)
        os.replace(draft, path)
    except OSError as error:
        raise NotInstalled(f"cannot write `{path}`: {error.strerror}") from None
