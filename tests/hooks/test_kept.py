"""Rules, ledger and keys may lie in the project, as in the documentation: its agent leaves them alone."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import beliefd
from beliefd.hooks.shell import examine
from beliefd.steward.facts.shells import kept_places
from tests.hooks.support import Guarded, event, guarded
from tests.support.server import ServerProcess


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Guarded, Path]]:
    """A server whose rules are a file that it reads again whenever it changes."""
    folder = tmp_path_factory.mktemp("project")
    with guarded(folder) as one:
        one.server.stop()
        server = ServerProcess(folder / "data", options=("--policy", str(folder / "policy.yaml")))
        try:
            yield Guarded(server, one.hook, one.person), folder
        finally:
            server.stop()


def passes(project: tuple[Guarded, Path], tool: str, **args: str) -> bool:
    house, folder = project
    told = event("claude-code", "before", conversation="kept", use=f"use-{args}")
    told |= {"tool_name": tool, "tool_input": args, "cwd": str(folder)}
    ended = house.send("claude-code", told, BELIEFD_PROJECT=str(folder))
    assert ended.code == 0 or "beyond the project" in ended.stderr, ended.stderr
    return ended.code == 0


@pytest.mark.parametrize(
    "command",
    [
        *(
            "echo 'v: 1' > policy.yaml",
            "sed -i s/ask/x/ policy.yaml",
            "cp other/policy.yaml .",
            "mv x policy.yaml",
        ),
        *(
            "rm -rf data",
            "mv data elsewhere",
            "cp x data/beliefd.db",
            "touch data/beliefd.db-wal",
            "rm p*.yaml",
        ),
        *("touch POLICY.yaml", "git checkout old -- policy.yaml", "git restore --source=old policy.yaml"),
        *(
            "cd data && touch webhook.key",
            f"touch {sys.prefix}/x",
            f"touch {Path(beliefd.__file__).parent}/x.py",
        ),
    ],
)
def test_a_command_that_changes_what_judges_it_waits(command: str, project: tuple[Guarded, Path]) -> None:
    assert not passes(project, "Bash", command=command)


def test_a_tool_that_writes_the_rules_waits(project: tuple[Guarded, Path]) -> None:
    _, folder = project
    house, _ = project
    told = event("claude-code", "before", conversation="kept", use="edit")
    told |= {
        "tool_name": "Write",
        "tool_input": {"file_path": str(folder / "policy.yaml"), "content": "v: 1"},
    }
    ended = house.send("claude-code", told | {"cwd": str(folder)}, BELIEFD_PROJECT=str(folder))
    assert ended.code == 2
    assert "waits for a person" in ended.stderr


@pytest.mark.parametrize(
    "command",
    ["echo x > other.yaml", "cp a.txt .", "rm -rf build", "git checkout main", "git checkout HEAD -- a.txt"],
)
def test_the_rest_of_the_project_stays_free(command: str, project: tuple[Guarded, Path]) -> None:
    assert passes(project, "Bash", command=command)


@pytest.mark.parametrize(
    "path",
    [
        ".venv/bin/python",
        "venv/lib/python3.12/site-packages/x.pth",
        ".pdbrc",
        ".agents/x.md",
        ".claude/settings.json",
    ],
)
def test_what_is_brought_back_or_written_and_obeyed_later_asks(path: str) -> None:
    for command in (f"touch {path}", f"git checkout other -- {path}", f"git restore -s other {path}"):
        assert examine(command, "/proj", ("/proj",)).reach == "asks", command


def test_a_program_that_is_installed_in_the_project_is_not_changed_either() -> None:
    for place in (Path(sys.prefix), Path(beliefd.__file__).parent):
        project = (str(place.parent),)
        write = f"touch {place}/x.py"
        assert examine(write, project[0], project, kept=kept_places(())).reach == "asks"


@pytest.mark.parametrize("home", ["/home/ann", "/Users/ann/", "/root", "/home", "//home/ann/x/.."])
def test_a_whole_home_is_nobodys_project(home: str, project: tuple[Guarded, Path]) -> None:
    house, _ = project
    write = event(
        "claude-code", "before", conversation=f"at home {home}", command="touch .local/bin/git", use="u"
    )
    assert house.send("claude-code", write | {"cwd": home}).code == 2
    shop = event("claude-code", "before", conversation=f"in a shop of {home}", command="touch x", use="u")
    assert house.send("claude-code", shop | {"cwd": "/home/ann/shop"}).code == 0
