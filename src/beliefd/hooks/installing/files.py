"""Clients whose hooks are files of their own: executables of Cline, a plugin of OpenCode."""

import json
import shlex
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Final

from msgspec import Struct

from beliefd.hooks.installing.writing import (
    ENTRY,
    Change,
    Found,
    NotInstalled,
    Settings,
    command_line,
    read_text,
)

SIGN: Final = "written by `beliefd hook install`"
CANCELLED: Final = '{"cancel": true, "errorMessage": "beliefd: nothing may run without a verdict"}'
CLINE: Final = """\
#!/bin/sh
# {sign}; to Cline a hook that fails is no refusal, so this prints one.
answer=$({command}) && printf '%s\\n' "$answer" || printf '%s\\n' {cancelled}
"""


class ClineFiles(Struct, frozen=True):
    """One executable per event. It reads what it prints, not how it ends."""

    advice: str = "switch hooks on in the settings of Cline"
    events: tuple[str, ...] = ("PreToolUse", "PostToolUse", "UserPromptSubmit")

    def _folder(self, project: Path | None) -> Path:
        return (
            Path("~/Documents/Cline/Hooks").expanduser()
            if project is None
            else project / ".clinerules" / "hooks"
        )

    def installed(self, project: Path | None, settings: Settings) -> list[Change]:
        text = CLINE.format(
            sign=SIGN, command=command_line("cline", settings), cancelled=shlex.quote(CANCELLED)
        )
        paths = [self._folder(project) / event for event in self.events]
        for path in paths:
            _refuse_foreign(path)
        return [Change(path=path, text=text, executable=True) for path in paths]

    def uninstalled(self, project: Path | None) -> list[Change]:
        paths = [self._folder(project) / event for event in self.events]
        return [Change(path=path, text=None) for path in paths if SIGN in (read_text(path) or "")]

    def found(self, project: Path | None) -> Found | None:
        folder = self._folder(project)
        held = {event: read_text(folder / event) or "" for event in self.events}
        ours = {event: shlex.quote(str(folder / event)) for event, text in held.items() if SIGN in text}
        if not ours:
            return None
        problems = [f"no hook for {event}" for event in self.events if event not in ours]
        return Found(path=folder, commands=ours, problems=tuple(problems))

    def off(self, project: Path) -> Iterator[str]:
        yield from ()


class OpenCodePlugin(Struct, frozen=True):
    """A plugin that starts the hook, and throws what is refused."""

    advice: str = ""

    def _path(self, project: Path | None) -> Path:
        folder = Path("~/.config/opencode").expanduser() if project is None else project / ".opencode"
        return folder / "plugin" / "beliefd.js"

    def installed(self, project: Path | None, settings: Settings) -> list[Change]:
        path = self._path(project)
        _refuse_foreign(path)
        template = files(__package__).joinpath("opencode.js").read_text("utf-8")
        names = {
            "BELIEFD_URL": settings.url,
            "BELIEFD_TOKEN_FILE": settings.token_file,
            "BELIEFD_GATED": settings.gated,
        }
        text = template.replace("SIGN", SIGN).replace(
            '"COMMAND"', json.dumps([sys.executable, "-S", "-E", ENTRY, "opencode"])
        )
        given = {name: value for name, value in names.items() if value}
        return [Change(path=path, text=text.replace('"ENVIRONMENT"', json.dumps(given)))]

    def uninstalled(self, project: Path | None) -> list[Change]:
        path = self._path(project)
        return [Change(path=path, text=None)] if SIGN in (read_text(path) or "") else []

    def found(self, project: Path | None) -> Found | None:
        path = self._path(project)
        text = read_text(path) or ""
        if SIGN not in text:
            return None
        line = next((line for line in text.splitlines() if line.startswith("const command = ")), "")
        try:
            words = json.loads(line.removeprefix("const command = ").rstrip(";"))
        except ValueError:
            return Found(path=path, problems=("its command cannot be read",))
        return Found(path=path, commands={"tool.execute.before": shlex.join(words)})

    def off(self, project: Path) -> Iterator[str]:
        yield from ()


def _refuse_foreign(path: Path) -> None:
    text = read_text(path)
    if text is not None and SIGN not in text:
        raise NotInstalled(f"`{path}` is there already and is not ours; move it away first")
