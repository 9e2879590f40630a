"""Clients that keep their hooks in a JSON file: by event, each a list of groups or of commands."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from beliefd.hooks.installing.switches import SettingsFile, home_of, switched_off
from beliefd.hooks.installing.writing import (
    Change,
    Found,
    NotInstalled,
    Settings,
    command_line,
    is_ours,
    read_text,
)


class JsonSettings(Struct, frozen=True):
    """`nested`: commands stand in groups with a matcher. `fields` go beside each command, `beside` on top."""

    client: str
    user: str
    project: str
    events: tuple[str, ...]
    matched: tuple[str, ...] = ()
    fields: dict[str, Any] = {}
    beside: dict[str, Any] = {}
    home_variable: str = ""
    typed: bool = True
    nested: bool = True
    settings: tuple[SettingsFile, ...] = ()
    advice: str = ""

    def path(self, project: Path | None) -> Path:
        if project is not None:
            return project / self.project
        home = home_of(self.home_variable)
        return home / Path(self.user).name if home else Path(self.user).expanduser()

    def off(self, project: Path) -> Iterator[str]:
        return switched_off(self.settings, self.home_variable, project)

    def installed(self, project: Path | None, settings: Settings) -> list[Change]:
        path = self.path(project)
        held = self._without_ours(path)
        hooks = held.setdefault("hooks", {})
        for event in self.events:
            hooks.setdefault(event, []).append(self._entry(event, command_line(self.client, settings)))
        for name, value in self.beside.items():
            held.setdefault(name, value)
        return [Change(path=path, text=_written(held))]

    def uninstalled(self, project: Path | None) -> list[Change]:
        path = self.path(project)
        if read_text(path) is None:
            return []
        held = self._without_ours(path)
        if not held.get("hooks"):
            held.pop("hooks", None)
        rest = {name: value for name, value in held.items() if self.beside.get(name) != value}
        return [Change(path=path, text=_written(held) if rest else None)]

    def found(self, project: Path | None) -> Found | None:
        path = self.path(project)
        if read_text(path) is None:
            return None
        held = _read(path)
        commands: dict[str, str] = {}
        problems: list[str] = []
        for event, entries in _events(held, path).items():
            for one in (hook for each in entries for hook in self._commands(each)):
                if not is_ours(one.get("command")):
                    continue
                commands[event] = one["command"]
                lost = [name for name, value in self.fields.items() if one.get(name) != value]
                problems += [f"{event}: `{name}` is not {json.dumps(self.fields[name])}" for name in lost]
        if not commands:
            return None
        problems += [f"no hook for {event}" for event in self.events if event not in commands]
        return Found(path=path, commands=commands, problems=tuple(problems))

    def _entry(self, event: str, command: str) -> dict[str, Any]:
        told = {"type": "command", "command": command} if self.typed else {"command": command}
        told |= self.fields
        if not self.nested:
            return told
        return {**({"matcher": ".*"} if event in self.matched else {}), "hooks": [told]}

    def _commands(self, entry: Any) -> list[dict[str, Any]]:
        if not isinstance(entry, dict):
            return []
        inner = entry.get("hooks", []) if self.nested else [entry]
        return [one for one in inner if isinstance(one, dict)] if isinstance(inner, list) else []

    def _without_ours(self, path: Path) -> dict[str, Any]:
        """The file without our commands, and without groups and events that held nothing else."""
        held = _read(path)
        events = _events(held, path)
        for event, entries in list(events.items()):
            kept = [left for entry in entries if (left := self._kept(entry)) is not None]
            if kept:
                events[event] = kept
            elif entries:
                del events[event]
        return held

    def _kept(self, entry: Any) -> Any:
        ours = [one for one in self._commands(entry) if is_ours(one.get("command"))]
        if not ours:
            return entry
        if not self.nested:
            return None
        rest = [one for one in entry["hooks"] if one not in ours]
        return {**entry, "hooks": rest} if rest else None


def _read(path: Path) -> dict[str, Any]:
    text = read_text(path)
    if text is None or not text.strip():
        return {}
    try:
        held = json.loads(text)
    except ValueError as error:
        raise NotInstalled(
            f"`{path}` is not plain JSON ({error}); put it right, or add what --print shows"
        ) from None
    if not isinstance(held, dict):
        raise NotInstalled(f"`{path}` holds no object")
    return held


def _events(held: dict[str, Any], path: Path) -> dict[str, list[Any]]:
    events = held.get("hooks", {})
    if not isinstance(events, dict) or not all(isinstance(one, list) for one in events.values()):
        raise NotInstalled(f"`hooks` in `{path}` is not what this client reads")
    if "hooks" in held:
        held["hooks"] = events
    return events


def _written(held: dict[str, Any]) -> str:
    return json.dumps(held, indent=2, ensure_ascii=False) + "\n"
