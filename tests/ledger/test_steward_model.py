"""The whole steward on a memory store against the naive model, in whatever order hypothesis thinks of."""

import math
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from beliefd.client.requests import Request
from beliefd.kernel.beliefs.commands import (
    DeclareConclusion,
    DeclareSession,
    Eliminate,
    EnterObligation,
    RequestExit,
    RequestTermination,
)
from beliefd.kernel.canonical import canonical
from beliefd.kernel.commands import Command
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal, Role
from beliefd.ledger.envelope import payload_of
from beliefd.protocol.beliefs import BeliefSnapshot
from beliefd.protocol.operations import BY_NAME
from beliefd.testing.strategies import (
    claims,
    conclusion_ids,
    declarations,
    forces,
    obligation_ids,
    policies,
    roles,
    small_objects,
    sources,
)
from beliefd.testing.world import World
from tests.kernel.model import Model, Said

OPERATIONS = {
    Eliminate: "eliminate",
    EnterObligation: "enter_obligation",
    RequestExit: "request_exit",
    DeclareConclusion: "declare_conclusion",
    RequestTermination: "request_termination",
}


def of_role(role: Role) -> Principal:
    return Principal(id=f"{role}://x", role=role)


class StewardAgainstModel(RuleBasedStateMachine):
    """Every answer, and after every step the whole snapshot, must be what the model says."""

    world: World
    policy: Policy
    model: Model
    session_id: str
    heads: list[str]
    keyed: dict[str, tuple[Command, bytes]]

    @initialize(policy=policies, declaration=declarations())
    def declare(self, policy: Policy, declaration: DeclareSession) -> None:
        self.policy = policy
        self.world = World(policy=policy)
        self.model = Model.of(declaration)
        answer = self.world._send(Request(BY_NAME["declare_session"], body=payload_of(declaration)))
        self.session_id = answer.session_id
        self.heads = [answer.audit_event_id]
        self.keyed = {}
        self.universe = list(declaration.hypotheses)

    def teardown(self) -> None:
        if hasattr(self, "world"):
            assert self.world.verify(self.session_id).ok
            self.world.close()

    def ask(self, command: Command, role: Role = Role.AGENT, **headers: Any) -> Any:
        """Send a command as somebody of this role: the answer, or the error that came instead."""
        path = {"session_id": self.session_id}
        body = payload_of(command)
        if isinstance(command, RequestExit):
            path["obligation_id"] = body.pop("obligation_id")
        try:
            request = Request(BY_NAME[OPERATIONS[type(command)]], path, {}, body, **headers)
            return self.world.person(of_role(role))._send(request)
        except BeliefdError as error:
            return error

    def tell(self, command: Command, role: Role = Role.AGENT, **headers: Any) -> Any:
        """The same, when a new entry must come of it; the model hears it too."""
        answer = self.ask(command, role, **headers)
        facts = Facts(now="", event_id="", principal=of_role(role), policy=self.policy, policy_hash="")
        assert said(answer) == self.model.hear(command, facts)
        self.heads.append(event_of(answer))
        return answer

    @rule(data=st.data(), source=sources, justification=small_objects)
    def eliminate(self, data: st.DataObject, source: str, justification: dict[str, Any]) -> None:
        names = data.draw(claims(self.universe))
        self.tell(
            Eliminate(source_id=source, observation_id="o", eliminated=names, justification=justification)
        )

    @rule(oid=obligation_ids, minimum=st.integers(0, 4))
    def enter_obligation(self, oid: str, minimum: int) -> None:
        self.tell(EnterObligation(obligation_id=oid, min_total_eliminations=minimum))

    @rule(oid=obligation_ids)
    def request_exit(self, oid: str) -> None:
        self.tell(RequestExit(obligation_id=oid))

    @rule(cid=conclusion_ids)
    def declare_conclusion(self, cid: str) -> None:
        self.tell(DeclareConclusion(conclusion_id=cid))

    @rule(context=forces, role=roles)
    def request_termination(self, context: dict[str, Any], role: Role) -> None:
        self.tell(RequestTermination(context=context), role)

    @rule(data=st.data(), key=st.sampled_from(["k1", "k2"]))
    def retry_with_the_same_key_appends_nothing(self, data: st.DataObject, key: str) -> None:
        if key not in self.keyed:
            names = data.draw(claims(self.universe))
            new = Eliminate(source_id="s", observation_id=key, eliminated=names, justification={})
            self.keyed[key] = (new, wire(self.tell(new, key=key)))
        command, first = self.keyed[key]
        assert wire(self.ask(command, key=key)) == first

    @precondition(lambda self: self.keyed)
    @rule(data=st.data())
    def the_same_key_for_another_body_is_a_conflict(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.keyed)))
        answer = self.ask(DeclareConclusion(conclusion_id="another"), key=key)
        assert isinstance(answer, BeliefdError)
        assert answer.code is Code.CONFLICT

    @rule(data=st.data(), cid=conclusion_ids)
    def if_match_lets_a_verb_through_at_the_head_only(self, data: st.DataObject, cid: str) -> None:
        named = data.draw(st.sampled_from(self.heads))
        command = DeclareConclusion(conclusion_id=cid)
        if named == self.heads[-1]:
            self.tell(command, if_match=named)
        else:
            answer = self.ask(command, if_match=named)
            assert isinstance(answer, BeliefdError)
            assert answer.code is Code.CONFLICT
            assert answer.details == {"path": "If-Match", "head": self.heads[-1]}

    @rule()
    def forget_everything_but_the_store(self) -> None:
        """A steward that starts anew on the same store must know the same."""
        self.world.forget()

    @invariant()
    def the_snapshot_is_what_the_model_says(self) -> None:
        snapshot: BeliefSnapshot = self.world.query_belief(self.session_id)
        left = len(self.model.survivors)
        assert snapshot.survivors == sorted(self.model.survivors)
        assert (snapshot.n_survivors, snapshot.n_hypotheses) == (left, len(self.model.universe))
        assert snapshot.entropy_proxy == (math.log2(left) if left > 1 else 0.0)
        assert (snapshot.status, snapshot.terminated) == (self.model.status, self.model.terminated)
        assert snapshot.active_obligation_id == self.model.active
        assert [
            (kept.obligation_id, kept.min_total_eliminations, kept.eliminations_since_entry, kept.active)
            for kept in snapshot.obligations
        ] == [(kept.obligation_id, kept.minimum, kept.seen, kept.active) for kept in self.model.promises]
        assert snapshot.conclusions == {
            cid: self.model.accepted.count(cid) for cid in dict.fromkeys(self.model.accepted)
        }

    @invariant()
    def one_entry_stands_for_each_command_heard(self) -> None:
        page = self.world.audit_trace(self.session_id)
        assert [entry["event_id"] for entry in page.events] == self.heads
        assert self.world.query_belief(self.session_id).audit_head_event_id == self.heads[-1]


def said(answer: Any) -> Said:
    if isinstance(answer, BeliefdError):
        return {"code": answer.code.value}
    if hasattr(answer, "applied_eliminated"):
        return {"applied": answer.applied_eliminated, "ignored": answer.ignored_eliminated}
    if hasattr(answer, "accepted"):
        return {"accepted": answer.accepted}
    if hasattr(answer, "approved"):
        return {"approved": answer.approved}
    return {"entered": answer.snapshot.obligations[-1].obligation_id}


def event_of(answer: Any) -> str:
    if isinstance(answer, BeliefdError):
        return str((answer.details or {})["audit_event_id"])
    return str(answer.audit_event_id)


def wire(answer: Any) -> bytes:
    """An answer as bytes, errors included, to compare with."""
    return canonical(msgspec.to_builtins(answer.body if isinstance(answer, BeliefdError) else answer))


TestStewardAgainstModel = StewardAgainstModel.TestCase
TestStewardAgainstModel.settings = settings(max_examples=100, stateful_step_count=25)
