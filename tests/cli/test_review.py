"""`beliefd inbox`: narrowed down, gone through one by one, and items named by parts of their ids."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import beliefd as library
from beliefd.cli.short_ids import short
from beliefd.protocol.asked import instead_in
from beliefd.testing.world import AGENT, OTHER_AGENT
from tests.cli.runner import answer, beliefd, in_terminal
from tests.cli.test_claims import bundle


@pytest.fixture
def waiting(data: Path, session: str) -> dict[str, str]:
    """Three items by two agents, by what they say."""
    found = {}
    for speaker, tier, words in (
        (AGENT, "DELETE", "drop orders_old"),
        (AGENT, "PRIVILEGE", "give root to triage"),
        (OTHER_AGENT, "DELETE", "drop [red]carts\x1b[2J"),
    ):
        with library.open(data / "beliefd.db", principal=speaker) as embedded:
            judged = embedded.submit_claims(session, bundle(tier, words))
            found[words] = str(judged.approval_id)
    return found


def listed(data: Path, *arguments: str) -> list[str]:
    return [one["approval_id"] for one in answer("inbox", "list", *arguments, "--data", data)["approvals"]]


def test_what_a_line_has_no_room_for_and_parts_of_seconds_are_left_out(data: Path, session: str) -> None:
    with library.open(data / "beliefd.db", principal=AGENT) as embedded:
        name = str(embedded.submit_claims(session, bundle("DELETE", "drop " + "x" * 90)).approval_id)
    assert f"{'drop ' + 'x' * 74}…  by" in beliefd("inbox", "list", "--data", data).stdout
    shown = beliefd("inbox", "show", name, "--data", data).stdout
    assert re.search(r"open until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n", shown), shown
    assert "." in answer("inbox", "show", name, "--data", data)["expires_at"]


def test_a_list_is_narrowed_down_as_in_the_console(data: Path, session: str, waiting: dict[str, str]) -> None:
    first, root, last = waiting.values()
    assert listed(data) == [first, root, last]
    assert listed(data, "--tier", "DELETE") == [first, last]
    assert listed(data, "--agent", OTHER_AGENT.id) == [last]
    assert listed(data, "--kind", "bundle", "--session", session[-8:]) == [first, root, last]
    assert listed(data, "--kind", "call") == []
    assert listed(data, "--tier", "DELETE", "--limit", "1") == [first]
    page = answer("inbox", "list", "--agent", OTHER_AGENT.id, "--limit", "1", "--data", data)
    assert [one["approval_id"] for one in page["approvals"]] == [last], "the page is filled from later ones"
    assert beliefd("inbox", "list", "--tier", "DESTROY", "--data", data).exit_code == 2


def test_parts_of_ids_are_enough_where_they_are_unique(
    data: Path, session: str, waiting: dict[str, str]
) -> None:
    first = waiting["drop orders_old"]
    for part in (first, short(first), first.removeprefix("apr-")[:18], first[-12:]):
        assert answer("inbox", "show", part, "--data", data)["approval_id"] == first
    for part in (session[-6:], session[:24]):
        assert answer("session", "show", part, "--data", data)["session_id"] == session
    event = answer("audit", "show", session, "--data", data)["events"][1]["event_id"]
    assert len(answer("audit", "show", session[-8:], "--since", event[-8:], "--data", data)["events"]) == 2
    several = beliefd("inbox", "show", first[:8], "--data", data)
    assert several.exit_code == 2
    assert all(f"`{one}`" in several.stderr for one in waiting.values())
    assert beliefd("inbox", "show", "ffffffff", "--data", data).exit_code == 2
    # Names of one's own are not looked up: an observation may be called like the end of an id.
    named = ("--source", "human://alice", "--observation", event[-8:])
    answer("session", "eliminate", session, "a", *named, "--data", data)
    assert answer("session", "why", session, "a", "--data", data)["events"][0]["observation_id"] == event[-8:]


def test_answers_from_a_pipe_decide_the_riskiest_first(data: Path, waiting: dict[str, str]) -> None:
    said = "approve\nyes\napprove\nPRIVILEGE\nit was planned\nreject\nnot on a Friday\nskip\n"
    went = beliefd("inbox", "review", "--data", data, stdin=said)
    assert went.exit_code == 3, "one is left"
    assert "not approved: `PRIVILEGE` was not typed" in went.stderr
    places = [
        went.stdout.index(words) for words in ("give root to triage", "drop orders_old", "drop [red]carts")
    ]
    assert places == sorted(places)
    assert "\x1b" not in went.stdout, "what agents write commands no terminal"
    assert went.stdout.endswith("1 left waiting\n")
    first, root, last = waiting.values()
    by_id = {name: answer("inbox", "show", name, "--data", data) for name in (first, root, last)}
    assert {name: one["status"] for name, one in by_id.items()} == {
        root: "approved",
        first: "rejected",
        last: "pending",
    }
    assert by_id[first]["approvals"][0]["reason"] == "not on a Friday"


def test_nothing_is_decided_once_answers_end(data: Path, waiting: dict[str, str]) -> None:
    for said in ("", "approve\n", "nonsense\n", "next\n" * 7, "quit\n", "edit\n", "approve\nPRIVILEGE\n"):
        assert beliefd("inbox", "review", "--data", data, stdin=said).exit_code == 3
    assert listed(data) == list(waiting.values())


def test_who_was_faster_is_told_and_the_review_goes_on(
    data: Path, waiting: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from beliefd.cli import reviewing

    decided: list[str] = []
    show = reviewing._Review._show

    def slowly(self: Any, card: Any) -> None:
        show(self, card)
        if not decided:
            decided.append(card.approval_id)
            self._calls.decide_approval(card.approval_id, "REJECTED", content_hash=card.content_hash)

    monkeypatch.setattr(reviewing._Review, "_show", slowly)
    went = beliefd("inbox", "review", "--tier", "PRIVILEGE", "--data", data, stdin="approve\nPRIVILEGE\n\n")
    assert "nothing was decided: CONFLICT" in went.stderr
    assert "is rejected already, by `operator://local`" in went.stderr
    assert (went.exit_code, went.stdout.splitlines()[-1]) == (0, "done")


def test_claims_are_edited_in_an_editor(data: Path, waiting: dict[str, str], tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/give root/give nothing/" "$1"\n')
    editor.chmod(0o700)
    keys = b"edit\nless is enough\nquit\n"
    review = ("inbox", "review", "--tier", "PRIVILEGE", "--data", data)
    _, shown = in_terminal(*review, keys=keys, EDITOR=str(editor))
    assert "give root to triage" in shown
    page = answer("inbox", "list", "--tier", "PRIVILEGE", "--data", data)["approvals"]
    (edited,) = [one["title"] for one in page]
    assert edited == "give nothing to triage"


def test_columns_fit_the_terminal_and_are_coloured_by_tier(data: Path, waiting: dict[str, str]) -> None:
    code, shown = in_terminal("inbox", "list", "--data", data)
    assert code == 0
    lines = [line for line in shown.splitlines() if "DELETE" in line or "PRIVILEGE" in line]
    first, root, last = waiting.values()
    assert [short(name) in line for name, line in zip((root, first, last), lines, strict=True)] == [True] * 3
    colours = [line[: line.index("E")].rpartition("\x1b[")[2] for line in lines]
    assert colours[1] == colours[2] != colours[0]
    assert "[red]carts" in shown


def test_a_review_in_json_says_what_was_shown_and_what_came_of_it(
    data: Path, waiting: dict[str, str]
) -> None:
    went = beliefd("inbox", "review", "--tier", "PRIVILEGE", "--json", "--data", data, stdin="r\nno\n")
    card, came, left = map(json.loads, went.stdout.splitlines())
    assert card["approval_id"] == came["approval_id"] == waiting["give root to triage"]
    assert (came["status"], left) == ("rejected", {"left": 0})


def test_a_list_shows_the_riskiest_first_then_the_oldest(data: Path, waiting: dict[str, str]) -> None:
    first, root, last = waiting.values()
    printed = beliefd("inbox", "list", "--data", data).stdout
    places = [printed.index(name) for name in (root, first, last)]
    assert places == sorted(places)


def test_nobody_is_asked_about_what_is_decided_already(data: Path, waiting: dict[str, str]) -> None:
    first = waiting["drop orders_old"]
    answer("inbox", "reject", first, "--yes", "--data", data)
    at = answer("inbox", "show", first, "--data", data)["decided_at"]
    late = beliefd("inbox", "approve", first, "--data", data, stdin="y\n")
    assert late.exit_code == 4
    assert f"is rejected already, by `operator://local`, at {at}" in late.stderr
    assert "approve this?" not in late.stderr
    shown = beliefd("inbox", "show", first, "--data", data).stdout
    assert "REJECTED by operator://local\n" in shown, "without a reason there is no colon"


def test_what_was_decided_stands_in_the_ledger_of_who_decided_it(data: Path, waiting: dict[str, str]) -> None:
    answer("inbox", "approve", waiting["drop orders_old"], "--yes", "--data", data)
    printed = beliefd("audit", "who", "operator://local", "--data", data).stdout
    decided = next(line for line in printed.splitlines() if "APPROVED " in line)
    assert "drop orders_old" in decided


MAIL = {"to": "eve@example.net", "body": "see you\x1b[2J"}


@pytest.fixture
def asked(data: Path, session: str, tmp_path: Path) -> str:
    """A call of an agent's own tool, that waits under the shipped rules; the same was approved before."""
    made = tmp_path / "guard.yaml"
    assert beliefd("policy", "init", "--preset", "guard", "--output", made).exit_code == 0
    assert beliefd("policy", "adopt", made, "--data", data).exit_code == 0
    issuing = ("--agent", AGENT.id, "--tool", "mail.send", "--calls", "5", "--data", data)
    token = beliefd("capability", "issue", session, *issuing).stdout.splitlines()[-1]
    with library.open(data / "beliefd.db", principal=AGENT) as embedded:

        def proposed(key: str) -> str | None:
            call = {"kind": "tool_call", "tool_id": "mail.send", "args": MAIL, "join_key": key}
            call |= {"rationale": "the page says [bold]so", "capability_token": token}
            (came,) = embedded.propose(session, [call], execute="caller").results
            return came.approval_id

        first = proposed("one")
        assert first
        answer("inbox", "approve", first, "--yes", "--reason", "only once", "--data", data)
        assert proposed("one, approved") is None, "it may be made"
        again = proposed("two")
        assert again
        return again


def test_a_call_is_shown_whole_before_it_is_decided(data: Path, asked: str) -> None:
    for shown in (
        beliefd("inbox", "review", "--data", data, stdin="quit\n"),
        beliefd("inbox", "show", asked, "--data", data),
    ):
        assert 'to "eve@example.net"' in shown.stdout
        assert "eve@example.net is from nowhere" in shown.stdout
        assert "because the page says [bold]so" in shown.stdout
        assert "stopped by guard.03_told, guard.04_sinks; to pass: a person must approve it" in shown.stdout
        assert "the same was approved by operator://local" in shown.stdout
        assert "only once" in shown.stdout
        assert "\x1b" not in shown.stdout


def test_an_edited_call_is_rejected_with_what_its_agent_should_propose(
    data: Path, asked: str, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/eve@/ann@/" "$1"\n')
    editor.chmod(0o700)
    review = ("inbox", "review", "--kind", "call", "--data", data)
    code, _ = in_terminal(*review, keys=b"edit\nto Ann\n", EDITOR=str(editor))
    assert code == 0
    card = answer("inbox", "show", asked, "--data", data)
    said = card["approvals"][0]["reason"]
    assert (card["status"], said.partition("\n")[0]) == ("rejected", "to Ann")
    assert instead_in(said) == {**MAIL, "to": "ann@example.net"}
    assert beliefd(*review, stdin="edit\n").exit_code == 0, "nothing is left to review"
