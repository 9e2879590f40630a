"""The clients whose hooks are understood, by the names that the command line gives them."""

from typing import Final

from beliefd.hooks.clients.claude_code import ClaudeCode
from beliefd.hooks.clients.cline import Cline
from beliefd.hooks.clients.codex import Codex
from beliefd.hooks.clients.cursor import Cursor
from beliefd.hooks.clients.gemini import Gemini
from beliefd.hooks.clients.opencode import OpenCode
from beliefd.hooks.clients.vscode import VsCode
from beliefd.hooks.events import HookClient

CLIENTS: Final[dict[str, HookClient]] = {
    "claude-code": ClaudeCode(),
    "codex": Codex(),
    "gemini": Gemini(),
    "opencode": OpenCode(),
    "cursor": Cursor(),
    "vscode": VsCode(),
    "cline": Cline(),
}
