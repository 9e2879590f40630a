"""A session of the firewall, decided by the kernel and sealed into a ledger, without an executor."""

from collections.abc import Sequence
from typing import Any

from beliefd.kernel.approvals.commands import DecideApproval
from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.canonical import digest
from beliefd.kernel.commands import Command
from beliefd.kernel.events import Event
from beliefd.kernel.experiments.commands import DesignExperiment, LinkEvidence, RecordRun, StartRun
from beliefd.kernel.experiments.events import ExperimentDesigned, RunRecorded, RunStarted
from beliefd.kernel.experiments.findings import ExperimentFindings
from beliefd.kernel.experiments.plan import Check, ExperimentSpec, Ordered, RunOutcome, RunReport
from beliefd.kernel.experiments.prediction import Prediction
from beliefd.kernel.facts import Findings
from beliefd.kernel.intents.commands import StageIntent
from beliefd.kernel.intents.events import IntentStaged
from beliefd.kernel.intents.state import Change, EpistemicStatus
from beliefd.kernel.labels import Bringer
from beliefd.kernel.observations.commands import Observe
from beliefd.kernel.observations.events import Observed
from beliefd.kernel.observations.findings import ObservationFindings
from beliefd.kernel.policy import Policy
from beliefd.kernel.speculation.commands import Speculate
from beliefd.kernel.speculation.state import Alternative
from beliefd.kernel.values import Principal
from beliefd.knowledge.graph import GraphRows
from beliefd.steward.projections import PROJECTIONS, TOUCHED_BY
from beliefd.steward.projections.graph import graph_rows
from beliefd.stores.base import Append, Store
from beliefd.stores.projections import Row
from beliefd.testing.frozen import Clock
from beliefd.testing.kernel import KernelSession
from beliefd.testing.world import AGENT, ANN, ENCODER, NOW, ONTOLOGY

FOUND = ExperimentFindings(template="threshold_check@1", code_hash="0" * 64)
PARAMS = {"threshold": 0.5, "direction": "above"}
PREDICTION = Prediction(
    quantity="wait",
    unit="ms",
    criterion=Ordered(side="above", than=0.5),
    eliminates_if_supported=("spike",),
)


class Story(KernelSession):
    """Every experiment is found to be the same one; `rows` are those of each event."""

    def __init__(self, session_id: str = "s", lane: int = 0, policy: Policy | None = None) -> None:
        self.rows: list[GraphRows] = []
        self.since: dict[int, str] = {}
        self.projected: dict[str, dict[tuple[str, ...], Row]] = {one.name: {} for one in PROJECTIONS}
        declare = DeclareSession(ontology=ONTOLOGY, hypotheses=("leak", "spike"))
        super().__init__(declare, policy, session_id=session_id, clock=Clock(lane), findings=FOUND)
        self.rows.append(graph_rows(self.events[-1], self.session))

    def ask(
        self,
        command: Command,
        who: Principal = AGENT,
        findings: Findings | None = None,
        policy: Policy | None = None,
    ) -> Event:
        event = super().ask(command, who, findings, policy)
        self.rows.append(graph_rows(event, self.session))
        for one in TOUCHED_BY.get(type(event), ()):
            self.projected[one.name].update((row.key, row) for row in one.rows(event, self.session))
        return event

    def speculate(self, claim_id: str, *statements: str) -> Event:
        ideas = tuple(Alternative(statement=statement) for statement in statements)
        return self.ask(Speculate(claim_id=claim_id, hypotheses=ideas))

    def propose(self, claim_id: str, statement: str = "the pool leaks connections") -> str:
        """A proposition, with a person's consent; its intent's id. Other claims have other words."""
        if any(one.statement == statement for one in self.session.intents.propositions.values()):
            statement = f"{statement}, {claim_id}"
        return self.change(
            Change(type="create_proposition", claim_id=claim_id, statement=statement, prediction=PREDICTION)
        )

    def change(self, change: Change) -> str:
        event: IntentStaged = self.tell(StageIntent(change=change))
        if event.approval is not None:
            self.decide(event.approval.approval_id, "APPROVED")
        return event.intent.intent_id

    def promote(self, claim_id: str, to_status: EpistemicStatus, evidence_ids: Sequence[str]) -> str:
        change = Change(
            type="update_epistemic_status",
            claim_id=claim_id,
            to_status=to_status,
            evidence_ids=tuple(evidence_ids),
        )
        return self.change(change)

    def decide(self, approval_id: str, decision: Any, who: Principal = ANN, **rest: Any) -> Event:
        approval = self.session.approvals.by_id[approval_id]
        command = DecideApproval(
            approval_id=approval_id, decision=decision, content_hash=approval.content_hash, **rest
        )
        return self.ask(command, who)

    def observed(self, body: int) -> str:
        """Bytes that an encoder brought after all that was worded so far."""
        sha256 = digest(["body", self.session_id, body])
        self.clock.advance(1)
        self.since.setdefault(body, self.clock.now())
        found = ObservationFindings(
            values=(1.0, 2.0, 3.0 + body),
            source_hash=sha256,
            brought=(Bringer(id=ENCODER.id, role=ENCODER.role, at=self.since[body]),),
        )
        event: Observed = self.tell(Observe(quantity="wait", unit="ms", content=sha256), findings=found)
        return event.observation.observation_id

    def design(self, claim_id: str, body: int = 0) -> str:
        spec = ExperimentSpec(
            claim_id=claim_id,
            template="threshold_check",
            params={**PARAMS, "values": {"observed": [self.observed(body)]}},
            unit="ms",
            eliminates_if_supported=("spike",),
        )
        event: ExperimentDesigned = self.tell(DesignExperiment(spec=spec))
        return event.experiment.experiment_id

    def run(
        self, experiment_id: str, outcome: RunOutcome = "support", fragile: bool = False, **rest: Any
    ) -> str:
        started: RunStarted = self.tell(StartRun(experiment_id=experiment_id))
        plan = self.session.experiments.by_id[experiment_id]
        told: dict[str, Any] = {"status": "completed", "error_level": plan.alpha / 2, "confidence": 0.99}
        report = RunReport(
            spec_hash=plan.spec_hash,
            template=plan.template,
            code_hash=plan.code_hash,
            seed=plan.seed,
            model="threshold on three readings",
            outcome=outcome,
            checks=(Check(name="extremes", passed=not fragile),),
            **{**told, **rest},
        )
        recorded: RunRecorded = self.tell(RecordRun(run_id=started.run.run_id, report=report))
        return recorded.run.run_id

    def evidence(
        self,
        claim_id: str,
        outcome: RunOutcome = "support",
        body: int = 0,
        fragile: bool = False,
        role: str = "",
    ) -> str:
        """Evidence from plan to link; its id."""
        run_id = self.run(self.design(claim_id, body), outcome, fragile)
        self.tell(LinkEvidence(claim_id=claim_id, run_id=run_id, role=role or outcome))  # type: ignore[arg-type]
        name = self.session.experiments.runs[run_id].evidence_id
        assert name is not None
        return name

    async def write(self, store: Store) -> None:
        """As the steward does: entries and rows in one append."""
        batch = Append(
            session_id=self.session.session_id,
            expected=None,
            entries=self.entries,
            created_at=NOW,
            projected={name: rows.values() for name, rows in self.projected.items()},
        )
        await store.append(batch)


def supported(session_id: str = "s", lane: int = 0, claim_id: str = "c") -> Story:
    """From an idea to a proposition that is supported."""
    story = Story(session_id, lane)
    story.propose(claim_id)
    story.speculate(claim_id, "the clock jumps", "a cache is cold")
    story.promote(claim_id, "supported", [story.evidence(claim_id)])
    return story


def refuted(session_id: str = "s", lane: int = 0, claim_id: str = "c") -> Story:
    story = Story(session_id, lane)
    story.propose(claim_id)
    name = story.evidence(claim_id, "refute")
    story.change(Change(type="refute_claim", claim_id=claim_id, evidence_ids=(name,)))
    return story
