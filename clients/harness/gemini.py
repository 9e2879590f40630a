"""Gemini CLI, head-less."""

import json
from typing import Any, Final

from clients.harness.install import PACKAGES, node
from clients.harness.model import Model
from clients.harness.process import Ended, Place, Run, run
from clients.harness.script import Call, Request, Script, Shell, Wire, settled
from clients.harness.setup import Hook, Moment, Setup, grouped

PROGRAM: Final = PACKAGES / "@google" / "gemini-cli" / "bundle" / "gemini.js"
EVENTS: Final = {
    Moment.BEFORE_TOOL: "BeforeTool",
    Moment.AFTER_TOOL: "AfterTool",
    Moment.PROMPT: "BeforeAgent",
}
SHELL: Final = "run_shell_command"
MILLISECONDS: Final = 1000


def tool(server: str, name: str) -> str:
    return f"mcp_{server}_{name}"


def spell(call: Shell | Call, request: Request) -> Wire:
    if isinstance(call, Shell):
        return Wire(SHELL, {"command": settled(call, request), "description": "as scripted"})
    return Wire(tool(call.server, call.tool) if call.server else call.tool, settled(call, request))


def settings(setup: Setup) -> dict[str, Any]:
    return {
        **setup.settings,
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "mcpServers": {
            name: {"command": server.command[0], "args": server.command[1:], "env": dict(server.environment)}
            for name, server in setup.servers.items()
        },
        "hooks": grouped(setup, EVENTS, _entry),
    }


def _entry(hook: Hook) -> dict[str, Any]:
    return {"type": "command", "command": hook.line, "timeout": hook.seconds * MILLISECONDS}


def gemini(model: Model, place: Place, prompt: str, script: Script, setup: Setup = Setup()) -> Run:
    """One run of `gemini -p`."""
    if setup.written:
        folder = place.home / ".gemini"
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_text(json.dumps(settings(setup)))
    with model.playing(script, spell) as conversation:
        environment = place.environment() | {
            "GEMINI_API_KEY": "scripted",
            "GOOGLE_GEMINI_BASE_URL": conversation.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }
        command = [node(), str(PROGRAM), "--yolo", "-p", prompt, "-o", "json"]
        ended = run(command, environment | setup.environment, place.work)
    assert not conversation.failures, conversation.failures
    said = document(ended)
    return Run(
        ended, said.get("session_id"), str(said.get("response", "")), conversation.id, tuple(conversation.requests), place
    )


def document(ended: Ended) -> dict[str, Any]:
    """What the client printed: the object that begins a line and ends the output."""
    begin = 0 if ended.output.startswith("{") else ended.output.rfind("\n{") + 1
    try:
        return dict(json.loads(ended.output[begin:]))
    except ValueError:
        raise AssertionError(f"Gemini printed no object: {ended}") from None
