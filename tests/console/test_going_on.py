"""What is listed in pieces goes on: every list of a session leads to its end, a page at a time."""

import asyncio
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from beliefd.console.app import Page, Visitor
from beliefd.console.pages import sessions
from beliefd.console.pages.past import CHARTED, FULL, has_calls, past_of
from beliefd.steward.handlers.ledger import RawAuditPage
from beliefd.testing.world import ANN, ONTOLOGY, World
from tests.claims.support import bundle, claim
from tests.console.test_questions import PROPOSED
from tests.console.visitor import seen, shown

MANY = sessions.LISTED + 5
NAMES = [f"h{at:03}" for at in range(sessions.NAMED + 100)]


@pytest.fixture(scope="module")
def house() -> Iterator[World]:
    with World() as opened:
        yield opened


@pytest.fixture(scope="module")
def session_id(house: World) -> str:
    """With more of everything than one page lists."""
    agent, ann = house.agent, house.person(ANN)
    opened: str = agent.declare_session(NAMES, ONTOLOGY).session_id
    for at in range(MANY):
        agent.submit_claims(opened, bundle(claim("READ_ONLY", "FACT", statement=f"claim {at:03}")))
        ann.observe(opened, quantity=f"observed-{at:03}", unit="ms", values=[1.0, 2.0])
        agent.stage_intent(opened, {**PROPOSED, "claim_id": f"intent-{at:03}"})
        agent.speculate(opened, f"idea-{at:03}", [{"statement": f"idea {at:03}"}])
        planned = agent.design_experiment(opened, claim={**PLAN, "claim_id": f"experiment-{at:03}"})
        agent.run_experiment(opened, planned.experiment_id)
    for at in range(90):
        agent.eliminate(
            opened,
            source_id=f"tool://source-{at:03}",
            observation_id=f"o{at}",
            eliminated=[NAMES[at]],
            justification={},
        )
    agent.eliminate(
        opened, source_id="tool://late", observation_id="late", eliminated=NAMES[90:95], justification={}
    )
    for at in range(CHARTED):
        agent.enter_obligation(opened, f"duty-{at}", 1)
    agent.eliminate(
        opened, source_id="tool://last", observation_id="last", eliminated=NAMES[95:97], justification={}
    )
    return opened


PLAN = {
    "claim_id": "wait",
    "claimed_value": 40.0,
    "observed_values": [39.0, 40.0, 41.0, 40.5, 39.5, 40.2],
    "tolerance": 2.0,
    "unit": "ms",
}


def walked(house: World, session_id: str, made: Page, label: str) -> list[str]:
    """The pages from the first to the last, by the link of that label."""
    pages: list[str] = []
    query: dict[str, str] = {}
    while True:
        pages.append(shown(seen(house, made, {"session_id": session_id}, query)))
        found = re.search(rf'<a href="\?([^"]+)"[^>]*>{label}</a>', pages[-1])
        if found is None:
            return pages
        query = dict(one.split("=") for one in unescape(found[1]).split("&"))
        assert len(pages) < 20


@pytest.mark.parametrize(
    ("made", "label", "pattern", "count"),
    [
        (sessions.work, "More claims", r"claim \d{3}", MANY),
        (sessions.work, "More experiments", r"experiment-\d{3}", MANY),
        (sessions.work, "More observations", r"observed-\d{3}", MANY),
        (sessions.shown, "More intents", r"propositions/(intent-\d{3})", MANY),
        (sessions.shown, "More evidence", r"propositions/(experiment-\d{3})", MANY),
        (sessions.shown, "More ideas", r"<p>(idea \d{3})", MANY),
        (sessions.shown, "More that stand", r'<li><a href="[^"]*/why/(h\d{3})"', len(NAMES) - 97),
        (sessions.shown, "More that fell", r'<td class="named"><a href="[^"]*/why/(h\d{3})"', 95),
        (sessions.shown, "Later ones", r"by tool://(last)", 1),
        (sessions.what_if, "Later ones", r"tool://(?:source-\d{3}|late|last)", 92),
    ],
)
def test_each_list_of_a_session_leads_to_its_end(
    house: World, session_id: str, made: Page, label: str, pattern: str, count: int
) -> None:
    pages = walked(house, session_id, made, label)
    assert len(pages) > 1
    found = [set(re.findall(pattern, one)) for one in pages]
    assert len(set().union(*found)) == count


def test_calls_are_listed_to_the_end_of_a_ledger_however_they_were_let_through() -> None:
    told = [{"call": called(0)}, {"result": {"call": called(1)}}, {"results": [{"call": called(2)}, {}]}]
    told += [{"call": called(at)} for at in range(3, 2 * FULL + 7)]

    class Direct(Struct):
        async def ask(self, _: str, __: object, query: dict[str, Any]) -> Any:
            first = query["after"]
            found = [
                {"seq": at + 1, "event_id": f"e{at}", "verb": "X", "actor": {"id": "a"}, "delta": told[at]}
                for at in range(first, min(len(told), first + query["limit"]))
            ]
            return RawAuditPage([msgspec.Raw(msgspec.json.encode(one)) for one in found], None)

    pages, first = [], 0
    while first < len(told):
        visitor = Visitor(Direct(), {"session_id": "s"}, {"from": str(first)}, {})  # type: ignore[arg-type]
        pages.append(asyncio.run(past_of(visitor, len(told), has_calls)))
        first = pages[-1].last
    assert [len(one.calls) for one in pages] == [FULL, FULL, 7]
    assert len({name for one in pages for name in one.calls}) == len(told)


def called(at: int) -> dict[str, str]:
    return {"call_id": f"call-{at}", "tool_id": "t", "status": "done"}
