"""The clients side by side, for tests that ask the same of each."""

from collections.abc import Callable
from typing import Final, NamedTuple

from clients.harness import claude, codex, gemini
from clients.harness.process import Run


class Agent(NamedTuple):
    name: str
    """As `beliefd hook` calls it."""
    run: Callable[..., Run]
    shell: str
    """The name under which hooks know the client's shell."""
    tool: Callable[[str, str], str]
    """The name under which hooks know a tool of an MCP server."""


CLAUDE: Final = Agent("claude-code", claude.claude, claude.SHELL, claude.tool)
CODEX: Final = Agent("codex", codex.codex, codex.SHELL, codex.tool)
GEMINI: Final = Agent("gemini", gemini.gemini, gemini.SHELL, gemini.tool)
AGENTS: Final = (CLAUDE, CODEX, GEMINI)
