"""Claude Code, head-less."""

import json
from typing import Any, Final

from clients.harness.install import PACKAGES
from clients.harness.model import Model
from clients.harness.process import Ended, Place, Run, run
from clients.harness.script import Call, Request, Script, Shell, Wire, settled
from clients.harness.setup import Hook, Moment, Setup, grouped

PROGRAM: Final = PACKAGES / "@anthropic-ai" / "claude-code" / "bin" / "claude.exe"
EVENTS: Final = {
    Moment.BEFORE_TOOL: "PreToolUse",
    Moment.AFTER_TOOL: "PostToolUse",
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


def settings(setup: Setup) -> dict[str, Any]:
    return {**setup.settings, "hooks": grouped(setup, EVENTS, _entry)}


def _entry(hook: Hook) -> dict[str, Any]:
    return {"type": "command", "command": hook.line, "timeout": hook.seconds}


def mcp_config(setup: Setup) -> dict[str, Any]:
    return {
        "mcpServers": {
            name: {"command": server.command[0], "args": server.command[1:], "env": dict(server.environment)}
            for name, server in setup.servers.items()
        }
    }


def claude(
    model: Model, place: Place, prompt: str | None, script: Script, setup: Setup = Setup(), resume: Run | None = None
) -> Run:
    """One run of `claude -p`; with `resume`, the session of an earlier run goes on."""
    if setup.written:
        _write(place, setup)
    servers = place.root / "mcp.json"
    servers.write_text(json.dumps(mcp_config(setup)))
    allowed = ",".join([SHELL, *(f"mcp__{name}" for name in setup.servers)])
    command = [str(PROGRAM), "-p", *([prompt] if prompt is not None else []), "--output-format", "json"]
    command += ["--allowedTools", allowed, "--mcp-config", str(servers), "--strict-mcp-config"]
    if resume is not None:
        command += ["--resume", str(resume.session)]
    with model.playing(script, spell, resume and resume.conversation) as conversation:
        environment = place.environment() | {
            "ANTHROPIC_BASE_URL": conversation.url,
            "ANTHROPIC_API_KEY": "scripted",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        ended = run(command, environment | setup.environment, place.work)
    said = document(ended)
    assert not conversation.failures, conversation.failures
    return Run(
        ended, said.get("session_id"), str(said.get("result", "")), conversation.id, tuple(conversation.requests), place
    )


def document(ended: Ended) -> dict[str, Any]:
    """What the client printed: the last line that is an object."""
    for line in reversed(ended.output.splitlines()):
        if line.startswith("{"):
            return dict(json.loads(line))
    raise AssertionError(f"Claude Code printed no object: {ended}")


def _write(place: Place, setup: Setup) -> None:
    folder = place.home / ".claude"
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(settings(setup)))
