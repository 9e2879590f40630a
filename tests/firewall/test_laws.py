"""Laws 3 and 4: speculation changes nothing that is grounded, and nothing gets around the rules."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.kernel.approvals.commands import DecideApproval
from beliefd.kernel.decide import RULES
from beliefd.kernel.event import Refused
from beliefd.kernel.events import Event
from beliefd.kernel.experiments.commands import RecordRun, StartRun
from beliefd.kernel.experiments.events import EvidenceLinked, ExperimentDesigned, RunRecorded, RunStarted
from beliefd.kernel.intents.events import IntentStaged
from beliefd.kernel.policy import FirewallPolicy, Policy
from beliefd.kernel.speculation.commands import Speculate
from beliefd.kernel.speculation.events import ClaimSpeculated, Speculated
from beliefd.kernel.speculation.lanes import GROUNDED, SPECULATIVE, join
from beliefd.kernel.speculation.state import Alternative
from beliefd.kernel.substrate.commands import Remember
from beliefd.kernel.substrate.events import Remembered
from beliefd.kernel.substrate.memory_entry import MemoryEntry
from beliefd.kernel.substrate.tools import Witness
from beliefd.ledger import lookups
from beliefd.ledger.envelope import Entry
from beliefd.ledger.lookups import confirmation_among
from beliefd.ledger.non_interference import (
    decided_again,
    grounded_again,
    grounded_hash,
    lane_of,
    without_speculation,
)
from beliefd.ledger.state_hash import state_hash
from beliefd.ledger.verify import verify
from beliefd.testing.world import ANN
from tests.firewall.lab import CODE, HYPOTHESES, PREDICTION, Lab, code_of

CLAIMS = ("heat", "light")
ROLES = ("support", "refute", "undercut", "replicate")
STATUSES = ("proven", "supported", "unresolved", "refuted")


def nth(held: Any, place: int) -> str:
    """One of what is there, or something that is not."""
    names: list[str] = [*sorted(held), "nothing"]
    return names[place % len(names)]


def record(lab: Lab, place: int, outcome: str) -> Event | None:
    running = [one.run_id for one in lab.state.experiments.runs.values() if one.status == "running"]
    if not running:
        return None
    run_id = nth(running, place)
    if run_id == "nothing":
        return None
    report = msgspec.structs.replace(lab.report(run_id), outcome=outcome, error_level=0.001)
    return lab.ask(RecordRun(run_id=run_id, report=report))


def decide(lab: Lab, place: int, word: str) -> Event | None:
    pending = sorted(one.approval_id for one in lab.state.approvals.by_id.values() if one.status == "pending")
    if not pending:
        return None
    waiting: Any = lab.state.approvals.by_id[pending[place % len(pending)]]
    return lab.ask(
        DecideApproval(
            approval_id=waiting.approval_id,
            decision=word,  # type: ignore[arg-type]
            content_hash=waiting.content_hash,
            to_status="unresolved" if word == "MODIFIED" and waiting.subject.change.to_status else None,
        ),
        ANN,
    )


def recall(lab: Lab, claim: str, place: int, kind: Any) -> Event:
    """Remember something that one of the events so far is said to confirm, found as the steward finds it."""
    events = [entry.event_id for entry in lab.recorded]
    entry = MemoryEntry(
        memory_id=f"{claim}-{place}",
        kind=kind,
        value=claim,
        confidence=0.9,
        confirmed_by_event_id=nth(events, place),
        ttl_ms=1_000,
    )
    found = confirmation_among(lab.recorded, entry.confirmed_by_event_id or "", lab.state.transfers)
    return lab.ask(Remember(entry=entry), findings=found)


def ideas(lab: Lab, claim: str, count: int) -> Event:
    ideas = tuple(Alternative(statement=f"idea {place}") for place in range(count))
    return lab.ask(Speculate(claim_id=claim, hypotheses=ideas))


claims = st.sampled_from(CLAIMS)
places = st.integers(0, 5)
Move = Callable[[Lab], Event | None]
speculations: st.SearchStrategy[Move] = st.one_of(
    st.builds(lambda claim, count: lambda lab: ideas(lab, claim, count), claims, st.integers(1, 3)),
    st.builds(lambda claim: lambda lab: lab.stage("create_claim", claim, statement="perhaps"), claims),
)
groundings: st.SearchStrategy[Move] = st.one_of(
    st.builds(
        lambda claim, body, gone: lambda lab: lab.designed(claim, body, eliminates_if_supported=(gone,)),
        claims,
        st.integers(0, 3),
        st.sampled_from(HYPOTHESES),
    ),
    st.builds(
        lambda place: (
            lambda lab: lab.ask(
                StartRun(experiment_id=nth(lab.state.experiments.by_id, place)), findings=CODE
            )
        ),
        places,
    ),
    st.builds(
        lambda place, outcome: lambda lab: record(lab, place, outcome),
        places,
        st.sampled_from(["support", "refute", "unresolved"]),
    ),
    st.builds(
        lambda claim, place, role: lambda lab: lab.link(claim, nth(lab.state.experiments.runs, place), role),
        claims,
        places,
        st.sampled_from(ROLES),
    ),
    st.builds(
        lambda claim: (
            lambda lab: lab.stage("create_proposition", claim, statement="it is so", prediction=PREDICTION)
        ),
        claims,
    ),
    st.builds(
        lambda claim, status, place: (
            lambda lab: lab.stage(
                "update_epistemic_status",
                claim,
                to_status=status,
                evidence_ids=(nth(lab.state.experiments.evidence, place),),
            )
        ),
        claims,
        st.sampled_from(STATUSES),
        places,
    ),
    st.builds(
        lambda place, word: lambda lab: decide(lab, place, word),
        places,
        st.sampled_from(["APPROVED", "APPROVED", "REJECTED", "DEFERRED", "MODIFIED"]),
    ),
)
recollections: st.SearchStrategy[Move] = st.builds(
    lambda claim, place, kind: lambda lab: recall(lab, claim, place, kind),
    claims,
    st.integers(0, 60),
    st.sampled_from(["fact", "hypothesis"]),
)
moves = st.lists(groundings | speculations | recollections, min_size=5, max_size=60)
policies = st.sampled_from(
    [Policy(), Policy(firewall=FirewallPolicy(automatic=("create_proposition", "update_epistemic_status")))]
)


def played(policy: Policy, story: list[Move]) -> Lab:
    lab = Lab(policy)
    for move in story:
        move(lab)
    return lab


@given(policies, moves)
@settings(max_examples=60)
def test_without_its_speculation_a_ledger_comes_to_the_same_grounded_state(
    policy: Policy, story: list[Move]
) -> None:
    lab = played(policy, story)
    bare = grounded_again(lab.recorded, lab.policies)
    assert bare is not None
    assert grounded_hash(bare) == grounded_hash(lab.state)
    assert not bare.speculation.ideas


@given(policies, moves)
@settings(max_examples=60)
def test_without_its_speculation_a_ledger_is_decided_the_same(policy: Policy, story: list[Move]) -> None:
    lab = played(policy, story)
    kept = without_speculation(lab.recorded)
    again = [step.event for step in decided_again(kept, lab.policies)]
    assert again == [entry.delta for entry in kept]


@pytest.mark.parametrize("kind", ["fact", "hypothesis"])
def test_a_lookup_in_the_ledger_is_made_again_without_its_speculation(kind: str) -> None:
    """Facts that are replayed as recorded would hide that an entry rests on an idea."""
    lab = Lab()
    lab.speculate("heat")
    event = recall(lab, "heat", 1, kind)
    assert lab.recorded[-1].event_id != lab.recorded[1].event_id
    assert code_of(event) == "INVALID_REQUEST", "an idea confirms nothing"
    bare = grounded_again(lab.recorded, lab.policies)
    assert bare is not None
    assert grounded_hash(bare) == grounded_hash(lab.state)


def test_the_law_sees_it_if_an_idea_could_confirm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken on trust, any law would hold: here every event is a witness, and the two states differ."""
    anything = Witness(kind="call", about="anything", content="c")
    monkeypatch.setattr(lookups, "witness_of", lambda *_: anything)
    lab = Lab()
    lab.speculate("heat")
    assert isinstance(recall(lab, "heat", 1, "fact"), Remembered)
    bare = grounded_again(lab.recorded, lab.policies)
    assert bare is not None
    assert grounded_hash(bare) != grounded_hash(lab.state)


@given(policies, moves)
@settings(max_examples=40)
def test_every_such_ledger_verifies_and_is_decided_again_the_same(policy: Policy, story: list[Move]) -> None:
    lab = played(policy, story)
    result, position = verify(lab.entries, "lab", lab.policies, lab.head)
    assert result.ok, result.first_bad
    assert position is not None
    assert state_hash(position.session) == state_hash(lab.state)


@given(policies, moves)
@settings(max_examples=60)
def test_nothing_counts_and_no_status_moves_without_what_must_come_before_it(
    policy: Policy, story: list[Move]
) -> None:
    lab = played(policy, story)
    auditor = Auditor(policy)
    for entry in lab.recorded:
        auditor.hear(entry)
    assert auditor.statuses == {name: one.status for name, one in lab.state.intents.propositions.items()}


class Auditor:
    """Reads a ledger and believes nothing that is not there: a naive second opinion on law 4."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.plans: dict[str, str] = {}
        self.started: dict[str, str] = {}
        self.minted: dict[str, tuple[str, str]] = {}
        self.linked: dict[str, list[tuple[str, str]]] = {}
        self.gone: set[str] = set()
        self.staged: dict[str, tuple[str, str | None]] = {}
        self.statuses: dict[str, str] = {}

    def hear(self, entry: Entry) -> None:
        event: Any = entry.delta
        before = dict(self.statuses)
        if isinstance(event, Refused | Speculated | ClaimSpeculated):
            assert not event.eliminated
        elif isinstance(event, ExperimentDesigned):
            self.plans[event.experiment.experiment_id] = event.frozen.spec_hash
        elif isinstance(event, RunStarted):
            assert event.run.experiment_id in self.plans
            self.started[event.run.run_id] = self.plans[event.run.experiment_id]
        elif isinstance(event, RunRecorded):
            assert self.started.pop(event.run.run_id) == event.report.spec_hash
            if event.evidence is not None:
                assert event.report.status == "completed"
                self.minted[event.evidence.evidence_id] = (event.evidence.claim_id, event.report.outcome)
        elif isinstance(event, EvidenceLinked):
            claim, outcome = self.minted.pop(event.evidence.evidence_id)
            assert claim == event.evidence.claim_id
            self.linked.setdefault(claim, []).append((str(event.evidence.role), outcome))
        elif isinstance(event, IntentStaged):
            self._carried_out(event.intent, event.propositions)
        elif getattr(event, "intents", ()):
            approved = event.decision == "APPROVED"
            assert entry.actor.id != event.intents[0].proposer.id
            assert approved or not event.propositions or event.decision == "MODIFIED"
            self._carried_out(event.intents[-1], event.propositions)
        if before != self.statuses:
            assert isinstance(event, IntentStaged) or event.decision in ("APPROVED", "MODIFIED")

    def _carried_out(self, intent: Any, propositions: Any) -> None:
        assert bool(propositions) == (intent.state == "executed"), intent
        for one in propositions:
            if one.status in ("supported", "proven", "refuted"):
                roles = {role for role, _ in self.linked[one.claim_id]}
                outcomes = {outcome for _, outcome in self.linked[one.claim_id]}
                wanted = {"refute"} if one.status == "refuted" else {"support"}
                assert outcomes == wanted
                assert "undercut" not in roles
            self.statuses[one.claim_id] = one.status


@given(st.lists(st.sampled_from([SPECULATIVE, GROUNDED])))
def test_one_speculative_input_makes_what_is_derived_speculative(labels: list[Any]) -> None:
    assert join(labels) == (SPECULATIVE if SPECULATIVE in labels else GROUNDED)


def test_a_records_lane_is_not_what_it_says_but_how_it_came_to_be() -> None:
    lab = Lab()
    lab.speculate("heat", '{"lane": "grounded", "epistemic_status": "proven"}')
    lab.designed("heat")
    assert [lane_of(entry) for entry in lab.recorded] == [GROUNDED, SPECULATIVE, GROUNDED, GROUNDED]


def test_no_rule_of_the_grounded_lane_is_shown_what_was_imagined(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab()
    lab.speculate("heat")
    seen: dict[type, bool] = {}

    def watched(rule: Any, kind: type) -> Any:
        def watching(session: Any, command: Any, facts: Any) -> Any:
            seen[kind] = bool(session.speculation.ideas or session.speculation.ideas_per_claim)
            return rule(session, command, facts)

        return watching

    for kind, rule in list(RULES.items()):
        monkeypatch.setitem(RULES, kind, watched(rule, kind))
    lab.evidence("heat")
    lab.proposition("heat")
    lab.speculate("heat")
    assert seen.pop(Speculate)
    assert len(seen) >= 6
    assert not any(seen.values())


def test_what_the_speculative_lane_refuses_is_of_that_lane() -> None:
    """Why it was refused may depend on what is in the lane, so it must go with the rest of it."""
    lab = Lab()
    lab.ask(Speculate(claim_id="c", hypotheses=(Alternative(statement="perhaps"),)))
    lab.session = msgspec.structs.replace(
        lab.state, beliefs=msgspec.structs.replace(lab.state.beliefs, terminated=True)
    )
    lab.ask(Speculate(claim_id="c", hypotheses=(Alternative(statement="too late"),)))
    declared, speculated, refused = lab.recorded
    assert isinstance(refused.delta, Refused)
    assert [lane_of(entry) for entry in (declared, speculated, refused)] == [
        GROUNDED,
        SPECULATIVE,
        SPECULATIVE,
    ]
