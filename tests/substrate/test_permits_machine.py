"""No story gives a second permit or takes a second report: random callers against a model of few lines."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.protocol.substrate import CandidateAnswer
from beliefd.testing.world import AGENT, OTHER_AGENT, Person
from tests.claims.support import inbox_is_the_fold_of_all_ledgers
from tests.substrate.support import ALLOW_ALL, ToolWorld, deny, rules, with_tools
from tests.substrate.test_permits import ask, wants

TOOLS = {"free": {"executor": "caller", "mutates": True}, "asks": {"executor": "caller"}}
RULES = with_tools(rules(all=ALLOW_ALL, ask=deny("asks", on_fail="ask")), **TOOLS)
CALLERS = (AGENT.id, OTHER_AGENT.id)
PERMIT_SECONDS, BEGIN_SECONDS = 35, 3_600
T = TypeVar("T")
who = st.sampled_from(CALLERS)
tools = st.sampled_from(sorted(TOOLS))
words = st.sampled_from(["a", "b"])
keys = st.sampled_from(["k1", "k2", "k3"])


def attempted(act: Callable[[], T]) -> T | Code:
    """What an act is answered with: its answer, or the code of its error."""
    try:
        return act()
    except BeliefdError as error:
        return error.code


class Known(Struct):
    """A call, as a caller with a notebook would keep it."""

    who: str
    tool: str
    word: str
    status: str
    until: float


class Permits(RuleBasedStateMachine):
    """One session, two callers, a person, time, and servers that die."""

    def __init__(self) -> None:
        super().__init__()
        self.house = ToolWorld(policy=RULES)
        self.people: dict[str, Person] = {one.id: self.house.person(one) for one in (AGENT, OTHER_AGENT)}
        self.session = self.house.session()
        self.tokens = {one.id: self._token(one.id) for one in (AGENT, OTHER_AGENT)}
        self.calls: dict[str, Known] = {}
        self.keys: dict[tuple[str, str], str] = {}
        self.waiting: dict[tuple[str, str], str] = {}
        self.rejected: set[tuple[str, str]] = set()
        self.permits: list[str] = []
        self.reports: list[str] = []
        self.now = 0.0

    def _token(self, agent_id: str) -> str:
        given: dict[str, Any] = {"scope": {"tools": ["*"]}, "expires_in_seconds": 30 * 24 * 3600}
        return self.house.root.issue_capability(self.session, agent_id=agent_id, **given).token

    def teardown(self) -> None:
        self.house.check(self.session)
        inbox_is_the_fold_of_all_ledgers(self.house)
        self.house.close()

    def _approved(self, name: str, word: str) -> str | None:
        found = [
            call_id
            for call_id, one in self.calls.items()
            if (one.who, one.word, one.status, one.tool) == (name, word, "scheduled", "asks")
        ]
        return found[-1] if found else None

    @rule(name=who, tool=tools, word=words, key=keys)
    def propose(self, name: str, tool: str, word: str, key: str) -> None:
        call = wants(tool, self.tokens[name], key, word=word)
        answer = ask(self.people[name], self.session, call)
        used = self.keys.get((tool, key))
        begins = self._approved(name, word) if tool == "asks" else None
        if begins is not None and used in (None, begins):
            self._begun(begins, answer, key)
        elif used is not None:
            first = self.calls[used]
            same = (first.who, first.word) == (name, word)
            assert answer.permit is None
            assert answer.reason_code == ("REPEATED" if same else "REPEATED_KEY")
            assert not same or (answer.call_id, answer.status) == (used, first.status)
        elif tool == "free":
            assert answer.permit is not None
            call_id = str(answer.call_id)
            assert call_id not in self.calls
            self.calls[call_id] = Known(name, tool, word, "running", self.now + PERMIT_SECONDS)
            self.keys[tool, key] = call_id
            self.permits.append(call_id)
        elif (name, word) in self.rejected:
            assert (answer.verdict, answer.approval_id, answer.permit) == ("deny", None, None)
            assert [reason.code for reason in answer.reasons] == ["REJECTED"]
        else:
            assert (answer.verdict, answer.on_fail, answer.permit) == ("defer", "ask", None)
            waits = self.waiting.setdefault((name, word), str(answer.approval_id))
            assert answer.approval_id == waits

    def _begun(self, call_id: str, answer: CandidateAnswer, key: str | None = None) -> None:
        known = self.calls[call_id]
        if self.now >= known.until:
            assert (answer.permit, answer.status) == (None, "stopped")
            self._stop(call_id)
            return
        assert answer.permit is not None
        assert answer.permit.call_id == call_id
        known.status, known.until = "running", self.now + PERMIT_SECONDS
        self.permits.append(call_id)
        if key is not None:
            self.keys[known.tool, key] = call_id

    def _stop(self, call_id: str) -> None:
        self.calls[call_id].status = "stopped"
        self.keys = {name: one for name, one in self.keys.items() if one != call_id}

    @rule(name=who, word=words, yes=st.booleans())
    def decide(self, name: str, word: str, yes: bool) -> None:
        approval_id = self.waiting.get((name, word))
        if approval_id is None:
            return
        card = self.house.ann.show_approval(approval_id)
        candidate: Any = card.subject
        key = candidate.candidate.idempotency_key
        told = attempted(lambda: self.house.ann.approve(card) if yes else self.house.ann.reject(card))
        if isinstance(told, Code):
            # Its key was used up for another call meanwhile: a yes would be in vain.
            assert (told, ("asks", key) in self.keys) == (Code.CONFLICT, True)
            return
        del self.waiting[name, word]
        if not yes:
            self.rejected.add((name, word))
            return
        assert told.call is not None
        assert told.call.permit is None
        if told.call.reason_code == "REPEATED":
            assert self.keys["asks", key] == told.call.call_id
            return
        call_id = str(told.call.call_id)
        self.calls[call_id] = Known(name, "asks", word, "scheduled", self.now + BEGIN_SECONDS)
        self.keys["asks", key] = call_id

    @rule(name=who, data=st.data())
    def begin(self, name: str, data: st.DataObject) -> None:
        if not self.calls:
            return
        call_id = data.draw(st.sampled_from(sorted(self.calls)))
        known = self.calls[call_id]
        late = self.now >= known.until
        answer = attempted(lambda: self.people[name].begin_call(self.session, call_id))
        if isinstance(answer, Code):
            scheduled = known.status == "scheduled"
            assert answer is (Code.FORBIDDEN if scheduled else Code.CONFLICT)
            assert not scheduled or (known.who != name and not late)
            return
        assert known.status == "scheduled"
        assert known.who == name or late
        self._begun(call_id, answer)

    @rule(name=who, data=st.data(), status=st.sampled_from(["ok", "error", "unknown"]))
    def report(self, name: str, data: st.DataObject, status: str) -> None:
        if not self.calls:
            return
        call_id = data.draw(st.sampled_from(sorted(self.calls)))
        known = self.calls[call_id]
        overdue = status == "unknown" and self.now >= known.until
        allowed = known.who == name or overdue
        open_ = known.status == "running" or (known.status == "unknown" and status != "unknown")
        told = attempted(
            lambda: self.people[name].report_outcome(self.session, call_id, status, result=len(self.reports))
        )
        if isinstance(told, Code):
            assert told is (Code.CONFLICT if allowed else Code.FORBIDDEN)
            assert not (allowed and open_)
            return
        assert allowed
        assert open_
        known.status = status
        if status != "unknown":
            self.reports.append(call_id)

    @rule(seconds=st.sampled_from([10, 40, 4_000]))
    def wait(self, seconds: int) -> None:
        self.house.clock.advance(seconds)
        self.now += seconds
        self.house.expire()
        for call_id, one in list(self.calls.items()):
            if one.status == "running" and self.now >= one.until:
                one.status = "unknown"
            elif one.status == "scheduled" and self.now >= one.until:
                self._stop(call_id)

    @rule()
    def die(self) -> None:
        self.house.forget()

    @invariant()
    def everything_is_given_once(self) -> None:
        assert len(self.permits) == len(set(self.permits))
        assert len(self.reports) == len(set(self.reports))
        held = self.house.state(self.session).substrate.calls
        assert {name: one.status for name, one in held.items()} == {
            name: one.status for name, one in self.calls.items()
        }


@pytest.mark.slow
def test_permits_hold_in_every_story() -> None:
    run_state_machine_as_test(
        Permits,
        settings=settings(
            max_examples=10,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
