"""What nobody would see is shown by its number: in text for people, in JSON on a terminal, in messages."""

import json
import unicodedata
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefd.cli.views import modules
from beliefd.protocol.visible import BLANK, visible, visible_json, visible_lines
from beliefd.steward.effects.webhook import _message
from beliefd.stores.projections import InboxRow
from beliefd.testing.world import World
from tests.claims.support import bundle, claim
from tests.cli.runner import answer, beliefd

SEEN = [
    "\ufe0f",
    "\U000e0101",
    "\u034f",
    "\u3164",
    "\u2800",
    "\u202e",
    "\u2066",
    "\u200b",
    "\u009b",
    "\u17b4",
]
HIDDEN = [*SEEN, "\u200b", "\u115f", "\uffa0", "\u00ad", "\ufeff", "\u2028", "\u00a0", "\x7f", *sorted(BLANK)]
DRAWN = "Grüße, e\u0301, 漢字, العربية, हिन्दी, \U0001f642 █░●✗"


def hides(char: str) -> bool:
    """By the names and categories that Python's own tables have, apart from how it is worked out."""
    name = unicodedata.name(char, "")
    return unicodedata.category(char)[0] in "CZ" or "VARIATION SELECTOR" in name or "HANGUL FILLER" in name


@pytest.mark.parametrize("char", HIDDEN, ids=ascii)
def test_what_is_drawn_as_nothing_is_shown_by_its_number(char: str) -> None:
    number = f"{ord(char):x}"
    for show in (visible, visible_lines):
        assert show(f"a{char}b") in (f"a\\u{{{number}}}b", f"a\\x{number}b")
    written = visible_json({"a": f"x{char}y"})
    assert written.isascii()
    assert b"\x7f" not in written
    assert json.loads(written) == {"a": f"x{char}y"}


@pytest.mark.parametrize("show", [visible, visible_lines])
def test_what_people_can_read_stays(show: Any) -> None:
    assert show(DRAWN) == DRAWN
    assert visible_json(DRAWN) == msgspec.json.encode(DRAWN)


def test_no_character_that_hides_gets_through() -> None:
    through = [code for code in range(0x110000) if chr(code) in visible(chr(code))]
    assert [hex(code) for code in through if hides(chr(code)) and code != 0x20] == []
    assert len(through) > 100_000, "letters are not hidden"


@given(
    st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=9)
)
def test_json_says_the_same(value: Any) -> None:
    written = visible_json(value)
    assert json.loads(written) == value
    assert not any(hides(char) for char in written.decode() if char != " ")


def test_lines_of_ours_stay_and_lines_of_others_do_not() -> None:
    assert visible_lines("one\n    two\u202e") == "one\n    two\\u{202e}"
    assert visible("one\n     two") == "one\\x0a  two"


TRICK = "x" + "".join(SEEN) + "y"
NAME = "x" + "".join(char for char in SEEN if char != "\u009b") + "y"


def clean(shown: str) -> bool:
    return not any(char in shown for char in SEEN)


def test_no_command_shows_what_hides(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "bundle.json"
    session = answer("session", "declare", NAME, "b", "c", "--data", data)["session_id"]
    decision = claim(claim_type="DECISION", risk_tier="DELETE", statement=TRICK)
    file.write_text(json.dumps({"claims": [decision]}))
    beliefd("claim", "submit", session, file, "--data", data)
    waiting = answer("inbox", "list", "--data", data)["approvals"][0]["approval_id"]
    for command in (
        ("session", "show", session),
        ("session", "list"),
        ("audit", "show", session),
        ("inbox", "list"),
        ("inbox", "show", waiting),
        ("session", "show", NAME),
    ):
        for form in ((), ("--json",)):
            told = beliefd(*command, "--data", data, *form)
            assert clean(told.stdout), command
            assert clean(told.stderr), command
    assert NAME in answer("session", "show", session, "--data", data)["survivors"]


@pytest.mark.parametrize("arguments", [[NAME], ["session", NAME], ["session", "list", f"--{NAME}"]])
def test_complaints_about_a_command_line_hide_nothing(arguments: list[str]) -> None:
    told = beliefd(*arguments)
    assert told.exit_code == 2
    assert clean(told.output)


def test_a_webhook_tells_its_reason_as_people_can_read_it() -> None:
    modules()
    with World() as house:
        session = house.session()
        card = house.agent.submit_claims(session, bundle(claim(claim_type="DECISION", risk_tier="DELETE")))
        approval = house.state(session).approvals.by_id[card.approval_id or ""]
        row = InboxRow(approval.approval_id, session, "pending", approval.opened_at, None)
        tricked = msgspec.structs.replace(approval, reason=f"fine {TRICK}")
        assert clean(json.loads(_message(row, tricked))["reason"])
        assert json.loads(_message(row, approval))["reason"] == approval.reason
