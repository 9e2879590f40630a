"""Commands that were let through once, each with bash as the witness that it does what it should not."""

import subprocess
from pathlib import Path

import pytest

from beliefd.hooks.shell import examine, parsing

# OUT is a file outside of the project, FOLDER the folder it is in.
OUTSIDE = {
    "the command stands behind what it reads": "env < f touch OUT",
    "the command stands behind where it prints": "env > x touch OUT /dev/null",
    "the command stands behind where both go": "env &> x touch OUT /dev/null",
    "the command stands behind a doubled stream": "env 2>&1 touch OUT /dev/null",
    "an operand stands behind what it reads": "touch < f OUT",
    "an option stands behind what it reads": "sort < f -o OUT",
    "-exec stands behind what it reads": "find < f . -name f -exec touch OUT ;".replace(";", "\\;"),
    "a script stands behind what it reads": "bash < f -c 'touch OUT'",
    "the command stands behind several": "env < f > x 2>/dev/null touch OUT",
    "the command stands behind in a substitution": "echo $(env < f touch OUT)",
    "xargs runs what stands behind what it reads": "echo OUT > x; xargs < x touch",
    "a split word becomes an option of sort": "x=' -o OUT'; sort f$x",
    "a split value becomes an option of sort": "x='1 -o OUT'; sort -k $x f",
    "a split word becomes -exec of find": "find f$(printf ' -exec touch OUT ;')",
    "a split word becomes -fprintf of find": "x=' -fprintf OUT a'; find .$x",
    "a split word ends -exec of find": "x='; -fprintf OUT a'; find . -exec echo $x \\;",
    "a split word becomes --output of git": "x=' --output=OUT'; git log HEAD$x",
    "a split word becomes a script of sed": "x=' -n -e wOUT'; sed p f$x",
    "a split word becomes -t of cp": "touch pwn; x=' -t FOLDER'; cp pwn$x f",
    "a split value becomes the command of env": "x='C touch OUT'; env LANG=$x ls",
    "a split substitution becomes the command of env": "env LANG=C$(printf ' touch OUT') ls",
    "a split value becomes the command of nice": "x='1 touch OUT'; nice -n $x ls",
    "a split value becomes the command of xargs": "x='1 touch OUT'; echo | xargs -n $x echo",
    "set -o keyword makes words variables": "set -o keyword; git diff GIT_EXTERNAL_DIFF='touch OUT;'",
    "set -o histexpand": 'set -o history -o histexpand\n: \'"; touch OUT; echo "\'\necho "!:1"',
    "a name in (( ))": "a='b[$(touch OUT)]'; (( a ))",
    "a name in (( )) of an if": "a='b[$(touch OUT)]'; if ((a)); then :; fi",
    "> inside [ ]": "[ a > OUT ]",
    "> inside [ ] behind an operator": "[ x = y > OUT ]",
    "a bare repository made of plain files": (
        "mkdir -p s/objects s/refs; echo ref: refs/heads/m > s/HEAD; printf '[core]\\n"
        'repositoryformatversion=0\\nbare=false\\nworktree=.\\nfsmonitor="touch OUT;false"\\n\' > s/config; '
        "cd s && git status"
    ),
    "a relative link from another folder": (
        "cd a/b/c && ln -s ../../.. ../../../l && cd ../../.. && touch l/out/pwn"
    ),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project three folders below the one that has `out` in it."""
    folder = tmp_path / "p" / "q" / "proj"
    (folder / "a/b/c").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (folder / "f").write_text("x\n")
    for name in (".claude/settings.json", "c/settings.json", "CLAUDE.md"):
        (folder / "ev" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "ev" / name).write_text("{}")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com"]
    for words in (["init", "-q"], ["add", "f"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], cwd=folder, check=True, capture_output=True)
    (folder / "f").write_text("y\n")
    return folder


def _run(command: str, folder: Path) -> None:
    argv = ["bash", "-c", command]
    subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_writes_outside_of_the_project_asks(name: str, project: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = OUTSIDE[name].replace("OUT", f"{out}/pwn").replace("FOLDER", str(out))
    reach = examine(command, str(project), (str(project),)).reach
    _run(command, project)
    assert (out / "pwn").exists(), "bash does not do it"
    assert reach == "asks"


# What each makes is a file that programs obey, though not every command names it.
STEERING = {
    ".claude/settings.json": (
        "cp -r ev/. .",
        "cp -rT ev .",
        "cp -r ev/.claude .",
        "git add ev/c; git mv ev/c .claude",
    ),
    ".mcp.json": ("echo x > .mcp; sed -i.json p .mcp", "git mv f .mcp.json"),
    ".envrc": ("echo x > .env; sed -irc p .env", "echo x > .env; sed --in-place=rc p .env"),
    "CLAUDE.md": (
        "cp ev/CLAUDE.md .",
        "mv ev/* .",
        'x=CLAUDE.md; cd ev; cp "$x" ..',
        "echo x > CLAUDE; sed -i.md p CLAUDE",
    ),
}


@pytest.mark.parametrize(("made", "command"), [(made, one) for made in STEERING for one in STEERING[made]])
def test_what_makes_a_file_that_programs_obey_asks(made: str, command: str, project: Path) -> None:
    reach = examine(command, str(project), (str(project),)).reach
    _run(command, project)
    assert (project / made).exists(), "bash does not do it"
    assert reach == "asks"


@pytest.mark.parametrize(
    "name",
    [
        *("CLAUDE.local.md", ".cursorrules", ".windsurfrules", ".roo/x", ".kiro/x", ".aider.conf.yml"),
        *(".yarnrc.yml", ".mise.toml", ".zshenv", ".circleci/config.yml", "usercustomize.py"),
        ".config/systemd/user/x.service",
    ],
)
def test_files_that_programs_obey_are_known_by_name(name: str) -> None:
    assert examine(f"echo x > {name}", "/proj", ("/proj",)).reach == "asks"


@pytest.mark.parametrize(
    "command",
    [
        *("git rm -rf ../other", "git clean -fdx ..", "git checkout x -- ../y", "git mv f ../y"),
        *(
            "git checkout x -- :/y",
            'git rm "$x"',
            "git checkout -m ../y",
            "git restore --pathspec-from-file=y",
        ),
    ],
)
def test_git_stays_in_a_project_that_is_a_part_of_a_repository(command: str) -> None:
    assert examine(command, "/repo/pkg", ("/repo/pkg",)).reach == "asks"


@pytest.mark.parametrize(
    "command",
    [
        *("rm -rf ./[!.]*", "rm -rf ./*[a-z]*", "rm -rf */*", "find ./[!.]* -delete"),
        *("git rm -rf .", "git rm -r *", "git clean -fdx", "git clean -fd -e x"),
    ],
)
def test_deleting_all_of_the_project_asks(command: str) -> None:
    assert examine(command, "/proj", ("/proj",)).reach == "asks"


@pytest.mark.parametrize(
    "command", ["git rm a.txt", "git clean -fd build", "git mv a.txt b.txt", "mv ./*.txt build"]
)
def test_what_is_named_in_the_project_may_change(command: str) -> None:
    assert examine(command, "/proj", ("/proj",)).reach == "project"


@pytest.mark.parametrize("mode", ["4755", "2755", "06755", "+4000", "u+s"])
def test_a_mode_that_gives_rights_is_seen(mode: str) -> None:
    assert examine(f"chmod {mode} x", "/proj", ("/proj",)).privilege


@pytest.mark.parametrize("sign", ["<<a\n", "a<<b ", "a=("])
def test_many_texts_and_lists_in_a_command_are_not_even_parsed(
    sign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parser takes seconds for them, during which nobody else is answered."""
    monkeypatch.setattr(parsing, "Parser", None)
    assert examine((sign * 20_000)[:19_000], "/proj", ("/proj",)).unparsed
