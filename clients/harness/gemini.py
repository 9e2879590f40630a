"""Gemini CLI, head-less."""

import json
from typing import Any, Final

from clients.harness.install import PACKAGES, node
from clients.harness.process import Ended, Place
from clients.harness.script import Call, Request, Shell, Wire, settled
from clients.harness.setup import Launch, Moment, Outcome, Setup, hooks, servers

PROGRAM: Final = PACKAGES / "@google" / "gemini-cli" / "bundle" / "gemini.js"
EVENTS: Final = {
    Moment.BEFORE_TOOL: "BeforeTool",
    Moment.AFTER_TOOL: "AfterTool",
    Moment.PROMPT: "BeforeAgent",
}
SHELL: Final = "run_shell_command"


def tool(server: str, name: str) -> str:
    return f"mcp_{server}_{name}"


def spell(call: Shell | Call, request: Request) -> Wire:
    if isinstance(call, Shell):
        return Wire(SHELL, {"command": settled(call, request), "description": "as scripted"})
    return Wire(tool(call.server, call.tool) if call.server else call.tool, settled(call, request))


def prepare(url: str, place: Place, prompt: str | None, setup: Setup, resume: str | None) -> Launch:
    """`gemini -p` with its settings in the user's home; what else is written there stays."""
    assert resume is None, "sessions of Gemini are not resumed in these tests"
    path = place.made("home/.gemini") / "settings.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    written = {**kept, **setup.settings, **auth, "mcpServers": servers(setup)}
    if setup.hooks:
        written["hooks"] = hooks(setup, EVENTS, _milliseconds)
    path.write_text(json.dumps(written))
    environment = {
        "GEMINI_API_KEY": "scripted",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    return Launch([node(), str(PROGRAM), "--yolo", "-p", prompt or "", "-o", "json"], environment)


def _milliseconds(seconds: int) -> int:
    return 1000 * seconds


def outcome(ended: Ended) -> Outcome:
    said = document(ended)
    return Outcome(said.get("session_id"), str(said.get("response", "")))


def document(ended: Ended) -> dict[str, Any]:
    """What the client printed: the object that begins a line and ends the output."""
    begin = 0 if ended.output.startswith("{") else ended.output.rfind("\n{") + 1
    try:
        return dict(json.loads(ended.output[begin:]))
    except ValueError:
        raise AssertionError(f"Gemini printed no object: {ended}") from None
