"""Claude Code, head-less."""

import json
from typing import Any, Final

from clients.harness.install import PACKAGES
from clients.harness.process import Ended, Place
from clients.harness.script import Call, Request, Shell, Wire, settled
from clients.harness.setup import Launch, Moment, Outcome, Setup, hooks, servers

PROGRAM: Final = PACKAGES / "@anthropic-ai" / "claude-code" / "bin" / "claude.exe"
EVENTS: Final = {
    Moment.BEFORE_TOOL: "PreToolUse",
    Moment.AFTER_TOOL: "PostToolUse",
    Moment.TOOL_FAILED: "PostToolUseFailure",
    Moment.PROMPT: "UserPromptSubmit",
    Moment.ELICITATION: "Elicitation",
}
SHELL: Final = "Bash"


def tool(server: str, name: str) -> str:
    return f"mcp__{server}__{name}"


def spell(call: Shell | Call, request: Request) -> Wire:
    if isinstance(call, Shell):
        return Wire(SHELL, {"command": settled(call, request), "description": "as scripted"})
    return Wire(tool(call.server, call.tool) if call.server else call.tool, settled(call, request))


def prepare(url: str, place: Place, prompt: str | None, setup: Setup, resume: str | None) -> Launch:
    """`claude -p` with its settings in the user's home. A setup without hooks leaves them as they are."""
    settings = place.made("home/.claude") / "settings.json"
    if setup.hooks or setup.settings:
        settings.write_text(json.dumps({**setup.settings, "hooks": hooks(setup, EVENTS)}))
    given = place.root / "mcp.json"
    given.write_text(json.dumps({"mcpServers": servers(setup)}))
    command = [str(PROGRAM), "-p", *([] if prompt is None else [prompt]), "--output-format", "json"]
    command += ["--mcp-config", str(given), "--strict-mcp-config"]
    if setup.allowed:
        command += ["--allowedTools", ",".join([SHELL, *(f"mcp__{name}" for name in setup.servers)])]
    if resume is not None:
        command += ["--resume", resume]
    environment = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    return Launch(command, environment)


def outcome(ended: Ended) -> Outcome:
    said = document(ended)
    return Outcome(said.get("session_id"), str(said.get("result", "")))


def document(ended: Ended) -> dict[str, Any]:
    """What the client printed: the last line that is an object."""
    for line in reversed(ended.output.splitlines()):
        if line.startswith("{"):
            return dict(json.loads(line))
    raise AssertionError(f"Claude Code printed no object: {ended}")
