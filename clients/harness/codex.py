"""Codex, head-less."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from clients.harness.install import PACKAGES, node
from clients.harness.model import Model
from clients.harness.process import Ended, Place, Run, run
from clients.harness.script import Call, Request, Script, Shell, Wire, settled
from clients.harness.setup import Hook, Moment, Setup, grouped

PROGRAM: Final = PACKAGES / "@openai" / "codex" / "bin" / "codex.js"
EVENTS: Final = {
    Moment.BEFORE_TOOL: "PreToolUse",
    Moment.AFTER_TOOL: "PostToolUse",
    Moment.PROMPT: "UserPromptSubmit",
}
SHELL: Final = "Bash"
"""As hooks know it; the model calls it `exec_command`."""
MODES: Final = (
    "--json",
    "--skip-git-repo-check",
    "--dangerously-bypass-approvals-and-sandbox",
    "--dangerously-bypass-hook-trust",
)


def tool(server: str, name: str) -> str:
    return f"mcp__{server}__{name}"


def spell(call: Shell | Call, request: Request) -> Wire:
    if isinstance(call, Shell):
        return Wire("exec_command", {"cmd": settled(call, request)})
    return Wire(call.tool, settled(call, request), f"mcp__{call.server}" if call.server else None)


def config(url: str, setup: Setup) -> dict[str, Any]:
    provider = {"name": "scripted", "base_url": f"{url}/v1", "wire_api": "responses", "env_key": "SCRIPTED_KEY"}
    return {
        **setup.settings,
        "model": "scripted",
        "model_provider": "scripted",
        "model_providers": {"scripted": provider},
        "mcp_servers": {
            name: {
                "command": server.command[0],
                "args": server.command[1:],
                "env": dict(server.environment),
                "required": True,
            }
            for name, server in setup.servers.items()
        },
        "hooks": grouped(setup, EVENTS, _entry),
    }


def _entry(hook: Hook) -> dict[str, Any]:
    return {"type": "command", "command": hook.line, "timeout": hook.seconds}


def toml(value: Any) -> str:
    """A value as TOML writes it inline: what JSON has, with `=` in tables."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(held)}" for key, held in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def codex(
    model: Model, place: Place, prompt: str, script: Script, setup: Setup = Setup(), resume: Run | None = None
) -> Run:
    """One run of `codex exec`; with `resume`, the session of an earlier run goes on."""
    home = place.home / ".codex"
    home.mkdir(exist_ok=True)
    command = [node(), str(PROGRAM), "exec", *MODES]
    if resume is not None:
        command += ["resume", str(resume.session)]
    with model.playing(script, spell, resume and resume.conversation) as conversation:
        written = config(conversation.url, setup)
        lines = [f"{key} = {toml(value)}\n" for key, value in written.items()]
        (home / "config.toml").write_text("".join(lines))
        environment = place.environment() | {"SCRIPTED_KEY": "scripted"}
        ended = run([*command, prompt], environment | setup.environment, place.work)
    assert not conversation.failures, conversation.failures
    events = list(_events(ended))
    session = next((event["thread_id"] for event in events if event["type"] == "thread.started"), None)
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    words = [item["text"] for item in items if item["type"] == "agent_message"]
    return Run(ended, session, "".join(words[-1:]), conversation.id, tuple(conversation.requests), place)


def _events(ended: Ended) -> Iterator[dict[str, Any]]:
    for line in ended.output.splitlines():
        if line.startswith("{"):
            yield json.loads(line)
