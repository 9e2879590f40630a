"""What is found of shell commands by reading them."""

import os
import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.hooks.shell import examine
from tests.hooks.shell_table import ASKS, MORE_ASKS, MORE_PROJECT, MORE_READS, PROJECT, READS
from tests.hooks.shell_world import snapshot, world

REST = [*PROJECT, *ASKS]
JOINTS = (
    "{a} ; {b}",
    "{a} && {b}",
    "{a} || {b}",
    "{a} | {b}",
    "{a} & {b}",
    "{a}\n{b}",
    "{b} ; {a}",
    "{b} | {a}",
)
INSIDE = (
    "echo $({b})",
    'echo "$({b})"',
    "echo `{b}`",
    "cat <({b})",
    "( {b} )",
    "{{ {b} ; }}",
    "if {b}; then ls; fi",
)


@pytest.mark.parametrize("command", [*READS, *MORE_READS])
def test_what_only_reads_is_read_only(command: str) -> None:
    found = examine(command, "/proj", ("/proj",))
    assert found.read_only, found.why
    assert found.reach == "reads"


@pytest.mark.parametrize("command", [*PROJECT, *MORE_PROJECT])
def test_what_changes_files_of_the_project_says_which(command: str) -> None:
    found = examine(command, "/proj", ("/proj",))
    assert found.reach == "project", found.why
    assert not found.read_only
    assert found.writes or found.deletes
    assert all(path.startswith("/proj") for path in found.writes + found.deletes)


@pytest.mark.parametrize("command", [*ASKS, *MORE_ASKS])
def test_what_reaches_further_or_is_not_understood_asks(command: str) -> None:
    found = examine(command, "/proj", ("/proj",))
    assert found.reach == "asks", found
    assert not found.read_only
    assert found.why


def test_the_table_is_long_and_says_everything_once() -> None:
    table = [*READS, *PROJECT, *ASKS]
    assert len(table) > 450
    assert len(set(table)) == len(table)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(READS), st.sampled_from(REST), st.sampled_from([*JOINTS, *INSIDE]))
def test_nothing_that_is_put_beside_a_reading_command_is_overlooked(reads: str, other: str, how: str) -> None:
    """A comment at the end of the first would hide the second in real shells, too."""
    reads = "ls" if "#" in reads else reads
    # Behind a pipe, `cd` changes the folder of its own process alone.
    other = f"{{ {other}; }}" if "|" in how and other.startswith("cd ") else other
    assert not examine(how.format(a=reads, b=other), "/proj", ("/proj",)).read_only


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=300), st.text("ls rmx;|&<>(){}[]$`'\"\\\n#*?~=!-0EOF", max_size=120)))
def test_whatever_is_given_there_is_an_answer(command: str) -> None:
    found = examine(command, "/proj", ("/proj",))
    assert found.read_only == (found.reach == "reads")
    assert not (found.unparsed and found.reach != "asks")


@pytest.mark.parametrize(
    "sign", ["(", "$(", "${", "x=(", "<<A ", "`", '"', "[[", "case a in ", "{ ", "\\", "a|", "((", "$(("]
)
def test_no_input_takes_long(sign: str) -> None:
    """Bounded by what is looked at, not by a clock: the text, the nodes, the depth and the steps."""
    found = examine((sign * 20_000)[:20_000], "/proj", ("/proj",))
    assert found.reach == "asks"


def test_loops_that_move_are_not_followed_for_ever() -> None:
    depth = 25
    script = "for i in a; do cd a; " * depth + "rm x" + "; done" * depth
    assert examine(script, "/proj", ("/proj",)).reach == "asks"


TOKENS = (
    *(
        "ls",
        "cat a",
        "evil",
        "evil x",
        " ",
        " ",
        " ",
        "\n",
        ";",
        "|",
        "&&",
        "||",
        "&",
        "#",
        " #",
        "'",
        '"',
        "\\",
        "$'",
        '$"',
    ),
    *(
        "`",
        "$(",
        ")",
        "(",
        "{",
        "}",
        " { ",
        "; }",
        "<<E",
        "\nE\n",
        "<<'E'",
        "<<-E",
        "E",
        ">",
        "<",
        "<(",
        "$x",
        "${x}",
    ),
    *(
        "${x:-",
        "$((",
        "))",
        "((",
        "[[",
        "]]",
        "[ ",
        " ]",
        "*",
        "=",
        "x=",
        "!",
        "case a in a)",
        ";;",
        "esac",
        "if ",
        "; then ",
    ),
    *(
        "; fi",
        "for i in a; do ",
        "; done",
        "do",
        "eval ",
        "bash -c ",
        "echo ",
        "a",
        "\\\n",
        "<<<",
        "2>&1",
        "&>",
        "-",
        "~",
        "{a,b}",
    ),
    *(
        "function f",
        "f()",
        "coproc ",
        "time ",
        "command ",
        "printf ",
        "test ",
        "\t",
        "]",
        "[",
        "@P}",
        "é",
        "$",
        "\\'",
        '\\"',
    ),
)
LOG = "command_not_found_handle"


def _run(command: str, folder: Path) -> str:
    """What bash tried to run that is no builtin: nothing is installed where it looks."""
    log = folder.parent / "log"
    log.write_text("")
    # Functions of the environment are how a program that is not there is noticed.
    function = f'() {{ builtin printf "%s\\n" "$1" >> {log}; }}'
    names = {f"BASH_FUNC_{LOG}%%": function, "PATH": "/nowhere", "HOME": str(folder)}
    argv = ["/bin/bash", "-c", command]
    subprocess.run(
        argv, cwd=folder, env=names, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False
    )
    return log.read_text()


def _random_commands(seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    return ["".join(draw.choices(TOKENS, k=draw.randint(1, 10))) for _ in range(count)]


def test_bash_runs_nothing_that_was_not_seen(tmp_path: Path) -> None:
    """Out of pieces that parsers stumble over: what is called read-only runs no `evil` and writes no file."""
    folder = tmp_path / "proj"
    folder.mkdir()
    (folder / "a").write_text("a\n")
    root = str(folder)
    seed, count = int(os.environ.get("SHELL_SEED", "1")), int(os.environ.get("SHELL_COUNT", "6000"))
    harmless = [one for one in _random_commands(seed, count) if examine(one, root, (root,)).read_only]
    assert len(harmless) > count // 100
    before = snapshot(folder)
    for command in harmless:
        tried = _run(command, folder)
        assert "evil" not in tried, command
        assert snapshot(folder) == before, command


@pytest.mark.parametrize("command", [*READS, *MORE_READS])
def test_read_only_commands_change_nothing_when_they_run(command: str, tmp_path: Path) -> None:
    """The judgement against real programs: the folder, its neighbours and the home stay as they were."""
    folder = world(tmp_path)
    before = snapshot(tmp_path)
    names = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "GIT_CONFIG_NOSYSTEM": "1"}
    argv = ["/bin/bash", "-c", command]
    subprocess.run(
        argv, cwd=folder, env=names, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("command", [one for one in PROJECT if "git" not in one and "hosts" not in one])
def test_commands_of_the_project_change_what_they_said(command: str, tmp_path: Path) -> None:
    folder = world(tmp_path)
    before = snapshot(tmp_path)
    found = examine(command, str(folder), (str(folder),))
    argv = ["/bin/bash", "-c", command]
    names = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    subprocess.run(
        argv, cwd=folder, env=names, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    after = snapshot(tmp_path)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    told = [path.partition("*")[0] for path in found.writes + found.deletes]
    for name in changed:
        path = str(tmp_path / name)
        assert any(
            path == one or path.startswith(one.rstrip("/") + "/") or path.startswith(one) for one in told
        ), name
