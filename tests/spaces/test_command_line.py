"""`beliefd space`, and tokens with rights, on the command line."""

import json
from pathlib import Path

from tests.cli.runner import beliefd


def test_spaces_are_made_and_listed_and_tokens_get_rights_in_them(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    assert beliefd("space", "create", "lab", *data).stdout == "made space lab\n"
    again = beliefd("space", "create", "lab", *data)
    assert (again.exit_code, "there is a space `lab` already" in again.stderr) == (4, True)
    listed = json.loads(beliefd("space", "list", *data, "--json").stdout)["spaces"]
    assert [one["name"] for one in listed] == ["default", "lab"]
    made = ("token", "create", "--name", "scout", "--role", "agent", *data)
    assert beliefd(*made).exit_code == 0
    plain = beliefd("token", "list", *data).stdout
    assert "may" not in plain.splitlines()[0], "who uses no spaces sees none"
    assert beliefd(*made, "--space", "lab=propose", "--space", "default=read").exit_code == 0
    assert "default=read lab=propose" in beliefd("token", "list", *data).stdout
    for wrong in ("nowhere=read", "lab", "lab=write", "lab=approve", "Lab=read"):
        refused = beliefd(*made, "--space", wrong)
        assert (refused.exit_code, "INVALID_REQUEST" in refused.stderr) == (2, True), refused.stderr
    assert len(json.loads(beliefd("token", "list", *data, "--json").stdout)["tokens"]) == 2


def test_a_session_and_content_go_into_a_space(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    beliefd("space", "create", "lab", *data)
    declared = json.loads(beliefd("session", "declare", "a", "b", "--in", "lab", *data, "--json").stdout)
    for space, found in (("lab", [declared["session_id"]]), ("default", []), ("nowhere", [])):
        listed = json.loads(beliefd("session", "list", "--in", space, *data, "--json").stdout)["sessions"]
        assert [one["session_id"] for one in listed] == found
    path = tmp_path / "evidence.txt"
    path.write_text("seen")
    assert beliefd("content", "put", str(path), "--in", "lab", *data).exit_code == 0
    lost = beliefd("content", "put", str(path), "--in", "nowhere", *data)
    assert (lost.exit_code, "no space `nowhere`" in lost.stderr) == (2, True)


def test_sessions_are_listed_with_their_titles_and_where_they_are(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    titled = ("--metadata", '{"title": "why is it slow"}', *data, "--json")
    first = json.loads(beliefd("session", "declare", "a", "b", *titled).stdout)["session_id"]
    head, line = beliefd("session", "list", *data).stdout.splitlines()
    assert head.split()[:3] == ["session", "title", "left"], "who uses no spaces sees none"
    assert "why is it slow" in line
    shown = beliefd("session", "show", first, *data).stdout.splitlines()[0]
    assert shown == f"session {first}  event 1  why is it slow"
    beliefd("space", "create", "lab", *data)
    made = json.loads(beliefd("session", "declare", "a", "b", "--in", "lab", *data, "--json").stdout)
    head, *lines = beliefd("session", "list", *data).stdout.splitlines()
    assert head.split()[:4] == ["session", "title", "space", "left"]
    assert [line.split()[-5] for line in lines] == ["default", "lab"]
    again = json.loads(beliefd("audit", "replay", made["session_id"], *data, "--json").stdout)
    assert again["snapshot"]["space"] == "lab"
    shown = beliefd("session", "show", made["session_id"], *data).stdout
    assert f"session {made['session_id']}  event 1  space lab\n" in shown
