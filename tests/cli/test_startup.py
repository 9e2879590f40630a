"""The command line as a whole: it is quick to start, complete, and the same everywhere."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from beliefd import __version__
from beliefd.cli.main import main
from tests.cli.runner import beliefd, finished

HEAVY = ("rich", "httpx", "uvicorn", "starlette", "uvloop", "asyncpg", "yaml")
SERVERS = ("serve", "demo", "guard")
EXPECTED = {
    "demo": set(),
    "guard": set(),
    "mcp": {"gateway", "policy-init", "serve"},
    "measurement": {"list", "make", "show"},
    "memory": {"add", "list"},
    "observation": {"list", "show", "take"},
    "serve": set(),
    "doctor": set(),
    "token": {"create", "list", "revoke"},
    "space": {"create", "list"},
    "session": {
        "declare", "eliminate", "show", "obligation", "exit", "conclude", "terminate", "list", "why",
        "counterfactual", "watch",
    },
    "claim": {"submit", "check", "show", "detectors", "retract"},
    "content": {"put", "get", "show", "collect"},
    "context": {"add", "erase", "show"},
    "hook": {"doctor", "install", "uninstall"},
    "inbox": {
        "list", "show", "approve", "reject", "modify", "downgrade", "defer", "withdraw", "wait", "watch",
    },
    "call": {"show", "begin", "report"},
    "policy": {
        "adopt", "backtest", "check", "explain", "export", "init", "lint", "prove", "schema", "show", "test",
    },
    "schedule": {"interrupt", "mode", "resume", "show"},
    "state": {"show", "propose"},
    "capability": {"issue", "list", "show", "revoke"},
    "tool": {"catalogue", "list", "pin"},
    "audit": {"show", "verify", "export", "import", "replay", "merge"},
    "proposition": {"list", "show", "why"},
    "knowledge": {"export"},
    "projection": {"list", "check", "rebuild"},
    "uncertainty": {"evaluate", "examples", "judges", "measure", "sample"},
    "calibration": {"put", "append", "show", "predict"},
    "firewall": {"scan"},
    "hypothesis": {"note", "imagine", "list"},
    "experiment": {"design", "run", "watch", "cancel", "reproduce", "list", "show", "panel"},
    "evidence": {"link", "list", "discoveries"},
    "intent": {"stage", "list", "show"},
}  # fmt: skip


def leaves(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from leaves(inner, (*path, name))
    else:
        yield path, command


LEAVES = dict(leaves(main))


def test_help_lists_every_command() -> None:
    listed = finished("--help")
    assert listed.returncode == 0
    assert all(f"\n  {name}" in listed.stdout for name in EXPECTED)
    for group, commands in EXPECTED.items():
        shown = beliefd(group, "--help")
        assert shown.exit_code == 0
        assert all(f"\n  {name}" in shown.stdout for name in commands)


def test_no_command_is_missing_or_unknown() -> None:
    found: dict[str, set[str]] = {name: set() for name in main.commands}
    for path in LEAVES:
        found[path[0]] |= set(path[1:])
    assert found == EXPECTED


def test_help_does_not_import_what_it_does_not_need() -> None:
    script = (
        "import json, sys\n"
        "from beliefd.cli.main import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit:\n    pass\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(ran.stdout.splitlines()[-1])}
    assert loaded.isdisjoint(HEAVY)


@pytest.mark.parametrize("path", [path for path in LEAVES if path[0] not in SERVERS], ids=" ".join)
def test_every_command_that_answers_can_answer_in_json(path: tuple[str, ...]) -> None:
    options = {option for parameter in LEAVES[path].params for option in parameter.opts}
    assert "--json" in options


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_says_what_it_does(path: tuple[str, ...]) -> None:
    shown = beliefd(*path, "--help")
    assert shown.exit_code == 0
    summary = (LEAVES[path].help or "").partition("\n")[0]
    assert summary.endswith(".")
    assert summary in " ".join(shown.stdout.split())


def test_version_is_the_package_s() -> None:
    assert finished("--version").stdout == f"beliefd, version {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["session", "show"], ["serve", "--port", "99999"], ["audit", "verify"]]
)
def test_usage_errors_exit_with_2(arguments: list[str]) -> None:
    result = beliefd(*arguments)
    assert result.exit_code == 2
    assert "Usage:" in result.stderr


def test_a_command_imports_no_other() -> None:
    script = (
        "import json, sys\n"
        "from beliefd.cli.main import main\n"
        "before = [name for name in sys.modules if name.startswith('beliefd.cli.commands.')]\n"
        "try:\n    main(['tool', 'list', '--help'])\n"
        "except SystemExit:\n    pass\n"
        "after = [name for name in sys.modules if name.startswith('beliefd.cli.commands.')]\n"
        "print(json.dumps([before, after]))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout.splitlines()[-1]) == [[], ["beliefd.cli.commands.tool"]]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("beliefd ", set(EXPECTED)),
        ("beliefd e", {"evidence", "experiment"}),
        ("beliefd evidence l", {"link", "list"}),
    ],
)
def test_the_shell_completes_commands(words: str, expected: set[str]) -> None:
    typed = words.split(" ")
    completion = {
        "_BELIEFD_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(typed) - 1),
    }
    script = "from beliefd.cli.main import main; main(prog_name='beliefd')"
    environment = {**os.environ, **completion}
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False
    )
    assert {line.partition(",")[2] for line in told.stdout.splitlines()} == expected
