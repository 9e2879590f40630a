"""The command line as a whole: it is quick to start, complete, and the same everywhere."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from beliefd import __version__
from beliefd.cli.main import main
from tests.cli.runner import CLEAN, beliefd, finished

HEAVY = {
    "rich", "httpx", "uvicorn", "starlette", "uvloop", "asyncpg", "yaml", "numpy", "scipy", "jinja2",
    "asyncio", "sqlite3", "ssl", "httptools",
}  # fmt: skip
FEW = 140
"""Modules of which most come with click and msgspec; `python -c pass` has 30."""
AT_A_SERVER = 215
ON_A_STORE = 645
"""Modules of our own that common commands may import."""
SERVERS = (("serve",), ("demo",), ("guard",), ("log", "witness"))
EXPECTED = {
    "demo": set(),
    "guard": set(),
    "mcp": {"gateway", "policy-init", "serve"},
    "measurement": {"list", "make", "show"},
    "memory": {"add", "list"},
    "observation": {"list", "show", "take"},
    "serve": set(),
    "conform": set(),
    "doctor": set(),
    "store": {"archive", "backup", "migrate", "restore", "unarchive"},
    "token": {"create", "list", "revoke"},
    "space": {"create", "list"},
    "session": {
        "declare", "eliminate", "show", "obligation", "exit", "conclude", "terminate", "list", "why",
        "counterfactual", "seal", "unseal", "watch",
    },
    "claim": {"submit", "check", "show", "list", "detectors", "retract"},
    "content": {"put", "get", "show", "collect"},
    "context": {"add", "erase", "show"},
    "hook": {"doctor", "install", "uninstall"},
    "inbox": {
        "list", "show", "approve", "reject", "modify", "downgrade", "defer", "withdraw", "wait", "watch",
        "review", "seen", "tell",
    },
    "call": {"show", "begin", "report"},
    "policy": {
        "adopt", "backtest", "check", "explain", "export", "init", "lint", "prove", "review", "schema",
        "show", "test",
    },
    "schedule": {"interrupt", "mode", "resume", "show"},
    "state": {"show", "propose"},
    "capability": {"issue", "list", "show", "revoke"},
    "tool": {"catalogue", "list", "pin"},
    "audit": {"erase", "parts", "show", "who", "verify", "export", "import", "replay", "merge"},
    "log": {"check", "checkpoint", "consistency", "cosign", "prove", "rebuild", "show", "submit", "witness"},
    "log key": {"new", "rotate", "show"},
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
    assert all(f"\n  {name.partition(' ')[0]}" in listed.stdout for name in EXPECTED)
    for group, commands in EXPECTED.items():
        shown = beliefd(*group.split(), "--help")
        assert shown.exit_code == 0
        assert all(f"\n  {name}" in shown.stdout for name in commands)


def test_no_command_is_missing_or_unknown() -> None:
    found: dict[str, set[str]] = {name: set() for name in main.commands}
    for path in LEAVES:
        found.setdefault(" ".join(path[:-1]) or path[0], set()).update(path[-1:] if path[1:] else ())
    assert found == EXPECTED


def imported(*arguments: str, **settings: str) -> list[str]:
    """All modules that a process has imported by the time it has answered."""
    script = (
        "import json, sys\n"
        "from beliefd.cli.main import main\n"
        f"try:\n    main({list(arguments)!r}, prog_name='beliefd')\n"
        "except SystemExit:\n    pass\n"
        "print()\nprint(json.dumps(sorted(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={**CLEAN, **settings}
    )
    found: list[str] = json.loads(ran.stdout.splitlines()[-1])
    return found


def test_help_does_not_import_what_it_does_not_need() -> None:
    loaded = {name.partition(".")[0] for name in imported("--help")}
    assert loaded & HEAVY <= {"asyncio", "ssl", "sqlite3"}, "which single commands import"


def test_the_version_is_told_by_few_modules() -> None:
    loaded = imported("--version")
    assert {name.partition(".")[0] for name in loaded}.isdisjoint(HEAVY)
    assert len(loaded) < FEW
    ours = [name for name in loaded if name.startswith("beliefd.")]
    assert len(ours) < 12, ours


RULES = ("beliefd.kernel.doors", "beliefd.kernel.decide", "beliefd.kernel.evolve", "beliefd.kernel.scan.said")
"""What decides: a question to a server needs none of it."""
WORD_LISTS = ("beliefd.uncertainty.equivalence.words", "beliefd.uncertainty.equivalence.lexical")

SOME = "01a1ecfd-0004-7a73-8521-dfc20a58bc29"


def ours_among(loaded: list[str]) -> int:
    return sum(name.startswith("beliefd.") for name in loaded)


@pytest.mark.parametrize(
    "command", ["session list", "inbox list", "audit show SESSION", "claim list SESSION"]
)
def test_a_question_to_a_server_imports_no_rules(command: str) -> None:
    """Time depends on the machine, modules do not: each costs a third of a millisecond or more."""
    nobody = "http://127.0.0.1:9"
    loaded = imported(
        *command.replace("SESSION", "01a1ecfd-0004-7a73-8521-dfc20a58bc29").split(), "--url", nobody
    )
    assert "httpx" in loaded, "it has asked"
    assert {"asyncio", "sqlite3", "yaml", "numpy"}.isdisjoint(loaded)
    assert not [name for name in loaded if name.startswith(("beliefd.steward", "beliefd.stores"))]
    assert not {*RULES, *WORD_LISTS} & set(loaded)
    assert ours_among(loaded) < AT_A_SERVER


@pytest.mark.parametrize("command", ["session list", "inbox list", "audit show SESSION"])
def test_a_question_to_a_store_imports_no_http_and_no_word_lists(
    command: str, data: Path, session: str
) -> None:
    loaded = imported(*command.replace("SESSION", session).split(), "--data", str(data))
    assert "sqlite3" in loaded, "it has asked"
    assert {"httpx", "httpcore", "h11", "starlette", "uvicorn", "numpy", "yaml", "jsonschema_rs"}.isdisjoint(
        loaded
    )
    assert not {*WORD_LISTS, "beliefd.hooks.shell", "beliefd.adversarial.assessing"} & set(loaded)
    assert ours_among(loaded) < ON_A_STORE


@pytest.mark.parametrize("command", ["session list", "inbox list", "audit show SESSION", "--version"])
def test_a_short_command_looks_for_no_garbage(command: str, data: Path, session: str) -> None:
    """Not while modules are imported, and not at the end, when all goes: each search looks at all there is.

    What is registered first to be done at exit is done last.
    """
    arguments = command.replace("SESSION", session).split()
    arguments += [] if command == "--version" else ["--data", str(data)]
    script = (
        "import atexit, gc, sys\n"
        "searches = []\n"
        "gc.callbacks.append(lambda phase, _: searches.append(phase))\n"
        "atexit.register(lambda: print(len(searches), len(gc.get_objects())))\n"
        "from beliefd.__main__ import main\n"
        "del searches[:]\n"
        f"sys.argv[1:] = {arguments!r}\n"
        "main()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=CLEAN
    )
    searches, left = map(int, ran.stdout.splitlines()[-1].split())
    assert searches == 0
    assert left < 1_000, "all else is frozen: it is not looked at when the interpreter ends"


@pytest.mark.parametrize("words", ["beliefd ", "beliefd inbox re"])
def test_completing_imports_nothing_but_the_command(words: str) -> None:
    settings = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    loaded = imported(_BELIEFD_COMPLETE="bash_complete", **settings)
    assert {name.partition(".")[0] for name in loaded}.isdisjoint(HEAVY - {"asyncio"})
    commands = [name for name in loaded if name.startswith("beliefd.cli.commands.")]
    assert commands == (["beliefd.cli.commands.inbox"] if "inbox" in words else [])


@pytest.mark.parametrize("path", [path for path in LEAVES if path not in SERVERS], ids=" ".join)
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
        ("beliefd ", {name for name in EXPECTED if " " not in name}),
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


def test_ctrl_c_is_heard_even_while_an_object_is_collected() -> None:
    """Python prints what is raised in there, and goes on as if nobody had pressed a key."""
    script = """if True:
        import signal, time, weakref
        import beliefd.__main__ as entry, beliefd.cli.main as command_line

        class One: ...

        def interrupted(_):
            signal.raise_signal(signal.SIGINT)
            for _ in range(1000): ...

        def runs_on():
            one = One()
            weak = weakref.ref(one, interrupted)
            del one
            time.sleep(60)

        command_line.main = runs_on
        try:
            entry.main()
        except KeyboardInterrupt:
            print("heard")
        """
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False
    )
    assert (run.stdout, run.stderr) == ("heard\n", "")
