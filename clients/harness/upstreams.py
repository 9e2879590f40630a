"""The MCP servers that clients are given."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from clients.harness.install import PACKAGES, PYTHON, node
from clients.harness.process import Place
from clients.harness.setup import Server

NPM_SERVERS: Final = PACKAGES / "@modelcontextprotocol"
OWN: Final = Path(__file__).parent / "servers"


def filesystem(*folders: Path) -> Server:
    return _of_npm("filesystem", *map(str, folders))


def everything() -> Server:
    return _of_npm("everything", "stdio")


def _of_npm(name: str, *arguments: str) -> Server:
    return Server((node(), str(NPM_SERVERS / f"server-{name}" / "dist" / "index.js"), *arguments), name=name)


def git(repository: Path) -> Server:
    return Server((str(PYTHON / "mcp-server-git"), "--repository", str(repository)), name="git")


def clock() -> Server:
    return Server((str(PYTHON / "mcp-server-time"), "--local-timezone", "UTC"), name="clock")


def edited(server: Server, tool: str, words: str) -> Server:
    """The same server with another description of a tool; with `twice`, it lists the tool twice."""
    edits = (str(PYTHON / "python"), str(OWN / "edited.py"), tool, words)
    return replace(server, command=(*edits, *server.command))


def notebook(place: Place) -> Server:
    """A server of our own that keeps every call with its metadata; see `notes`."""
    return _of_our_own("notebook", place)


def mailbox(place: Place, *letters: str) -> Server:
    """Reads these letters, and sends: what is sent is kept as the notebook keeps its calls."""
    return _of_our_own("mailbox", place, *letters)


def older(server: Server) -> Server:
    """The same server without the newest revision of MCP, in which no server asks its client anything."""
    return replace(server, command=(sys.executable, "-S", "-E", str(OWN / "older.py"), *server.command))


def _of_our_own(name: str, place: Place, *arguments: str) -> Server:
    command = (str(PYTHON / "python"), str(OWN / f"{name}.py"), str(_notes(place)), *arguments)
    return Server(command, name=name)


def notes(place: Place) -> list[dict[str, Any]]:
    """The calls that arrived at the notebook: `tool`, `arguments`, `meta`, `answer`."""
    path = _notes(place)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _notes(place: Place) -> Path:
    return place.root / "notes.jsonl"
