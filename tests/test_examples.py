"""Every example runs, against its own store and against a server, and notices when it is wrong."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.server import complaints, server_process

EXAMPLES = Path(__file__).parents[1] / "examples"
LIMIT_SECONDS = 120


def run(name: str, *arguments: str, stdin: str | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments],
        input=stdin if stdin is not None else "",
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def test_every_example_is_tested_here() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "firewall.py",
        "liar.py",
        "replay_demo.py",
        "sre_incident.py",
        "twenty_questions.py",
    }


def test_nothing_that_a_liar_gets_out_is_unmarked() -> None:
    ran = run("liar.py")
    assert (ran.returncode, complaints(ran.stderr)) == (0, []), ran.stdout
    assert ", 0 answers that are not on record" in ran.stdout
    for sentence in ("guard", "gate", "ground"):  # the three of the README's first screen
        assert re.search(rf"^{sentence}.*: holds, 0 things wrong$", ran.stdout, re.MULTILINE), sentence
    published = re.search(r"gate \((\d+) published\)", ran.stdout)
    assert published is not None
    assert int(published[1]) >= 10
    assert "\n! " not in ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "found"),
    [
        ("uncertainty: {unwitnessed: untold}", "a declared number without a caveat"),
        ("evidence: {unnamed: untold}", "no source, and no caveat that says so"),
    ],
)
def test_what_a_liar_gets_out_unmarked_is_found(tmp_path: Path, policy: str, found: str) -> None:
    shutil.copytree(EXAMPLES / "lies", tmp_path / "lies")
    shutil.copy(EXAMPLES / "liar.py", tmp_path)
    world = tmp_path / "lies" / "world.py"
    world.write_text(world.read_text().replace("\ntiers:", f"\n{policy}\ntiers:"))
    ran = run(str(tmp_path / "liar.py"))
    assert ran.returncode == 1
    assert found in ran.stdout
    assert "does not hold" in ran.stdout


def test_replaying_the_log_gives_the_snapshot_back() -> None:
    ran = run("replay_demo.py")
    assert (ran.returncode, complaints(ran.stderr)) == (0, [])
    assert ran.stdout.count("['bad_deploy', 'replication_lag']") == 3
    assert ran.stdout.endswith("replay reproduces the snapshot\n")


def test_a_replay_that_differs_is_a_failure(tmp_path: Path) -> None:
    source = (EXAMPLES / "replay_demo.py").read_text()
    wrong = source.replace('survivors -= set(event["delta"]["eliminated"])', "pass")
    assert wrong != source
    path = tmp_path / "replay_demo.py"
    path.write_text(wrong)
    assert run(str(path)).returncode == 1


def test_the_incident_comes_down_to_its_cause() -> None:
    ran = run("sre_incident.py")
    assert (ran.returncode, complaints(ran.stderr)) == (0, [])
    assert "root_cause:bad_deploy: refused" in ran.stdout
    assert "root_cause:db_connection_exhaustion; closed: True" in ran.stdout


def test_every_cause_of_the_incident_is_found() -> None:
    ran = run("sre_incident.py", "--all")
    assert ran.returncode == 0
    assert ran.stdout.count("verified: True") == 12


def test_every_animal_is_found_within_twenty_questions() -> None:
    ran = run("twenty_questions.py", "--all")
    assert ran.returncode == 0
    lines = ran.stdout.splitlines()
    assert len(lines) == 30
    for line in lines:
        found = re.fullmatch(r"(\w+): (\d+) questions, guessed (\w+)", line)
        assert found is not None
        assert found[1] == found[3]
        assert int(found[2]) <= 20


def test_twenty_questions_can_be_played() -> None:
    ran = run("twenty_questions.py", stdin="maybe\nno\n" + "no\n" * 20)
    assert ran.returncode == 0
    assert "please answer" in ran.stdout
    assert ran.stdout.splitlines()[-1].rpartition("] ")[2].startswith("after ")


def test_an_unfinished_game_is_no_success() -> None:
    assert run("twenty_questions.py", stdin="no\n").returncode == 1


@pytest.mark.parametrize(
    "arguments", [("replay_demo.py",), ("sre_incident.py",), ("twenty_questions.py", "--secret", "octopus")]
)
def test_examples_run_against_a_server(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with server_process(tmp_path) as server:
        ran = run(*arguments, "--url", server.url)
        assert (ran.returncode, complaints(ran.stderr)) == (0, [])
        with server.client() as client:
            assert len(client.list_sessions().sessions) == 1


def test_one_claim_is_supported_one_refuted_and_one_stopped_as_fragile() -> None:
    ran = run("firewall.py")
    assert (ran.returncode, complaints(ran.stderr)) == (0, [])
    assert ran.stdout.count("reproduced: the same result hash") == 3
    assert ran.stdout.count("verified: True, same without speculation: True") == 3
    assert "eliminates disk_full, warrants supported" in ran.stdout
    assert "eliminates pool_exhausted, warrants refuted" in ran.stdout
    assert "eliminates nothing, warrants unresolved" in ran.stdout


def test_a_story_that_there_is_not_is_bad_input() -> None:
    assert run("firewall.py", "proven").returncode == 2
