"""Random stories of publishing, retracting and correcting, next to a clerk with a notebook who must agree.

The clerk writes down after every event what stands. Looking at a past event is turning back its pages.
"""

import copy
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import Principal
from beliefd.protocol.claims import JudgedBundle
from beliefd.testing.world import AGENT, ANN, BOB, OTHER_AGENT, World, refused
from tests.claims.support import bundle, claim, stored

NAMES = ["c1", "c2"]
PEOPLE = (ANN, BOB)
Target = tuple[str, str | None]


@dataclass
class Note:
    """One bundle in the notebook: `ends` says by claim how it ended, or None while it stands."""

    who: Principal
    decision: str
    ends: dict[str, str | None]
    target: Target | None


@dataclass
class Clerk:
    notes: dict[str, Note] = field(default_factory=dict)
    pages: list[dict[str, Note]] = field(default_factory=list)

    def turn(self) -> None:
        self.pages.append(copy.deepcopy(self.notes))

    def standing(self, target: Target, who: Principal) -> list[str]:
        """The claims that `who` may end by naming `target`; none if the request is to be refused."""
        name, claim_id = target
        note = self.notes.get(name)
        if note is None or note.decision != "PUBLISH" or (who is not note.who and who not in PEOPLE):
            return []
        named = list(note.ends) if claim_id is None else [claim_id]
        return [one for one in named if one in note.ends and note.ends[one] is None]

    def end(self, target: Target, who: Principal, how: str) -> bool:
        gone = self.standing(target, who)
        for one in gone:
            self.notes[target[0]].ends[one] = how
        return bool(gone)

    def submit(self, name: str, who: Principal, risky: bool, target: Target | None) -> bool:
        if name in self.notes or (target is not None and not self.standing(target, who)):
            return False
        decision = "ESCALATE" if risky else "PUBLISH"
        if target is not None and not risky:
            self.end(target, who, f"corrected by {name}")
        self.notes[name] = Note(who, decision, dict.fromkeys(NAMES), target)
        return True

    def approve(self, name: str) -> bool:
        note = self.notes[name]
        if note.target is not None and not self.end(note.target, note.who, f"corrected by {name}"):
            return False
        note.decision = "PUBLISH"
        return True


def shown(answer: JudgedBundle) -> dict[str, str | None]:
    words = {
        name: f"corrected by {one.correction}" if one.how == "corrected" else f"retracted: {one.reason}"
        for name, one in answer.ended.items()
    }
    return {one.id or "": words.get(one.id or "") for one in answer.claims}


class Endings(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.house = stored(World())
        self.clerk = Clerk()
        self.session = ""
        self.waiting: dict[str, JudgedBundle] = {}

    @initialize()
    def begin(self) -> None:
        self.session = self.house.session()
        self.clerk.turn()

    def agree(self, expected: bool, answer: object) -> None:
        assert (answer is not None) is expected, answer
        self.clerk.turn()

    @rule(
        data=st.data(),
        who=st.sampled_from([AGENT, AGENT, OTHER_AGENT]),
        risky=st.booleans(),
        fresh=st.sampled_from([True, True, True, False]),
    )
    def submit(self, data: st.DataObject, who: Principal, risky: bool, fresh: bool) -> None:
        known = [name for name in self.clerk.notes if name not in self.waiting]
        name = f"b{len(self.clerk.pages)}" if fresh or not known else data.draw(st.sampled_from(known))
        target = data.draw(st.none() | self.targets(name))
        tier, kind = ("DELETE", "DECISION") if risky else ("READ_ONLY", "FACT")
        said = bundle(*(claim(tier, kind, id=one) for one in NAMES), id=name)
        if target is not None:
            more = {} if target[1] is None else {"claim_id": target[1]}
            said["corrects"] = {"bundle_id": target[0], **more}
        expected = self.clerk.submit(name, who, risky, target)
        try:
            speaker = self.house.person(who)
            answer = speaker.submit_claims(self.session, {**said, "origin_agent": who.id})
        except BeliefdError:
            self.agree(expected, None)
            return
        self.agree(expected, answer)
        assert answer.decision == self.clerk.notes[name].decision
        if risky:
            self.waiting[name] = answer

    def targets(self, own: str) -> st.SearchStrategy[Target]:
        """Mostly what is published, at times what waits, oneself, or nothing at all."""
        names = st.sampled_from([*self.clerk.notes, *self.clerk.notes, own, "nothing"])
        return st.tuples(names, st.sampled_from([None, "c1", "c2", "c9"]))

    @rule(data=st.data(), who=st.sampled_from([AGENT, OTHER_AGENT, ANN]), why=st.sampled_from(["x", "y"]))
    def retract(self, data: st.DataObject, who: Principal, why: str) -> None:
        target = data.draw(self.targets("own"))
        expected = self.clerk.end(target, who, f"retracted: {why}")
        named = [] if target[1] is None else [target[1]]
        try:
            person = self.house.person(who)
            answer = person.retract_claims(self.session, target[0], claim_ids=named, reason=why)
        except BeliefdError:
            self.agree(expected, None)
            return
        self.agree(expected, answer)
        assert shown(answer.bundle) == self.clerk.notes[target[0]].ends

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), yes=st.sampled_from([True, True, False]))
    def decide(self, data: st.DataObject, yes: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.waiting)))
        card = self.waiting[name]
        if not yes:
            self.house.ann.reject(card)
            self.clerk.notes[name].decision = "REFUSE"
            del self.waiting[name]
            self.clerk.turn()
            return
        expected = self.clerk.approve(name)
        try:
            answer = self.house.ann.approve(card)
        except BeliefdError:
            self.agree(expected, None)
            return
        self.agree(expected, answer)
        assert answer.outcome == "PUBLISH"
        del self.waiting[name]

    @precondition(lambda self: len(self.clerk.pages) > 1)
    @rule(data=st.data())
    def turn_back(self, data: st.DataObject) -> None:
        at = data.draw(st.integers(1, len(self.clerk.pages)))
        page = self.clerk.pages[at - 1]
        found = self.house.agent.list_claims(self.session, at=at, limit=500).claims
        assert {one.id: (one.decision, shown(one)) for one in found} == self.notes_of(page)
        for name in self.clerk.notes:
            if name in page:
                assert self.house.agent.show_claims(self.session, name, at=at) in found
            else:
                refused(
                    Code.BUNDLE_NOT_FOUND,
                    lambda name=name: self.house.agent.show_claims(self.session, name, at=at),  # type: ignore[misc]
                )
        for card in self.waiting.values():
            approval_id = card.approval_id or ""
            if card.id in page:
                assert self.house.ann.show_approval(approval_id, at=at).status == "pending"
            else:
                refused(
                    Code.APPROVAL_NOT_FOUND,
                    lambda name=approval_id: self.house.ann.show_approval(name, at=at),  # type: ignore[misc]
                )

    def notes_of(self, page: dict[str, Note]) -> dict[str, tuple[str, dict[str, str | None]]]:
        return {name: (note.decision, note.ends) for name, note in page.items()}

    @invariant()
    def the_session_is_what_the_clerk_wrote_down(self) -> None:
        if not self.session:
            return
        found = self.house.agent.list_claims(self.session, limit=500).claims
        assert {one.id: (one.decision, shown(one)) for one in found} == self.notes_of(self.clerk.notes)
        assert len(self.house.entries(self.session)) == len(self.clerk.pages)

    @invariant()
    def no_correction_leads_back_to_where_it_began(self) -> None:
        for name in self.clerk.notes:
            seen: set[str] = set()
            at: str | None = name
            while at is not None:
                assert at not in seen
                seen.add(at)
                note = self.clerk.notes[at]
                at = note.target[0] if note.target is not None and note.decision == "PUBLISH" else None

    def teardown(self) -> None:
        try:
            if self.session:
                self.house.check(self.session)
        finally:
            self.house.close()


Endings.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestEndings = pytest.mark.slow(Endings.TestCase)
