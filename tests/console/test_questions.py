"""A question that takes long tells how far it is, to whoever asked it, and is answered once."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import httpx
import pytest

from beliefd.console import questions as module
from beliefd.console.app import Page, Seen, Visitor
from beliefd.console.asking import Asker, Server
from beliefd.console.pages import audit, policy, propositions, sessions
from beliefd.console.questions import FEW, Questions, Reading
from beliefd.kernel.values import Role
from beliefd.protocol.ledger import Verified
from beliefd.protocol.rights import rights_of
from beliefd.steward.call import Caller
from beliefd.steward.handlers import reviewing
from beliefd.testing.world import ANN, ONTOLOGY, World
from beliefd.wanted import tell_read, telling
from tests.console.visitor import EVERYBODY, Person, Served, seen, session_of, shown
from tests.firewall.data import prediction
from tests.http.calls import eliminate
from tests.knowledge.test_end_to_end import believed

HOLDS = Verified(ok=True, checked=7, first_bad=None, head=None)
ANA, BEN = ("human://ana", b"s"), ("human://ben", b"t")
EVENTS = 3 * FEW
SEQ = EVENTS + 2
"""With the two by which a proposition was let in."""
PROPOSED = {
    "type": "create_proposition",
    "claim_id": "wait",
    "statement": "a wait takes 40 ms",
    "prediction": prediction(),
}
LONG: dict[str, tuple[Page, dict[str, str]]] = {
    "verify": (sessions.verified, {}),
    "why": (sessions.why, {}),
    "counterfactual": (sessions.what_if, {"attested": "1"}),
    "search_audit": (audit.searched, {"verb": "REQUEST_TERMINATION"}),
    "why_proposition": (propositions.shown, {}),
    "review_policy": (policy.shown, {}),
}
"""Pages by the operation that takes a whole ledger, each with what it is asked."""


class Slow:
    """Says how far it is, and is not answered until it is let go."""

    def __init__(self, read: int = 3) -> None:
        self.asked = 0
        self.read = read
        self.go_on = asyncio.Event()
        self.ended = asyncio.Event()

    async def __call__(self) -> Verified:
        self.asked += 1
        tell_read(self.read * self.asked)
        try:
            await self.go_on.wait()
        finally:
            self.ended.set()
        return HOLDS


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 60))


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    return monkeypatch


def test_who_asks_again_is_told_how_far_it_is_and_then_what_was_found(hasty: object) -> None:
    async def scenario() -> None:
        questions, slow, other = Questions(), Slow(), Slow()
        assert [await questions.of(*ANA, slow), await questions.of(*ANA, slow)] == [Reading(3), Reading(3)]
        assert slow.asked == 1, "it goes on, and is not begun again"
        assert await questions.of(*BEN, other) == Reading(3)
        assert other.asked == 1, "what somebody else asked is not told"
        slow.go_on.set()
        assert await questions.of(*ANA, slow) == HOLDS
        slow.go_on.clear()
        assert await questions.of(*ANA, slow) == Reading(6), "whoever asks after that has it asked anew"

    run(scenario)


def test_nobody_waits_until_many_events_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 600.0)

    async def scenario() -> None:
        assert await Questions().of(*ANA, Slow(FEW)) == Reading(FEW)

    run(scenario)


def test_what_nobody_came_back_for_is_given_up_and_asked_anew(hasty: pytest.MonkeyPatch) -> None:
    hasty.setattr(module, "KEPT_SECONDS", -1.0)

    async def scenario() -> None:
        questions, slow, other = Questions(), Slow(), Slow()
        await questions.of(*ANA, slow)
        await questions.of(*BEN, other)
        await slow.ended.wait()
        other.go_on.set()
        await other.ended.wait()
        assert await questions.of(*BEN, other) == HOLDS
        assert (slow.asked, other.asked) == (1, 2)

    run(scenario)


@pytest.mark.parametrize(("bound", "who"), [("MOST", BEN), ("EACH", (ANA[0], b"another"))])
def test_only_so_many_go_on_at_once_and_the_others_wait(
    hasty: pytest.MonkeyPatch, bound: str, who: tuple[str, bytes]
) -> None:
    hasty.setattr(module, bound, 1)

    async def scenario() -> None:
        questions, slow, other = Questions(), Slow(), Slow()
        await questions.of(*ANA, slow)
        assert await questions.of(*who, other) == Reading(0)
        assert other.asked == 0, "it is not begun"
        slow.go_on.set()
        assert await questions.of(*ANA, slow) == HOLDS
        assert await questions.of(*who, other) == Reading(3)

    run(scenario)


def test_one_person_leaves_room_for_others(hasty: object) -> None:
    async def scenario() -> None:
        questions = Questions()
        own = [await questions.of(ANA[0], bytes([at]), Slow()) for at in range(module.MOST)]
        assert own.count(Reading(3)) == module.EACH < module.MOST
        assert await questions.of(*BEN, Slow()) == Reading(3)

    run(scenario)


def test_what_goes_wrong_is_said_and_not_kept(hasty: object) -> None:
    async def scenario() -> None:
        questions = Questions()

        async def broken() -> Verified:
            raise ValueError("gone")

        for _ in range(2):
            with pytest.raises(ValueError, match="gone"):
                await questions.of(*ANA, broken)

    run(scenario)


def test_a_short_ledger_is_verified_at_once(approver: Person, agent: httpx.Client) -> None:
    session_id = session_of(agent)
    assert eliminate(agent, session_id, "a").status_code == 200
    shown = approver.read(f"/sessions/{session_id}/verified")
    assert "All 2 events were hashed again" in shown
    assert "http-equiv" not in shown


class Asked(Questions):
    """Remembers what was asked, and answers nothing."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []

    async def of(self, who: str, key: bytes, ask: object) -> Reading:
        self.keys.append(key)
        return Reading(1)


@pytest.fixture(scope="module")
def house() -> Any:
    with World() as found:
        yield found


@pytest.fixture(scope="module")
def session_id(house: World) -> str:
    names = [f"h{at}" for at in range(300)]
    opened: str = house.agent.declare_session(names, ONTOLOGY).session_id
    believed(house, opened, PROPOSED)
    for at in range(EVENTS - 1):
        house.agent.eliminate(
            opened, source_id="t", observation_id=f"o{at}", eliminated=[names[at % 299]], justification={}
        )
    return opened


def looked_at(
    house: World, session_id: str, name: str, questions: Questions, caller: Caller = EVERYBODY
) -> Seen:
    made, query = LONG[name]
    path = {"claim_id": "wait"} if name == "why_proposition" else {"session_id": session_id}
    path |= {"hypothesis": "h299"} if name == "why" else {}
    return seen(house, made, path, query, caller, questions)


@pytest.mark.parametrize("name", LONG)
def test_the_page_says_how_far_it_is_and_goes_on_without_a_script(
    house: World, session_id: str, name: str
) -> None:
    told = shown(looked_at(house, session_id, name, Asked()))
    most = {"search_audit": 20_000, "review_policy": 20_000, "why_proposition": None}.get(name, SEQ)
    how_far = "" if most is None else f' max="{most}" value="1"'
    assert f'<progress id="far"{how_far}>' in told
    assert '<noscript><meta http-equiv="refresh" content="1"></noscript>' in told
    assert " data-again" in told, "with one, its script does it"


@pytest.mark.parametrize("name", LONG)
def test_what_takes_a_whole_ledger_keeps_nobody_before_an_empty_page(
    house: World, session_id: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how far it is, from its beginning to its end, so there is a page before that."""
    monkeypatch.setattr(module, "PATIENCE", 600.0)
    questions = Questions()
    heard: list[int] = []
    tell = module.Question._tell

    def overheard(self: module.Question, events: int) -> None:
        heard.append(events)
        tell(self, events)

    monkeypatch.setattr(module.Question, "_tell", overheard)
    for _ in range(600):
        found = looked_at(house, session_id, name, questions)
        if found.values["going"] is None:
            break
    assert found.values["found"] is not None
    assert "data-again" not in shown(found)
    assert heard == sorted(heard)
    assert heard[0] <= 1_000, "a page is there before more than a piece of it is read"
    assert heard[-1] >= EVENTS


@pytest.mark.parametrize("name", ["search_audit", "review_policy"])
def test_others_are_let_in_between_two_pieces_of_many_ledgers(
    house: World, session_id: str, name: str
) -> None:
    """A short piece is read on the loop itself."""
    asker = Asker(cast(Server, Served(house.runtime)), EVERYBODY)
    others = 0

    async def another() -> None:
        nonlocal others
        while True:
            await asyncio.sleep(0)
            others += 1

    async def scenario() -> None:
        task = asyncio.ensure_future(another())
        await asyncio.sleep(0)
        await asker.ask(name, query=LONG[name][1])
        task.cancel()

    house.run(scenario)
    assert others >= EVENTS // FEW


def test_what_answers_a_form_is_not_asked_for_again_by_itself(house: World, session_id: str) -> None:
    """Or what the form asked for would be gone."""
    asker = Asker(cast(Server, Served(house.runtime)), EVERYBODY)
    visitor = Visitor(asker, {}, {}, {"what": "explain", "tool": "pay", "args": "{}"}, Asked())

    async def sent() -> Seen:
        return await policy.tried(visitor)

    told = shown(house.run(sent))
    assert 'id="explained"' in told
    assert "data-again" not in told
    assert "http-equiv" not in told
    assert '<a href="/policy">What these rules did' in told


def test_who_lost_a_right_is_not_given_what_was_begun_with_it(house: World, session_id: str) -> None:
    questions = Asked()
    for caller in (EVERYBODY, EVERYBODY, Caller(ANN, rights_of(Role.APPROVER, "default=read"))):
        looked_at(house, session_id, "verify", questions, caller)
    first, again, less = questions.keys
    assert first == again != less


def test_what_is_told_inside_is_heard_by_who_listens_there_alone() -> None:
    heard: list[int] = []
    tell_read(1)
    with telling(heard.append):
        tell_read(2)
    tell_read(3)
    assert heard == [2]


def test_a_page_that_is_shown_meanwhile_waits_for_little_of_what_is_read_for_a_review() -> None:
    """What is read between two steps of the loop is half of what a page waits for, at most."""
    assert reviewing.CHUNK * 2 <= FEW


def test_a_proposition_names_its_sessions_by_what_they_are_called() -> None:
    told = {"title": "The night of the waits"}
    with World() as house:
        opened = house.agent.declare_session(["a"], ONTOLOGY, metadata=told)
        believed(house, opened.session_id, PROPOSED)
        found = shown(seen(house, propositions.shown, {"claim_id": "wait"}))
    named = f'href="/sessions/{opened.session_id}">The night of the waits</a>'
    assert found.count(named) >= 2, "where it is held, and at each step"
