"""No sequence of calls publishes what no person approved: random stories, a naive model, and an auditor."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from beliefd.conformance.tools import NAMES, registry
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal, Role
from beliefd.ledger.state_hash import state_hash
from beliefd.testing.frozen import START
from beliefd.testing.world import World, policy
from tests.claims.auditor import audit
from tests.claims.model import Heard, Item, Model, Moment
from tests.claims.support import bundle, bundle_of, claim, inbox_is_the_fold_of_all_ledgers, pointer, stored

T = TypeVar("T")
SMALL = Principal(id="agent://small", role=Role.AGENT, tier="MODIFY", owner="ann")
LARGE = Principal(id="agent://large", role=Role.AGENT, tier="PRIVILEGE")
ROBOT = Principal(id="agent://robot", role=Role.TOOL, tier="PRIVILEGE")
ANN = Principal(id="human://ann", role=Role.APPROVER, tier="PRIVILEGE", owner="ann")
ANN_TOO = Principal(id="human://ann/at-home", role=Role.APPROVER, tier="PRIVILEGE", owner="ann")
BOB = Principal(id="human://bob", role=Role.APPROVER, tier="PRIVILEGE")
ROOT = Principal(id="human://root", role=Role.ADMIN, tier="PRIVILEGE")
EVERYBODY = (SMALL, LARGE, ROBOT, ANN, ANN_TOO, BOB, ROOT)
DEFAULTS = {"security": {"rate_limit": 1_000_000}}
NEEDS_MORE = ["MODIFY", "DELETE", "PRIVILEGE"]
POLICIES: tuple[Policy, ...] = tuple(
    policy(**DEFAULTS, **sections)
    for sections in (
        {"approvals": {"expires_seconds": 100}},
        {"approvals": {"expires_seconds": 100, "require_human": NEEDS_MORE, "on_expiry": "keep"}},
        {
            "approvals": {
                "approvers": {"DELETE": {"required": 2}},
                "expires_seconds": 100,
                "on_expiry": "escalate",
            }
        },
        {
            "approvals": {
                "approvers": {"PRIVILEGE": {"roles": ["admin"]}, "DELETE": {"roles": []}},
                "expires_seconds": 100,
                "on_expiry": "escalate",
            }
        },
        {
            "approvals": {
                "require_human": NEEDS_MORE,
                "otherwise": {"roles": [], "principals": ["human://bob", "agent://robot"]},
            },
            "uncertainty": {"explain_above": 0.05, "defer_above": 0.3},
        },
        {
            "approvals": {"require_human": NEEDS_MORE, "approvers": {"PRIVILEGE": {"required": 2}}},
            "tiers": {
                "raise": [
                    {"words": ["TABLE"], "to": "PRIVILEGE"},
                    {"agents": ["agent://small"], "words": ["index"], "to": "MODIFY"},
                ]
            },
        },
    )
)

# Weighted, so that stories get far: most bundles reach the inbox, most words are by people.
people = st.sampled_from([*EVERYBODY, ANN, BOB, ROOT])
proposers = st.sampled_from([*EVERYBODY, LARGE, LARGE, LARGE])
unsure = st.sampled_from([0.1, 0.1, 0.1, 0.4, 0.9])
recommendations = st.sampled_from([*["EXECUTE"] * 9, "EXPLAIN", "DEFER", "REFUSE"])
tiers = st.sampled_from(["READ_ONLY", "MODIFY", "DELETE", "DELETE", "PRIVILEGE"])


@st.composite
def claims(draw: st.DrawFn) -> list[dict[str, Any]]:
    kind = draw(st.sampled_from([*["DECISION"] * 4, "INFERENCE", "FACT"]))
    confidences = draw(st.lists(st.sampled_from([0.3, 0.9]), max_size=2))
    stated = {
        "method": "confidence_score",
        "value": draw(unsure),
        "interpretation": "",
        "gate_recommendation": draw(recommendations),
    }
    named = kind == "DECISION" and draw(st.sampled_from([True, True, False]))
    action: dict[str, Any] = (
        {"action": {"tool": draw(st.sampled_from(sorted(NAMES.values())))}} if named else {}
    )
    first = claim(
        draw(tiers),
        kind,
        **action,
        statement=draw(st.sampled_from(["drop the index", "drop the table"])),
        evidence_pointers=[pointer(source_confidence=one) for one in confidences],
        uncertainty=stated,
    )
    return [first, claim(draw(tiers), id="c2")] if draw(st.booleans()) else [first]


class Claims(RuleBasedStateMachine):
    """One session. Every call goes to the house and to the model, and they must agree."""

    def __init__(self) -> None:
        super().__init__()
        self.house = stored(World(policy=POLICIES[0], detector=self.detector, registry=registry()))
        self.session = ""
        self.model = Model()
        self.threat: float | None = 0.0
        self.hashes: dict[str, str] = {}

    def detector(self, _: Sequence[tuple[str, str]], tier: int, trail: Sequence[int]) -> Threat:
        if self.threat is None:
            raise RuntimeError("the detector is down")
        return Threat(detector="machine", score=self.threat)

    @property
    def now(self) -> float:
        return seconds(self.house.clock.now())

    @property
    def moment(self) -> Moment:
        return Moment(self.house.steward.in_force.policy, self.now, self.threat)

    def asked(self, heard: Callable[[], Heard], act: Callable[[], T]) -> tuple[T | None, Heard]:
        """Do it in both worlds. Refused means nothing happened."""
        before = state_hash(self.house.state(self.session))
        expected = heard()
        try:
            answer = act()
        except BeliefdError as error:
            answer, said = None, str(error)
        else:
            said = str(answer)
        assert (answer is not None) is expected.accepted, said
        if answer is None:
            assert state_hash(self.house.state(self.session)) == before
        return answer, expected

    def keep(self, approval_id: str | None, item: Item | None, bundle_id: str) -> None:
        """Learn the id of what was opened. The house and the model must agree that something was."""
        assert (approval_id is None) == (item is None)
        if approval_id is not None and item is not None:
            item.bundle_id = bundle_id
            self.model.items[approval_id] = item
            self.model.waiting_as[bundle_id] = approval_id
            self.hashes[approval_id] = self.house.ann.show_approval(approval_id).content_hash

    def newest(self) -> str | None:
        """The approval that the last event opened, whether it waits or informs."""
        known = set(self.model.items)
        found = [row.approval_id for row in self.house.rows() if row.approval_id not in known]
        assert len(found) <= 1
        return found[0] if found else None

    @initialize()
    def begin(self) -> None:
        self.session = self.house.session()

    @rule(who=proposers, name=st.sampled_from([None, None, "b1", "b2"]), claims=claims())
    def say(self, who: Principal, name: str | None, claims: list[dict[str, Any]]) -> None:
        self.submit(who, name, claims)

    def submit(self, who: Principal, name: str | None, said: list[dict[str, Any]]) -> None:
        answer, expected = self.asked(
            lambda: self.model.submit(who, name, said, self.moment),
            lambda: self.house.person(who).submit_claims(
                self.session, bundle(*said, id=name, origin_agent=who.id)
            ),
        )
        if answer is not None:
            assert answer.decision == expected.decision
            self.model.bundles[answer.id] = answer.decision
            self.keep(self.newest(), expected.opened, answer.id)

    @precondition(lambda self: self.model.items)
    @rule(data=st.data(), who=proposers, same_name=st.booleans())
    def resubmit(self, data: st.DataObject, who: Principal, same_name: bool) -> None:
        """Somebody says again, word for word, what somebody else has said or edited."""
        item = self.model.items[self.any_item(data)]
        self.submit(who, item.bundle_id if same_name else None, item.claims)

    @precondition(lambda self: self.model.items)
    @rule(
        data=st.data(),
        who=people,
        decision=st.sampled_from(["APPROVED", "APPROVED", "REJECTED", "MODIFIED"]),
        right=st.sampled_from([True, True, True, False]),
        edit=claims(),
        confused=st.sampled_from([False, False, False, True]),
    )
    def decide(
        self,
        data: st.DataObject,
        who: Principal,
        decision: str,
        right: bool,
        edit: list[dict[str, Any]],
        confused: bool,
    ) -> None:
        said = edit if (decision == "MODIFIED") != confused else []
        self.decide_as(who, self.any_item(data), decision, right, said)

    def decide_as(
        self, who: Principal, approval_id: str, decision: str, right: bool, said: list[dict[str, Any]]
    ) -> None:
        content = self.hashes[approval_id] if right else "0" * 64
        answer, expected = self.asked(
            lambda: self.model.decide(who, approval_id, decision, right, said, self.moment),
            lambda: self.house.person(who).decide_approval(
                approval_id, decision, content_hash=content, claims=said
            ),
        )
        if answer is not None:
            assert answer.outcome == expected.decision
            judged = answer.bundle
            if judged is not None:
                self.model.bundles[self.model.items[approval_id].bundle_id] = (
                    "REFUSE" if decision == "MODIFIED" else judged.decision
                )
                self.model.bundles[judged.id] = judged.decision
                self.keep(self.newest(), expected.opened, judged.id)

    @precondition(lambda self: self.model.items)
    @rule(data=st.data())
    def approve_by_the_book(self, data: st.DataObject) -> None:
        """What random words rarely do: somebody who may approve does."""
        approval_id = self.any_item(data)
        item = self.model.items[approval_id]
        able = [who for who in EVERYBODY if self.model.may(who, item, "APPROVED", self.moment)]
        if able:
            self.decide_as(data.draw(st.sampled_from(able)), approval_id, "APPROVED", True, [])

    @precondition(lambda self: self.model.items)
    @rule(data=st.data(), edit=claims())
    def edit_and_try_to_approve_it_oneself(self, data: st.DataObject, edit: list[dict[str, Any]]) -> None:
        approval_id = self.any_item(data)
        item = self.model.items[approval_id]
        able = [who for who in EVERYBODY if self.model.may(who, item, "MODIFIED", self.moment)]
        if able:
            editor = data.draw(st.sampled_from(able))
            self.decide_as(editor, approval_id, "MODIFIED", True, edit)
            self.decide_as(editor, list(self.model.items)[-1], "APPROVED", True, [])

    @precondition(lambda self: self.model.items)
    @rule(data=st.data(), who=people)
    def withdraw(self, data: st.DataObject, who: Principal) -> None:
        approval_id = self.any_item(data)
        answer, _ = self.asked(
            lambda: self.model.withdraw(who, approval_id),
            lambda: self.house.person(who).withdraw_approval(approval_id),
        )
        if answer is not None:
            self.model.bundles[bundle_of(answer)] = "REFUSE"

    def any_item(self, data: st.DataObject) -> str:
        """Mostly what waits, at times what is settled."""
        waiting = [aid for aid, item in self.model.items.items() if item.status == "pending"]
        everything = sorted(self.model.items)
        chosen: str = data.draw(st.sampled_from(waiting or everything) | st.sampled_from(everything))
        return chosen

    @rule(by=st.sampled_from([1, 50, 100, 1_000]), sweep=st.booleans())
    def time_passes(self, by: int, sweep: bool) -> None:
        self.house.clock.advance(by)
        if not sweep:
            return
        due = self.model.due(self.now)
        assert self.house.expire() == len(due)
        for approval_id in due:
            successor = self.model.expire(approval_id, self.moment)
            card = self.house.ann.show_approval(approval_id)
            self.keep(card.successor, successor, bundle_of(card))
            item = self.model.items[approval_id]
            if (
                item.status == "timed_out"
                and successor is None
                and self.model.bundles[bundle_of(card)] != "PUBLISH"
            ):
                self.model.bundles[bundle_of(card)] = "REFUSE"

    @rule(chosen=st.sampled_from(POLICIES), threat=st.sampled_from([0.0, 0.0, 0.0, 0.9, None]))
    def another_day(self, chosen: Policy, threat: float | None) -> None:
        self.house.steward.in_force.adopt(chosen)
        self.threat = threat

    @rule(
        who=people,
        to=people,
        named=st.lists(tiers, min_size=1, max_size=2, unique=True),
        lasting=st.sampled_from([60, 10_000]),
        uses=st.integers(1, 2),
    )
    def grant(self, who: Principal, to: Principal, named: list[str], lasting: int, uses: int) -> None:
        given = self.model.give(who, to.id, named, lasting, uses, self.moment)
        answer, _ = self.asked(
            lambda: Heard(given is not None),
            lambda: self.house.person(who).give_grant(
                self.session, principal=to.id, tiers=named, expires_in_seconds=lasting, max_uses=uses
            ),
        )
        if answer is not None and given is not None:
            self.model.grants[answer.grant.grant_id] = given

    @precondition(lambda self: self.model.grants)
    @rule(data=st.data(), who=people)
    def revoke(self, data: st.DataObject, who: Principal) -> None:
        name = data.draw(st.sampled_from(sorted(self.model.grants)))
        may = who in (ANN, ANN_TOO, BOB, ROOT) and not self.model.terminated
        self.asked(lambda: Heard(may), lambda: self.house.person(who).revoke_grant(self.session, name))
        self.model.grants[name].revoked |= may

    @precondition(lambda self: len(self.model.bundles) > 6 and not self.model.terminated)
    @rule(who=people)
    def terminate(self, who: Principal) -> None:
        expected = self.model.terminate(True, who)
        ruled = self.house.person(who).request_termination(self.session, context={"force": True})
        assert ruled.approved is expected

    @invariant()
    def the_inbox_is_what_the_model_says(self) -> None:
        found = {row.approval_id: row.status for row in self.house.rows()}
        assert found == {aid: item.status for aid, item in self.model.items.items()}

    @invariant()
    def bundles_stand_where_the_model_says(self) -> None:
        if self.session:
            state = self.house.state(self.session)
            published = {
                name for name in state.claims.bundles if state.claims.bundles[name].decision == "PUBLISH"
            }
            assert published == {name for name, said in self.model.bundles.items() if said == "PUBLISH"}

    def teardown(self) -> None:
        try:
            if self.session:
                inbox_is_the_fold_of_all_ledgers(self.house)
                assert self.house.agent.verify(self.session).ok
                self.refolded_state_is_the_state()
                audit(self.house.root.export(self.session))
        finally:
            self.house.close()

    def refolded_state_is_the_state(self) -> None:
        async def folded() -> str:
            head = await self.house.store.head(self.session)
            assert head is not None
            self.house.steward.positions._cache.clear()
            position = await self.house.steward.positions.at(self.session, head.seq)
            assert position is not None
            return state_hash(position.session)

        kept = state_hash(self.house.state(self.session))
        assert self.house.run(folded) == kept


def seconds(moment: str) -> float:
    return (datetime.fromisoformat(moment) - START).total_seconds()


Claims.TestCase.settings = settings(
    max_examples=150, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
)
TestClaims = pytest.mark.slow(Claims.TestCase)
