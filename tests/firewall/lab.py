"""A laboratory for kernel tests: every command is decided and sealed, runs report what they are told to."""

from typing import Any

import msgspec
from msgspec.structs import replace

from beliefd.kernel.approvals.commands import DecideApproval, ExpireApproval
from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.canonical import canonical
from beliefd.kernel.commands import Command
from beliefd.kernel.decide import decide
from beliefd.kernel.event import Refused
from beliefd.kernel.events import Event
from beliefd.kernel.evolve import begin, evolve
from beliefd.kernel.experiments.commands import DesignExperiment, LinkEvidence, RecordRun, StartRun
from beliefd.kernel.experiments.events import EvidenceLinked, ExperimentDesigned, RunRecorded, RunStarted
from beliefd.kernel.experiments.findings import ExperimentFindings
from beliefd.kernel.experiments.plan import Check, ExperimentSpec, RunReport
from beliefd.kernel.experiments.state import Evidence
from beliefd.kernel.facts import Facts, Findings
from beliefd.kernel.intents.commands import StageIntent
from beliefd.kernel.intents.state import Change
from beliefd.kernel.policy import Policy
from beliefd.kernel.speculation.commands import Speculate
from beliefd.kernel.speculation.state import Alternative
from beliefd.kernel.state import Session
from beliefd.kernel.values import Head, OntologyBundle, Principal, Role
from beliefd.ledger.chain import policy_hash, seal
from beliefd.ledger.envelope import Entry, Sealed, head_of, read
from beliefd.ledger.transfer import entry_lines, header_line

AGENT = Principal(id="agent://triage", role=Role.AGENT)
ANN = Principal(id="human://ann", role=Role.APPROVER)
BOB = Principal(id="human://bob", role=Role.APPROVER)
ONTOLOGY = OntologyBundle(
    hypothesis_space_id="lab", hypothesis_version="1", causal_graph_ref="g", causal_graph_version="1"
)
CODE = ExperimentFindings(template="numeric_consistency@1", code_hash="c" * 64)
HYPOTHESES = ("aether", "caloric", "phlogiston")


class Lab:
    """One session, told to the kernel command by command."""

    def __init__(self, policy: Policy | None = None) -> None:
        self.policy = policy or Policy()
        self.session: Session | None = None
        self.head: Head | None = None
        self.sealed: list[Sealed] = []
        self.minute = 0
        self.told(DeclareSession(ontology=ONTOLOGY, hypotheses=HYPOTHESES))

    @property
    def state(self) -> Session:
        assert self.session is not None
        return self.session

    @property
    def entries(self) -> list[Entry]:
        return [read(one.record) for one in self.sealed]

    @property
    def policies(self) -> dict[str, Policy]:
        return {policy_hash(self.policy): self.policy}

    @property
    def export(self) -> bytes:
        assert self.head is not None
        documents = {name: canonical(msgspec.to_builtins(one)) for name, one in self.policies.items()}
        return header_line("lab", self.head, documents) + b"".join(entry_lines(self.sealed))

    def told(self, command: Command, who: Principal = AGENT, findings: Findings | None = None) -> Event:
        """What the kernel makes of a command; it is in the ledger afterwards, refused or not."""
        self.minute += 1
        day, minute = divmod(self.minute, 24 * 60)
        facts = Facts(
            now=f"2026-01-{day + 1:02}T{minute // 60:02}:{minute % 60:02}:00.000000Z",
            event_id=f"e{len(self.sealed)}",
            principal=who,
            policy=self.policy,
            policy_hash=policy_hash(self.policy),
            findings=findings,
        )
        event = decide(self.session, command, facts)
        if self.session is None:
            assert isinstance(command, DeclareSession)
            after = begin("lab", command)
        else:
            after = evolve(self.session, event)
        entry = seal(self.session, command, event, after, self.head, facts)
        self.session, self.head = after, head_of(entry)
        self.sealed.append(entry)
        return event

    def speculate(self, claim_id: str, statement: str = "it is the aether") -> Event:
        return self.told(Speculate(claim_id=claim_id, hypotheses=(Alternative(statement=statement),)))

    def designed(self, claim_id: str, seed: int = 0, **more: Any) -> Event:
        params = {"claimed_value": 1.0, "observed_values": [1.0, 1.01, 0.99]}
        spec = ExperimentSpec(
            claim_id=claim_id, template="numeric_consistency", params=params, seed=seed, **more
        )
        return self.told(DesignExperiment(spec=spec), findings=CODE)

    def ran(self, claim_id: str, outcome: str = "support", *, seed: int = 0, **more: Any) -> str:
        """The id of a run that came to this."""
        fragile, level = more.pop("fragile", False), more.pop("error_level", 0.001)
        bookkeeping = more.pop("bookkeeping", False)
        status = more.pop("status", "completed")
        designed = self.designed(claim_id, seed, **more)
        assert isinstance(designed, ExperimentDesigned), designed
        started = self.told(StartRun(experiment_id=designed.experiment.experiment_id), findings=CODE)
        assert isinstance(started, RunStarted), started
        report = replace(
            self.report(started.run.run_id, status),
            outcome=outcome,
            error_level=level,
            checks=(Check(name="sensitivity", passed=not fragile),),
            failure_mode="null_effect" if outcome == "refute" else None,
            bookkeeping=bookkeeping,
        )
        recorded = self.told(RecordRun(run_id=started.run.run_id, report=report))
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
        return self.told(LinkEvidence(claim_id=claim_id, run_id=run_id, role=role))

    def evidence(self, claim_id: str, outcome: Any = "support", role: Any = None, **more: Any) -> Evidence:
        """Evidence that is minted and linked."""
        run_id = self.ran(claim_id, outcome, **more)
        linked = self.link(claim_id, run_id, role or outcome)
        assert isinstance(linked, EvidenceLinked), linked
        return linked.evidence

    def stage(self, kind: Any, claim_id: str, *, supersedes: str | None = None, **more: Any) -> Event:
        change = Change(type=kind, claim_id=claim_id, **more)
        return self.told(StageIntent(change=change, supersedes=supersedes))

    def proposition(self, claim_id: str) -> None:
        """A proposition that a person has agreed to have."""
        self.stage("create_proposition", claim_id, statement="the mean is one")
        self.decide("APPROVED")
        assert claim_id in self.state.intents.propositions

    def decide(self, word: Any, who: Principal = ANN, **more: Any) -> Event:
        """A person's word on what waits."""
        waiting = self.waiting
        command = DecideApproval(
            approval_id=waiting.approval_id, decision=word, content_hash=waiting.content_hash, **more
        )
        return self.told(command, who)

    def expire(self) -> Event:
        """The time of what waits runs out."""
        self.minute += 8 * 24 * 60
        return self.told(ExpireApproval(approval_id=self.waiting.approval_id))

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
