"""Codex: it skips hooks that its user has not trusted, and says nothing of it."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from beliefd.hooks.installing.settings import JsonSettings
from beliefd.hooks.installing.switches import home_of, settings_in
from beliefd.hooks.installing.writing import is_ours

TRUST: Final = (
    "start `codex` in a terminal, in this folder, and trust the hooks when it says that they need review, or "
    "type `/hooks` there"
)
HASHED: Final = {"type", "command", "timeout"}
"""The members of a hook whose hash is known here."""


class CodexSettings(JsonSettings, frozen=True):
    """What was trusted stands in `config.toml` of its home: by file, event and place, the hook's hash."""

    def off(self, project: Path) -> Iterator[str]:
        yield from super().off(project)
        config = (home_of(self.home_variable) or Path("~/.codex").expanduser()) / "config.toml"
        told = settings_in(config).get("hooks")
        state = told.get("state") if isinstance(told, dict) else None
        for path in dict.fromkeys(self.path(place).resolve() for place in (None, project)):
            for event, name, hook in ours(path):
                held = state.get(f"{path}:{name}") if isinstance(state, dict) else None
                held = held if isinstance(held, dict) else {}
                if held.get("enabled") is False:
                    yield f"{event}: `{path}`: it is switched off in `{config}`; type `/hooks` in `codex`"
                elif not isinstance(held.get("trusted_hash"), str):
                    yield f"{event}: `{path}`: nobody has trusted it, so Codex skips it: {TRUST}"
                elif hook[1].keys() == HASHED and held["trusted_hash"] != hash_of(event, *hook):
                    why = "it has changed since it was trusted"
                    yield f"{event}: `{path}`: {why}, so Codex skips it: {TRUST}"


def ours(path: Path) -> Iterator[tuple[str, str, tuple[Any, dict[str, Any]]]]:
    """Each hook of ours: its event, the name that Codex gives to its place, its matcher and itself."""
    events = settings_in(path).get("hooks")
    for event, groups in events.items() if isinstance(events, dict) else ():
        for number, group in enumerate(groups):
            hooks = group.get("hooks") if isinstance(group, dict) else None
            for place, hook in enumerate(hooks if isinstance(hooks, list) else ()):
                if isinstance(hook, dict) and is_ours(hook.get("command")):
                    yield event, f"{_snake(event)}:{number}:{place}", (group.get("matcher"), hook)


def hash_of(event: str, matcher: Any, hook: dict[str, Any]) -> str:
    """As Codex 0.166 makes it, of what it reads out of the file."""
    told: dict[str, Any] = {"event_name": _snake(event), "hooks": [{**hook, "async": False}]}
    if matcher is not None:
        told["matcher"] = matcher
    text = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
