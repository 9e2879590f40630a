"""Which pages there are, and whether those in the repository are up to date."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from scripts.reference import command_line, gates, protocol, running, templates

REFERENCE: Final = Path(__file__).parents[2] / "docs" / "reference"
NOTE: Final = "<!-- Written by `python -m scripts.reference`; change the code or that, not this file. -->\n\n"
PAGES: Final[dict[str, Callable[[], str]]] = {
    "operations.md": protocol.operations,
    "verbs.md": protocol.verbs,
    "events.md": protocol.events,
    "errors.md": protocol.errors,
    "gates.md": gates.gates,
    "templates.md": templates.templates,
    "policy.md": running.policy,
    "settings.md": running.settings,
    "metrics.md": running.metrics,
    "command-line.md": command_line.commands,
    "python.md": command_line.python,
}
BY_HAND: Final = ("glossary.md", "version-policy.md")
"""Pages that people write; here only their names are known."""


def written() -> dict[str, str]:
    """Every page's name and text, the index included."""
    pages = {name: NOTE + make() for name, make in PAGES.items()}
    indexed = pages | {name: (REFERENCE / name).read_text(encoding="utf-8") for name in BY_HAND}
    lines = [f"- [{_title(text)}]({name}): {_lead(text)}" for name, text in indexed.items()]
    by_hand = "except for the glossary and the version policy"
    lead = f"Made from the code, {by_hand}. A test fails when a page and the code differ."
    index = ["# Reference", "", lead, "", *lines]
    pages["README.md"] = NOTE + "\n".join(index) + "\n"
    return pages


def outdated(pages: dict[str, str]) -> list[str]:
    """Pages that differ from what the code says now, and files that no page goes with."""
    old = [name for name, text in pages.items() if _current(name) != text]
    known = {*pages, *BY_HAND}
    strange = sorted(path.name for path in REFERENCE.glob("*.md") if path.name not in known)
    return old + strange


def _title(text: str) -> str:
    return text.partition("# ")[2].partition("\n")[0]


def _lead(text: str) -> str:
    lead = text.partition("# ")[2].partition("\n\n")[2].partition("\n\n")[0].replace("\n", " ")
    return lead[0].lower() + re.split(r"(?<=\w)\.(?: |$)", lead[1:])[0]


def _current(name: str) -> str | None:
    path = REFERENCE / name
    return path.read_text(encoding="utf-8") if path.exists() else None
