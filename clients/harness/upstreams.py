"""The MCP servers that clients are given."""

import json
from pathlib import Path
from typing import Any, Final

from clients.harness.install import PACKAGES, PYTHON, node
from clients.harness.process import Place
from clients.harness.setup import Server

NPM_SERVERS: Final = PACKAGES / "@modelcontextprotocol"
OWN: Final = Path(__file__).parent / "servers"


def filesystem(*folders: Path) -> Server:
    return Server((node(), str(NPM_SERVERS / "server-filesystem" / "dist" / "index.js"), *map(str, folders)))


def everything() -> Server:
    return Server((node(), str(NPM_SERVERS / "server-everything" / "dist" / "index.js"), "stdio"))


def git(repository: Path) -> Server:
    return Server((str(PYTHON / "mcp-server-git"), "--repository", str(repository)))


def clock() -> Server:
    return Server((str(PYTHON / "mcp-server-time"), "--local-timezone", "UTC"))


def notebook(place: Place, *changed: str) -> Server:
    """A server of our own that keeps every call with its metadata; see `notes`."""
    return Server((str(PYTHON / "python"), str(OWN / "notebook.py"), str(_notes(place)), *changed))


def notes(place: Place) -> list[dict[str, Any]]:
    """The calls that arrived at the notebook: `tool`, `arguments`, `meta`, `answer`."""
    path = _notes(place)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _notes(place: Place) -> Path:
    return place.root / "notes.jsonl"
