"""What a page reads, and how long it is, does not grow with the ledger behind it."""

import time
from typing import Any, cast

import pytest

from beliefd.console.app import Visitor
from beliefd.console.asking import ROWS, Asker, Server
from beliefd.console.pages import audit, policy, propositions, sessions
from beliefd.console.rendering import now, page
from beliefd.kernel.values import Principal
from beliefd.protocol.rights import EVERYTHING
from beliefd.steward.call import Caller
from beliefd.testing.world import ANN, ONTOLOGY, World
from tests.console.test_bounds import MOST_BYTES
from tests.console.test_questions import PROPOSED
from tests.console.visitor import Served
from tests.knowledge.test_end_to_end import believed

SHORT, LONG = 600, 2_400
PAGES = {
    "overview": sessions.shown,
    "work": sessions.work,
    "what if": sessions.what_if,
    "what happened": sessions.audit,
    "audit": audit.searched,
    "proposition": propositions.shown,
    "policy": policy.shown,
}


class Counting(Asker, frozen=True):
    """Somebody whose questions are counted, by how much of a ledger they are answered with."""

    read: list[int] = []

    async def ask(self, name: str, *asked: Any, **more: Any) -> Any:
        found = await Asker.ask(self, name, *asked, **more)
        assert name in ROWS
        self.read.append(len(getattr(found, "events", ())))
        return found


@pytest.fixture(scope="module")
def house() -> Any:
    with World() as found:
        yield found


@pytest.fixture(scope="module")
def grown(house: World) -> dict[int, str]:
    """Sessions, by how many events are in them."""
    found = {}
    names = [f"h{at}" for at in range(300)]
    for events in (SHORT, LONG):
        opened = house.agent.declare_session(names, ONTOLOGY, metadata={"title": "x" * 1_000})
        for at in range(events - 1):
            house.agent.eliminate(
                opened.session_id,
                source_id=f"tool://{at % 50}",
                observation_id=f"o{at}",
                eliminated=[names[at % 299]],
                justification={"because": "y" * 200},
            )
        believed(house, opened.session_id, {**PROPOSED, "claim_id": opened.session_id})
        found[events] = opened.session_id
    return found


def looked_at(house: World, session_id: str, name: str) -> tuple[int, int, int]:
    """How many questions a look at a page asks, how many events it reads, and how long it is at last."""
    who: Principal = ANN
    asker = Counting(cast(Server, Served(house.runtime)), Caller(who, EVERYTHING), [])
    query = {"session": session_id, "verb": "DECLARE_SESSION"} if name == "audit" else {}
    visitor = Visitor(asker, {"session_id": session_id, "claim_id": session_id}, query, {})

    async def made() -> Any:
        return await PAGES[name](visitor)

    looks = []
    while True:
        seen = house.run(made)
        looks.append((len(asker.read), sum(asker.read)))
        asker.read.clear()
        if not seen.values.get("going"):
            break
        time.sleep(0.01)
    values = {**seen.values, "who": who, "now": now(), "places": []}
    return *max(looks), len(page(seen.template, values))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_a_long_session_reads_no_more_than_one_of_a_short_session(
    house: World, grown: dict[int, str], name: str
) -> None:
    short, long = (looked_at(house, grown[events], name) for events in (SHORT, LONG))
    assert long[:2] == short[:2]
    assert max(long[2], short[2]) < MOST_BYTES
    assert long[2] < 1.2 * short[2]
