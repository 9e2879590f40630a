"""What does not fit in a file whose members become arguments of a call is a bad request with its path."""

import json
from pathlib import Path

import pytest

from tests.cli.runner import answer, beliefd

ROW = {"probabilities": [0.5, 0.5]}
SET = {"scores": [0.5, 0.6]}
TEXT = {
    "statement": "the pool ran out",
    "method": "semantic_entropy",
    "answers": ["it ran out", "full"],
}
PLAN: dict[str, object] = {"claim": {}}
MAKE, PUT = ("measurement", "make"), ("calibration", "put", "--model", "m")
APPEND, PREDICT, DESIGN = ("calibration", "append"), ("calibration", "predict"), ("experiment", "design")


@pytest.mark.parametrize(
    ("command", "document", "path"),
    [
        (MAKE, {"statment": "x"}, "$.statment"),
        (MAKE, {}, "$.statement"),
        *((MAKE, {**TEXT, name: "x"}, f"$.{name}") for name in ("foo", "session_id", "if_match", "self")),
        (MAKE, {**TEXT, "answers": 3}, "$.answers"),
        (PUT, {**SET, "model": "x"}, "$.model"),
        *((PUT, {**SET, name: "x"}, f"$.{name}") for name in ("foo", "name", "self")),
        (PUT, {"scores": 3}, "$.scores"),
        *((APPEND, {**SET, name: "x"}, f"$.{name}") for name in ("foo", "name", "self")),
        (PREDICT, {}, "$.probabilities"),
        (PREDICT, {"probabilities": 3}, "$.probabilities"),
        *((PREDICT, {**ROW, name: [0.5]}, f"$.{name}") for name in ("scores", "groups", "alpha", "self")),
        (PREDICT, {**ROW, "calibration": {"probabilities": [[0.5, 0.5]], "labels": [0]}}, "$.calibration"),
        (PREDICT, {**ROW, "recent": 3}, "$.recent"),
        *((DESIGN, {**PLAN, name: "x"}, f"$.{name}") for name in ("foo", "session_id", "notes", "self")),
    ],
)
def test_what_does_not_fit_is_named_by_its_path(
    tmp_path: Path, data: Path, session: str, command: tuple[str, ...], document: object, path: str
) -> None:
    file = tmp_path / "given.json"
    file.write_text(json.dumps(document))
    group, verb, *options = command
    where = session if command in (MAKE, DESIGN) else "kept"
    told = beliefd(group, verb, where, file, *options, "--data", data)
    assert told.exit_code == 2, told.output
    assert "INVALID_REQUEST" in told.stderr
    assert f"(at `{path}" in told.stderr


def test_what_fits_is_sent(tmp_path: Path, data: Path, session: str) -> None:
    file = tmp_path / "given.json"
    file.write_text(json.dumps(TEXT))
    assert answer("measurement", "make", session, file, "--data", data)["statement"] == TEXT["statement"]
    file.write_text(json.dumps({"scores": [0.1 * number for number in range(10)]}))
    assert answer("calibration", "put", "kept", file, "--model", "m", "--data", data)["count"] == 10
    assert answer("calibration", "append", "kept", file, "--data", data)["count"] == 20
    file.write_text(json.dumps(ROW))
    assert beliefd("calibration", "predict", "kept", file, "--data", data).exit_code in (0, 3)
