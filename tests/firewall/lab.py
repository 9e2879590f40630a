"""A laboratory for kernel tests: every command is decided and sealed, runs report what they are told to."""

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from beliefd.kernel.approvals.commands import DecideApproval, ExpireApproval
from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.canonical import digest
from beliefd.kernel.event import Refused
from beliefd.kernel.events import Event
from beliefd.kernel.experiments.commands import DesignExperiment, LinkEvidence, RecordRun, StartRun
from beliefd.kernel.experiments.events import EvidenceLinked, ExperimentDesigned, RunRecorded, RunStarted
from beliefd.kernel.experiments.findings import ExperimentFindings
from beliefd.kernel.experiments.plan import Check, ExperimentSpec, Near, RunReport
from beliefd.kernel.experiments.prediction import Prediction
from beliefd.kernel.experiments.state import Evidence
from beliefd.kernel.intents.commands import StageIntent
from beliefd.kernel.intents.state import Change
from beliefd.kernel.labels import Bringer
from beliefd.kernel.observations.commands import Observe
from beliefd.kernel.observations.events import Observed
from beliefd.kernel.observations.findings import ObservationFindings
from beliefd.kernel.policy import Policy
from beliefd.kernel.speculation.commands import Speculate
from beliefd.kernel.speculation.state import Alternative
from beliefd.kernel.state import Session
from beliefd.kernel.values import Principal
from beliefd.testing.frozen import Clock
from beliefd.testing.kernel import KernelSession
from beliefd.testing.world import AGENT, ANN, ENCODER, ONTOLOGY

CODE = ExperimentFindings(template="numeric_consistency@1", code_hash="c" * 64)
PREDICTION = Prediction(quantity="x", criterion=Near(value=1.0, tolerance=0.1))
FELLING = replace(PREDICTION, eliminates_if_supported=("aether",), eliminates_if_refuted=("caloric",))
HYPOTHESES = ("aether", "caloric", "phlogiston")


class Lab(KernelSession):
    """A minute passes between two commands."""

    def __init__(self, policy: Policy | None = None) -> None:
        declaration = DeclareSession(ontology=ONTOLOGY, hypotheses=HYPOTHESES)
        super().__init__(declaration, policy, session_id="lab", clock=Clock(tick=timedelta(minutes=1)))
        self.bodies: dict[int, Bringer] = {}

    @property
    def state(self) -> Session:
        return self.session

    def speculate(self, claim_id: str, statement: str = "it is the aether") -> Event:
        return self.ask(Speculate(claim_id=claim_id, hypotheses=(Alternative(statement=statement),)))

    def observed(self, body: int = 0, who: Principal = AGENT, brought: Principal = ENCODER) -> str:
        """The id of an observation of bytes that somebody brought, one body per number."""
        if body not in self.bodies:
            self.clock.advance(60)
            self.bodies[body] = Bringer(id=brought.id, role=brought.role, at=self.clock.now())
        values = (1.0, 1.01, 0.99 + body / 1_000)
        found = ObservationFindings(
            values=values, source_hash=digest(["body", body]), brought=(self.bodies[body],)
        )
        event = self.ask(Observe(quantity="x", content=digest(["body", body])), who, findings=found)
        assert isinstance(event, Observed), event
        return event.observation.observation_id

    def designed(
        self, claim_id: str, body: int = 0, *, typed: bool = False, who: Principal = AGENT, **more: Any
    ) -> Event:
        """A test on a body of data that an encoder has brought, or on numbers that its designer typed."""
        data: Any = [1.0, 1.01, 0.99] if typed else {"observed": [self.observed(body, who)]}
        params = {"claimed_value": 1.0, "observed_values": data, "tolerance": 0.1}
        spec = ExperimentSpec(claim_id=claim_id, template="numeric_consistency", params=params, **more)
        return self.ask(DesignExperiment(spec=spec), who, findings=CODE)

    def ran(self, claim_id: str, outcome: str = "support", *, body: int = 0, **more: Any) -> str:
        """The id of a run that came to this."""
        fragile, level = more.pop("fragile", False), more.pop("error_level", 0.001)
        bookkeeping = more.pop("bookkeeping", False)
        status = more.pop("status", "completed")
        designed = self.designed(claim_id, body, **more)
        assert isinstance(designed, ExperimentDesigned), designed
        started = self.ask(StartRun(experiment_id=designed.experiment.experiment_id), findings=CODE)
        assert isinstance(started, RunStarted), started
        report = replace(
            self.report(started.run.run_id, status),
            outcome=outcome,
            error_level=level,
            checks=(Check(name="sensitivity", passed=not fragile),),
            failure_mode="null_effect" if outcome == "refute" else None,
            bookkeeping=bookkeeping,
        )
        recorded = self.ask(RecordRun(run_id=started.run.run_id, report=report))
        assert isinstance(recorded, RunRecorded), recorded
        return started.run.run_id

    def report(self, run_id: str, status: Any = "completed") -> RunReport:
        experiment = self.state.experiments.by_id[self.state.experiments.runs[run_id].experiment_id]
        return RunReport(
            status=status,
            spec_hash=experiment.spec_hash,
            template=experiment.template,
            code_hash=experiment.code_hash,
            seed=experiment.seed,
            model="three observations",
            confidence=0.9,
        )

    def link(self, claim_id: str, run_id: str, role: Any) -> Event:
        return self.ask(LinkEvidence(claim_id=claim_id, run_id=run_id, role=role))

    def evidence(self, claim_id: str, outcome: Any = "support", role: Any = None, **more: Any) -> Evidence:
        """Evidence that is minted and linked."""
        run_id = self.ran(claim_id, outcome, **more)
        linked = self.link(claim_id, run_id, role or outcome)
        assert isinstance(linked, EvidenceLinked), linked
        return linked.evidence

    def stage(self, kind: Any, claim_id: str, *, supersedes: str | None = None, **more: Any) -> Event:
        change = Change(type=kind, claim_id=claim_id, **more)
        return self.ask(StageIntent(change=change, supersedes=supersedes))

    def proposition(self, claim_id: str, prediction: Prediction = FELLING) -> None:
        """A proposition that a person has agreed to have."""
        statement = f"the mean is one, says {claim_id}"
        self.stage("create_proposition", claim_id, statement=statement, prediction=prediction)
        self.decide("APPROVED")
        assert claim_id in self.state.intents.propositions

    def decide(self, word: Any, who: Principal = ANN, **more: Any) -> Event:
        """A person's word on what waits."""
        waiting = self.waiting
        command = DecideApproval(
            approval_id=waiting.approval_id, decision=word, content_hash=waiting.content_hash, **more
        )
        return self.ask(command, who)

    def expire(self) -> Event:
        """The time of what waits runs out."""
        self.clock.advance(8 * 24 * 3600)
        return self.ask(ExpireApproval(approval_id=self.waiting.approval_id))

    def status(self, claim_id: str) -> str:
        return self.state.intents.propositions[claim_id].status

    @property
    def waiting(self) -> Any:
        pending = [one for one in self.state.approvals.by_id.values() if one.status == "pending"]
        assert len(pending) == 1, pending
        return pending[0]


def code_of(event: Event) -> str:
    assert isinstance(event, Refused), event
    return event.code.value


def path_of(event: Event) -> str:
    assert isinstance(event, Refused), event
    return str(event.details["path"])
