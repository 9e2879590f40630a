"""Hooks of a few lines, made by tests: each keeps the event that it got, then does as its body says."""

import json
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any, Final

from clients.harness.process import Place
from clients.harness.setup import Hook, Moment

HEAD: Final = """\
import json, sys, time
event = json.load(sys.stdin)
with open({log!r}, "a") as log:
    log.write(json.dumps(event) + "\\n")
"""


def hook(place: Place, body: str = "", moment: Moment = Moment.BEFORE_TOOL, **options: Any) -> Hook:
    script = _folder(place) / f"{moment.name.lower()}.py"
    script.write_text(HEAD.format(log=str(_log(place, moment))) + dedent(body))
    return Hook((sys.executable, "-S", "-E", str(script)), moment, **options)


def says(decision: str, reason: str = "as the hook says") -> str:
    """A body that answers in the words of Claude Code and Codex."""
    told = {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason}
    return f"print(json.dumps({ {'hookSpecificOutput': told} }))"


def events(place: Place, moment: Moment = Moment.BEFORE_TOOL) -> list[dict[str, Any]]:
    """The events that the hook of this moment got."""
    log = _log(place, moment)
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def _log(place: Place, moment: Moment) -> Path:
    return _folder(place) / f"{moment.name.lower()}.jsonl"


def _folder(place: Place) -> Path:
    folder = place.root / "hooks"
    folder.mkdir(exist_ok=True)
    return folder
