"""`beliefd firewall scan`: clean, marked with the path, or unreadable; and scripts can tell which."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import answer, beliefd, finished


def written(tmp_path: Path, document: Any) -> Path:
    path = tmp_path / "document.json"
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    return path


def test_a_clean_file_exits_with_0(tmp_path: Path) -> None:
    result = beliefd("firewall", "scan", written(tmp_path, {"note": "a speculative remark", "n": 10**30}))
    assert (result.exit_code, result.stdout) == (0, "clean: no marker of speculation\n")
    assert answer("firewall", "scan", "-", stdin="[]") == {"clean": True, "marker": None}


def test_a_marked_file_exits_with_4_and_prints_the_path(tmp_path: Path) -> None:
    path = written(tmp_path, {"a": [1, {"b": json.dumps({"epistemicStatus": "Speculative"})}]})
    result = beliefd("firewall", "scan", path)
    assert result.exit_code == 4
    assert result.stdout == "marked: $.a[1].b{}.epistemicStatus: a status of `Speculative`\n"
    found = answer("firewall", "scan", path, code=4)
    assert found == {
        "clean": False,
        "marker": {
            "path": "$.a[1].b{}.epistemicStatus",
            "kind": "status",
            "found": "a status of `Speculative`",
        },
    }


def test_what_is_repeated_hides_nothing() -> None:
    text = '{"lane": "speculative", "lane": "grounded"}'
    assert beliefd("firewall", "scan", "-", stdin=text).exit_code == 4


def test_what_it_prints_cannot_be_dressed_up() -> None:
    text = json.dumps({"\u202e\x1b[31m": {"lane": "speculative"}})
    shown = beliefd("firewall", "scan", "-", stdin=text).stdout
    assert shown == 'marked: $["\\u202e\\u001b[31m"].lane: a label of `speculative`\n'


def test_a_plan_is_held_to_more(tmp_path: Path) -> None:
    path = written(tmp_path, {"params": {"edge_cases": []}})
    assert beliefd("firewall", "scan", path).exit_code == 0
    result = beliefd("firewall", "scan", path, "--spec")
    assert (result.exit_code, result.stdout) == (4, "marked: $.params.edge_cases: a field `edge_cases`\n")


UNREADABLE = {
    "not JSON": b"{'a': 1}",
    "empty": b"",
    "cut off": b'{"lane": "speculative"',
    "not text": b'{"a": "\xff\xfe"}',
    "deep": b"[" * 100 + b'"speculative"' + b"]" * 100,
    "very deep": b"[" * 10_000 + b"]" * 10_000,
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_file_exits_with_2(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, UNREADABLE[name])
    result = beliefd("firewall", "scan", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"`{path}`" in result.stderr
    assert answer("firewall", "scan", path, code=2)["error"]["code"] == "INVALID_REQUEST"


def test_a_missing_file_and_a_folder_exit_with_2(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        result = beliefd("firewall", "scan", path)
        assert result.exit_code == 2
        assert "cannot read" in result.stderr


def test_it_runs_as_a_process_of_its_own(tmp_path: Path) -> None:
    assert finished("firewall", "scan", written(tmp_path, {"lane": "speculative"})).returncode == 4
