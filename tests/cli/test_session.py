"""`beliefd session` on a store of its own: verbs, questions, exit codes, and text that cannot deceive."""

import json
import re
from pathlib import Path

import msgspec
import pytest

import beliefd as library
from beliefd.cli.output import console
from beliefd.testing.world import ONTOLOGY_JSON
from tests.cli.runner import answer, beliefd, in_terminal

BY = ("--source", "human://alice", "--observation", "o1")


def test_a_session_from_declaration_to_termination(data: Path, session: str) -> None:
    at = ("--data", data)
    entered = answer("session", "obligation", session, "look", "2", *at)
    assert entered["snapshot"]["active_obligation_id"] == "look"
    assert answer("session", "exit", session, "look", *at, code=4)["approved"] is False
    assert answer("session", "conclude", session, "it_is:c", *at, code=4)["accepted"] is False
    fallen = answer("session", "eliminate", session, "a", "b", *BY, "--because", "seen", *at)
    assert fallen["applied_eliminated"] == ["a", "b"]
    assert answer("session", "terminate", session, *at, code=4)["approved"] is False
    assert answer("session", "exit", session, "look", *at)["approved"] is True
    assert answer("session", "conclude", session, "it_is:c", *at)["accepted"] is True
    assert answer("session", "terminate", session, *at)["approved"] is True
    refused = answer("session", "eliminate", session, "c", *BY, *at, code=4)
    assert refused["error"]["code"] == "SESSION_TERMINATED"
    assert answer("session", "show", session, *at)["status"] == "terminated"


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("eliminate", "{session}", "zebra", *BY), 4, "INVALID_HYPOTHESIS_ID"),
        (("exit", "{session}", "nothing"), 4, "OBLIGATION_NOT_FOUND"),
        (("eliminate", "{session}", "a", *BY, "--if-match", "stale"), 4, "CONFLICT"),
        (("obligation", "{session}", "look", "99"), 4, "INVALID_REQUEST"),
        (("show", "nowhere"), 2, "SESSION_NOT_FOUND"),
        (("show", "{session}", "--at", "99"), 2, "INVALID_REQUEST"),
        (("why", "{session}", "zebra"), 2, "INVALID_HYPOTHESIS_ID"),
        (("eliminate", "{session}", "a", "--source", "x\ny", "--observation", "o"), 2, "INVALID_REQUEST"),
    ],
)
def test_exit_codes_tell_refusals_from_bad_input(
    data: Path, session: str, arguments: tuple[str, ...], code: int, named: str
) -> None:
    given = [argument.replace("{session}", session) for argument in arguments]
    told = beliefd("session", *given, "--data", data)
    assert told.exit_code == code
    assert named in told.stderr
    assert answer("session", *given, "--data", data, code=code)["error"]["code"] == named


def test_a_store_that_is_not_there_is_not_made_by_asking(data: Path) -> None:
    result = beliefd("session", "list", "--data", data)
    assert result.exit_code == 1
    assert str(data) in result.stderr
    assert not data.exists()


def test_json_is_the_answer_and_nothing_else(data: Path, session: str) -> None:
    printed = answer("session", "show", session, "--data", data)
    with library.open(data / "beliefd.db") as embedded:
        assert printed == msgspec.to_builtins(embedded.query_belief(session))


@pytest.mark.parametrize("name", ["body.json", "body.yaml"])
def test_a_session_is_declared_from_a_file(data: Path, tmp_path: Path, name: str) -> None:
    body = {"hypotheses": ["x", "y"], "ontology": ONTOLOGY_JSON, "metadata": {"ticket": 7}}
    path = tmp_path / name
    path.write_text(json.dumps(body))
    snapshot = answer("session", "declare", "--file", path, "--data", data)["snapshot"]
    assert (snapshot["survivors"], snapshot["metadata"]) == (["x", "y"], {"ticket": 7})
    assert snapshot["ontology"] == ONTOLOGY_JSON


@pytest.mark.parametrize("text", ["- x\n- y\n", '["x", "y"]'])
def test_a_session_is_declared_from_stdin(data: Path, text: str) -> None:
    snapshot = answer("session", "declare", "--space", "pets", "--data", data, stdin=text)["snapshot"]
    assert snapshot["survivors"] == ["x", "y"]
    assert snapshot["ontology"]["hypothesis_space_id"] == "pets"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "expected `object`, got `null`"),
        ('{"hypotheses": ["x"], "hypotheses": ["y"]}', "hypotheses"),
        ("hypotheses: [x]\nhypotheses: [y]\n", "key `hypotheses` appears twice"),
        (json.dumps({"hypotheses": ["x"]}), "$.ontology"),
        (json.dumps({"hypotheses": ["x"], "ontology": ONTOLOGY_JSON, "hue": 1}), "$.hue"),
        ('{"hypotheses": [1]}', "$.hypotheses[0]"),
        ("a: [1", "not YAML"),
        ("!!python/object/apply:os.getcwd []", "not YAML"),
    ],
)
def test_a_bad_body_is_named_with_its_place(data: Path, text: str, complaint: str) -> None:
    result = beliefd("session", "declare", "--data", data, stdin=text)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert "Traceback" not in result.output


def test_hypotheses_come_from_one_place(data: Path) -> None:
    assert beliefd("session", "declare", "a", "--file", "x.json", "--data", data).exit_code == 2


def test_a_server_and_a_store_are_not_asked_at_once(data: Path, session: str) -> None:
    result = beliefd("session", "show", session, "--data", data, "--url", "http://127.0.0.1:1")
    assert result.exit_code == 2


@pytest.mark.parametrize("text", ["[1]", "{", '{"a": NaN}', '{"a": 1, "a": 2}'])
def test_an_option_that_holds_json_is_read_strictly(data: Path, session: str, text: str) -> None:
    result = beliefd("session", "terminate", session, "--context", text, "--data", data)
    assert result.exit_code == 2
    assert "--context" in result.stderr


def test_force_is_granted_to_the_local_operator(data: Path, session: str) -> None:
    ruling = answer("session", "terminate", session, "--force", "--data", data)
    assert (ruling["approved"], ruling["reason"]) == (True, "forced by role `admin`")


def test_a_key_makes_a_retry_harmless(data: Path, session: str) -> None:
    call = ("session", "eliminate", session, "a", *BY, "--key", "k1", "--data", data)
    assert answer(*call) == answer(*call)
    assert answer("session", "show", session, "--data", data)["seq"] == 2


def test_a_conclusion_is_shown_with_what_it_rests_on(data: Path, session: str) -> None:
    for step in (
        ("eliminate", session, "a", *BY),
        ("conclude", session, "free"),
        ("eliminate", session, "b", *BY),
    ):
        answer("session", *step, "--data", data)
    assert answer("session", "show", session, "--data", data)["conclusions_rest_on"] == {
        "free": {"witnessed": 0, "attested": 1}
    }
    shown = " ".join(beliefd("session", "show", session, "--data", data).stdout.split())
    assert "conclusion free on eliminations 0 witnessed, 1 attested" in shown


def test_the_past_can_be_shown(data: Path, session: str) -> None:
    answer("session", "eliminate", session, "a", *BY, "--data", data)
    assert answer("session", "show", session, "--at", "1", "--data", data)["n_survivors"] == 3


def test_the_list_is_paged(data: Path) -> None:
    made = [answer("session", "declare", "a", "--data", data)["session_id"] for _ in range(3)]
    first = answer("session", "list", "--limit", "2", "--data", data)
    rest = answer("session", "list", "--cursor", first["next"], "--data", data)
    listed = [item["session_id"] for item in first["sessions"] + rest["sessions"]]
    assert (listed, rest["next"]) == (sorted(made), None)
    drawn = beliefd("session", "list", "--limit", "2", "--data", data).stdout
    assert made[0] in drawn
    assert f"--cursor {made[1]}" in drawn


def test_why_names_source_and_reason(data: Path, session: str) -> None:
    answer("session", "eliminate", session, "a", *BY, "--because", "disk is flat", "--data", data)
    told = beliefd("session", "why", session, "a", "--data", data).stdout
    assert "a: eliminated" in told
    assert "to `human://alice` on `o1`" in told
    assert "disk is flat" in told
    assert "nobody has spoken" in beliefd("session", "why", session, "b", "--data", data).stdout


def test_a_counterfactual_says_what_would_stand_again(data: Path, session: str) -> None:
    answer("session", "eliminate", session, "a", "b", *BY, "--data", data)
    answer("session", "conclude", session, "it_is:c", "--data", data)
    call = ("session", "counterfactual", session, "--without", "human://alice", "--data", data)
    assert answer(*call)["restored"] == ["a", "b"]
    told = beliefd(*call).stdout
    assert "would stand again: a, b" in told
    assert "it_is:c rests on them" in told
    assert "only human://alice spoke against a, b" in told


def test_no_survivors_are_never_shown_as_certainty(data: Path, session: str) -> None:
    answer("session", "eliminate", session, "a", "b", "c", *BY, "--data", data)
    assert "0 of 3 left, 0.00 bits, exhausted" in beliefd("session", "show", session, "--data", data).stdout


def test_obligations_are_drawn_with_their_progress(data: Path, session: str) -> None:
    answer("session", "obligation", session, "look", "2", "--data", data)
    answer("session", "eliminate", session, "a", *BY, "--data", data)
    drawn = beliefd("session", "show", session, "--data", data).stdout
    assert "look  █████░░░░░ 1 of 2 eliminations, active" in drawn


def test_what_agents_write_cannot_paint_the_screen(data: Path) -> None:
    tricks = ["[bold red]sure[/]", ":smile:", "left\u202eright", "zero\u200bwidth"]
    made = answer("session", "declare", *tricks, "--data", data)["session_id"]
    shown = beliefd("session", "show", made, "--data", data).stdout
    assert "[bold red]sure[/]" in shown
    assert ":smile:" in shown
    assert "left\\u{202e}right" in shown
    assert "zero\\u{200b}width" in shown
    reason = "\x1b[2Jgone \x07"
    said = beliefd("session", "eliminate", made, ":smile:", *BY, "--because", reason, "--data", data)
    assert said.exit_code == 0
    told = beliefd("session", "why", made, ":smile:", "--data", data).stdout
    assert "\\x1b[2Jgone \\x07" in told
    assert "\x1b" not in told


def test_the_console_takes_nothing_for_markup(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("[red]sure[/red] :smile:")
    assert capsys.readouterr().out == "[red]sure[/red] :smile:\n"


def test_watching_in_a_terminal_redraws_the_session(data: Path, session: str) -> None:
    answer("session", "eliminate", session, "a", "b", *BY, "--data", data)
    answer("session", "terminate", session, "--data", data)
    code, shown = in_terminal("session", "watch", session, "--data", data)
    assert code == 0
    for measured in ("3 of 3 left, 1.58 bits", "1 of 3 left, 0.00 bits", "terminated"):
        assert measured in re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", shown)


def test_a_long_list_of_survivors_says_how_many_it_leaves_out(data: Path) -> None:
    names = [f"h{number:04}" for number in range(300)]
    made = answer("session", "declare", *names, "--data", data)["session_id"]
    assert "and 180 more" in beliefd("session", "show", made, "--data", data).stdout


def test_what_an_elimination_cites_is_named_and_checked(data: Path, session: str) -> None:
    call = ("session", "eliminate", session, "a", "--source", "s", "--observation", "o", "--data", data)
    for words, code, told in (
        (("--cites", "obs-1"), 2, "write KIND=ID"),
        (("--cites", "paper=p"), 2, "unknown field `paper`"),
        (("--cites", "observation=obs-1"), 4, "OBSERVATION_NOT_FOUND"),
    ):
        result = beliefd(*call, *words)
        assert told in result.stdout + result.stderr
        assert result.exit_code == code, told


def test_what_was_seen_is_told_with_who_said_it(data: Path, session: str) -> None:
    """On one machine everybody is the same principal, who is no witness for himself."""
    take = ("observation", "take", session, "x", "--value", "1.5", "--json", "--data", data)
    seen = json.loads(beliefd(*take).stdout)["observation_id"]
    said = ("--source", "tool://df", "--observation", "df", "--cites", f"observation={seen}")
    told = beliefd("session", "eliminate", session, "a", *said, "--data", data).stdout
    assert "eliminations 0 witnessed, 1 attested" in told
    told = beliefd("session", "why", session, "a", "--data", data).stdout
    assert "fell      attested, by operator://local, to `tool://df` on `df`" in told
    assert f"cites observation {seen}" in told


def test_a_counterfactual_leaves_out_principals_and_what_is_attested(data: Path, session: str) -> None:
    beliefd("session", "eliminate", session, "a", "--source", "s", "--observation", "o", "--data", data)
    call = ("session", "counterfactual", session, "--data", data)
    assert "say what to leave out" in beliefd(*call).stderr
    told = beliefd(*call, "--without-principal", "operator://local", "--without-attested").stdout
    assert "without operator://local and attested eliminations:" in told
    assert "would stand again: a" in told
    assert "known: `operator://local`" in beliefd(*call, "--without-principal", "agent://x").stderr


def test_why_something_stands_is_told_too(data: Path, session: str) -> None:
    said = ("--source", "s", "--observation", "o1", "--data", data)
    beliefd("session", "eliminate", session, "a", "zebra", *said)
    told = beliefd("session", "why", session, "a", "--data", data).stdout
    assert "nobody has spoken against it" in told
    assert "refused    o1 by operator://local: INVALID_HYPOTHESIS_ID" in told


def test_a_hypothesis_that_was_misspelt_is_named_as_it_is_spelt(data: Path) -> None:
    at = ("--data", data)
    session = answer("session", "declare", "disk", "network", *at)["session_id"]
    told = beliefd("session", "eliminate", session, "disc", *BY, *at)
    assert told.exit_code == 4
    assert "not declared in this session: `disc`; did you mean `disk`?" in told.output
    assert "did you mean" not in beliefd("session", "eliminate", session, "zebra", *BY, *at).output
