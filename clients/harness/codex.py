"""Codex, head-less."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from clients.harness.install import PACKAGES, node
from clients.harness.process import Ended, Place
from clients.harness.script import Call, Request, Shell, Wire, settled
from clients.harness.setup import Launch, Moment, Outcome, Setup, hooks, servers

PROGRAM: Final = PACKAGES / "@openai" / "codex" / "bin" / "codex.js"
EVENTS: Final = {
    Moment.BEFORE_TOOL: "PreToolUse",
    Moment.AFTER_TOOL: "PostToolUse",
    Moment.PROMPT: "UserPromptSubmit",
}
SHELL: Final = "Bash"
"""As hooks know it; the model calls it `exec_command`."""
MODES: Final = ("--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")


def tool(server: str, name: str) -> str:
    return f"mcp__{server}__{name}"


def spell(call: Shell | Call, request: Request) -> Wire:
    if isinstance(call, Shell):
        return Wire("exec_command", {"cmd": settled(call, request)})
    return Wire(call.tool, settled(call, request), f"mcp__{call.server}" if call.server else None)


def prepare(url: str, place: Place, prompt: str | None, setup: Setup, resume: str | None) -> Launch:
    """`codex exec` with its hooks in the user's home. A setup without hooks leaves them as they are."""
    home = place.made("home/.codex")
    if setup.hooks:
        (home / "config.toml").write_text(f"hooks = {toml(hooks(setup, EVENTS))}\n")
    command = [node(), str(PROGRAM), "exec", *MODES]
    for key, value in _given(url, setup):
        command += ["--config", f"{key}={toml(value)}"]
    if setup.trusted:
        command.append("--dangerously-bypass-hook-trust")
    if resume is not None:
        command += ["resume", resume]
    return Launch([*command, *([] if prompt is None else [prompt])], {"SCRIPTED_KEY": "scripted"})


def _given(url: str, setup: Setup) -> Iterator[tuple[str, Any]]:
    """What the command line says beside the configuration file."""
    api = {"base_url": f"{url}/v1", "wire_api": "responses", "env_key": "SCRIPTED_KEY"}
    yield "model", "scripted"
    yield "model_provider", "scripted"
    yield "model_providers.scripted", {"name": "scripted", **api}
    for name, server in servers(setup, required=True).items():
        yield f"mcp_servers.{name}", server
    yield from setup.settings.items()


def toml(value: Any) -> str:
    """A value as TOML writes it inline: what JSON has, with `=` in tables."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(held)}" for key, held in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def outcome(ended: Ended) -> Outcome:
    told = list(_events(ended))
    session = next((event["thread_id"] for event in told if event["type"] == "thread.started"), None)
    items = [event["item"] for event in told if event["type"] == "item.completed"]
    words = [item["text"] for item in items if item["type"] == "agent_message"]
    return Outcome(session, "".join(words[-1:]))


def _events(ended: Ended) -> Iterator[dict[str, Any]]:
    for line in ended.output.splitlines():
        if line.startswith("{"):
            yield json.loads(line)
