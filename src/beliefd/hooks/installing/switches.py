"""What in a client's settings keeps its hooks from running, in whatever file it stands."""

import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from beliefd.hooks.installing.writing import NotInstalled, read_text

MANAGED_CLAUDE: Final = (
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
)
HARMLESS: Final = (None, False, "false")


class Switch(Struct, frozen=True):
    """A setting with this name (parts of it by dots) that keeps hooks off.

    It does so if it is `off`, if it is anything but false (`off` is true), or if it lists `off`.
    """

    name: str
    off: bool | str

    def is_off(self, settings: dict[str, Any]) -> bool:
        value: Any = settings
        for part in self.name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if isinstance(self.off, str):
            return isinstance(value, list) and self.off in value
        return value not in HARMLESS if self.off else value is False


class SettingsFile(Struct, frozen=True):
    """A file of the client: in its home (`~/`), of the machine (`/`), or of the project. JSON or TOML."""

    path: str
    switches: tuple[Switch, ...]

    def place(self, home: Path | None, project: Path) -> Path:
        """`home` is where the client keeps its things if it was told so."""
        if self.path.startswith("~/"):
            return home / Path(self.path).name if home is not None else Path(self.path).expanduser()
        return project / self.path


def switched_off(files: tuple[SettingsFile, ...], home_variable: str, project: Path) -> Iterator[str]:
    """A sentence for each setting that does."""
    for file in files:
        path = file.place(home_of(home_variable), project)
        for switch in file.switches:
            if switch.is_off(settings_in(path)):
                yield f"`{switch.name}` in `{path}` turns hooks off"


def home_of(variable: str) -> Path | None:
    named = os.environ.get(variable) if variable else None
    return Path(named) if named else None


def settings_in(path: Path) -> dict[str, Any]:
    """What stands in a file that is not ours; none if there is no such file."""
    text = read_text(path)
    if text is None or not text.strip():
        return {}
    try:
        held = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except ValueError as error:
        raise NotInstalled(f"`{path}` cannot be read ({error})") from None
    return held if isinstance(held, dict) else {}
