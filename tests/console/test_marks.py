"""What came from elsewhere is marked wherever it is shown, and spaces are not shown to who has one."""

import io
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from beliefd.cli.views.drawing import view
from beliefd.console.app import Page
from beliefd.console.pages import access, inbox, propositions, sessions
from beliefd.knowledge import schema as say
from beliefd.protocol.rights import EVERYTHING
from beliefd.steward.call import Caller
from beliefd.testing.world import AGENT, ANN, ROOT, World, quiet
from tests.claims.support import bundle, claim
from tests.console.visitor import seen, shown
from tests.firewall.test_observing import RULES, tools
from tests.knowledge.story import refuted, supported
from tests.knowledge.test_believed import forge
from tests.knowledge.test_end_to_end import witnessed

MARK = '<span class="tag">foreign</span>'
OPERATOR = Caller(ROOT, EVERYTHING)


def whole(house: World, session_id: str) -> list[str]:
    """Every page, and every list and card on the command line, that shows something of a session."""
    one = {"session_id": session_id}
    asked: list[tuple[Page, dict[str, str]]] = [
        (sessions.listed, {}),
        (sessions.shown, one),
        (sessions.work, one),
        (inbox.waiting, {}),
        (propositions.listed, {}),
        (propositions.shown, {"claim_id": "wait"}),
    ]
    ann = house.person(ANN)
    told: list[Any] = [
        ann.list_sessions(),
        ann.query_belief(session_id),
        ann.list_approvals(status="pending"),
        ann.show_approval(ann.list_approvals(status="pending").approvals[0].approval_id),
        ann.list_propositions(),
        ann.show_proposition("wait"),
        ann.why_proposition("wait"),
        ann.list_claims(session_id),
        ann.show_claims(session_id, "b1"),
    ]
    return [*(shown(seen(house, made, path)) for made, path in asked), *map(drawn, told)]


def drawn(answer: Any) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(view(answer))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.fixture
def written() -> Iterator[tuple[str, bytes]]:
    """A session with a proposition and a claim that waits, and its ledger."""
    with World(policy=RULES, registry=tools(), detector=quiet) as house:
        session_id = witnessed(house)
        house.person(AGENT).submit_claims(session_id, bundle(claim("DELETE"), id="b1"))
        assert not [one for one in whole(house, session_id) if "foreign" in one or "began elsewhere" in one]
        yield session_id, house.person(AGENT).export(session_id)


def test_an_imported_ledger_is_marked_wherever_it_is_shown(written: tuple[str, bytes]) -> None:
    session_id, exported = written
    with World(policy=RULES, detector=quiet) as house:
        house.person(ROOT).import_ledger(exported, source="a friend")
        for said in (False, True):  # before anything is decided in it here, and afterwards
            if said:
                house.person(AGENT).speculate(session_id, "wait", [{"statement": "the clock is wrong"}])
            for text in whole(house, session_id):
                assert MARK in text or "began elsewhere" in text or "foreign" in text, text


def test_what_is_left_out_of_propositions_is_named_on_pages_and_in_the_terminal() -> None:
    with World() as house:
        for story in (supported("a", 1), refuted("b", 2, "c")):
            house.run(lambda story=story: story.write(house.steward.store))  # type: ignore[misc]
        forge(house, "a", say.PROPOSITION, status="proven")
        ann = house.person(ANN)
        told = [ann.list_propositions(), ann.show_proposition("c"), ann.why_proposition("c")]
        pages: list[tuple[Page, dict[str, str]]] = [
            (propositions.listed, {}),
            (propositions.shown, {"claim_id": "c"}),
        ]
        texts = [*map(drawn, told), *(shown(seen(house, made, path)) for made, path in pages)]
        assert [text for text in texts if "rebuild graph" not in text] == []


def test_who_has_one_space_sees_none_and_who_makes_a_second_sees_both() -> None:
    pages: list[Page] = [inbox.waiting, propositions.listed, access.shown]
    with World() as house:
        for made in pages:
            text = shown(seen(house, made, caller=OPERATOR))
            assert "pace</h2>" not in text
            assert 'name="space"' not in text
            assert "default" not in text.partition("Make a space")[0]
        house.person(ROOT).create_space("lab")
        for made in pages:
            assert 'name="space"' in shown(seen(house, made, caller=OPERATOR))
        assert "lab" in shown(seen(house, access.shown, caller=OPERATOR))
