"""Three claims on their way from an idea to a status: one is supported, one refuted, one stopped as fragile.

Every run is made again from its seed, every ledger is verified, and each is the same without its speculation.

    python examples/firewall.py                all three
    python examples/firewall.py refuted        one of them
"""

import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import beliefd
from beliefd.embedded import Embedded
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.values import Principal, Role
from beliefd.ledger.envelope import read
from beliefd.ledger.non_interference import grounded_again, grounded_hash
from beliefd.ledger.replay import fold
from beliefd.ledger.transfer import read_export

HYPOTHESES = ["bad_deploy", "disk_full", "pool_exhausted"]
ONTOLOGY = {
    "hypothesis_space_id": "sre/checkout-latency",
    "hypothesis_version": "3",
    "causal_graph_ref": "graphstore://postgres-repl",
    "causal_graph_version": "v17",
}
CLAIM = "pool-wait"
noise = random.Random(8)
WAITS = [round(noise.gauss(40.0, 0.4), 2) for _ in range(60)]
IDEAS: dict[str, Any] = {
    "alternatives": [
        {
            "statement": "connections leak after a failed payment",
            "mechanism": "the error path forgets to give them back",
            "prediction": "waits grow with the number of failed payments",
        }
    ],
    "analogies": [{"domain": "car rental", "parallel": "cars that nobody returns"}],
    "edge_cases": ["a failover under way", "a cold cache"],
    "falsification_criteria": ["waits stay flat while payments fail"],
}


class Case:
    """One claim on its way: whoever proposes is the agent, whoever approves is somebody else."""

    def __init__(self, agent: Embedded, person: Embedded) -> None:
        self.agent, self.person = agent, person
        self.session = agent.declare_session(HYPOTHESES, ONTOLOGY).session_id

    def imagine(self) -> None:
        noted = self.agent.speculate(self.session, CLAIM, IDEAS["alternatives"])
        print(f"imagined:   {noted.hypotheses[0].hypothesis_id}")

    def measured(self, waits: list[float]) -> str:
        """Numbers that a person brings, and the agent tests with."""
        seen = self.person.observe(self.session, quantity="pool_wait", unit="ms", values=waits)
        print(f"observed:   {seen.count} values, {seen.where}")
        return seen.observation_id

    def tested(self, **plan: Any) -> Any:
        """A plan that is frozen, run, and run again to see that it comes out the same."""
        planned = self.agent.design_experiment(self.session, **plan)
        print(f"planned:    {planned.template}, frozen as {planned.spec_hash[:16]}")
        ran = self.agent.run_experiment(self.session, planned.experiment_id)
        assert ran.run is not None
        assert ran.report is not None
        failed = [check.name for check in ran.report.checks if not check.passed]
        print(f"ran:        {ran.run.outcome}{', fragile: ' + ', '.join(failed) if failed else ''}")
        assert self.agent.reproduce_experiment(self.session, planned.experiment_id).reproduced
        print("reproduced: the same result hash")
        return ran.run

    def linked(self, run_id: str, role: str) -> Any:
        answer = self.agent.link_evidence(self.session, claim_id=CLAIM, run_id=run_id, role=role)
        fell = ", ".join(answer.applied_eliminated) or "nothing"
        print(f"evidence:   {answer.evidence.kind}, eliminates {fell}, warrants {answer.warrants}")
        return answer

    def believe(self, **change: Any) -> str:
        """Ask for a change, have a person agree, and tell what became of it."""
        staged = self.agent.stage_intent(self.session, {"claim_id": CLAIM, **change})
        assert staged.approval_id is not None
        card = self.person.show_approval(staged.approval_id)
        answer = self.person.decide_approval(staged.approval_id, "APPROVED", content_hash=card.content_hash)
        assert answer.intent is not None
        print(f"intent:     {change['type']}: {answer.intent.state}")
        return answer.intent.state

    def check(self) -> bool:
        """The ledger verifies and is decided again the same, with its speculation and without."""
        export = read_export(self.agent.export(self.session).splitlines())
        entries = [read(one.record) for one in export.entries]
        whole, bare = fold(export.entries), grounded_again(entries, export.header.policies)
        assert whole is not None
        assert bare is not None
        same = grounded_hash(whole.session) == grounded_hash(bare)
        verified = self.agent.verify(self.session).ok
        print(f"ledger:     {len(entries)} events, verified: {verified}, same without speculation: {same}")
        return verified and same


def supported(case: Case) -> str:
    """Waits are claimed to be 40 ms, and they are: the claim survives what the ideas make of it."""
    case.believe(
        type="create_proposition",
        statement="a wait takes 40 ms, give or take 2",
        prediction={
            **predicted({"region": "tolerance", "value": 40.0, "tolerance": 2.0}),
            "eliminates_if_supported": ["disk_full"],
        },
    )
    case.imagine()
    run = case.tested(claim={"claim_id": CLAIM, "observed": [case.measured(WAITS)]}, speculation=IDEAS)
    evidence = case.linked(run.run_id, "support").evidence
    wanted = {"to_status": "supported", "evidence_ids": [evidence.evidence_id]}
    return case.believe(type="update_epistemic_status", **wanted)


def refuted(case: Case) -> str:
    """Waits are claimed to be 60 ms, and they are not."""
    case.believe(
        type="create_proposition",
        statement="a wait takes 60 ms, give or take 2",
        prediction={
            **predicted({"region": "tolerance", "value": 60.0, "tolerance": 2.0}),
            "eliminates_if_refuted": ["pool_exhausted"],
        },
    )
    case.imagine()
    run = case.tested(claim={"claim_id": CLAIM, "observed": [case.measured(WAITS)]})
    evidence = case.linked(run.run_id, "refute").evidence
    return case.believe(type="refute_claim", evidence_ids=[evidence.evidence_id])


def fragile(case: Case) -> str:
    """Every measurement leans on the one before it: the interval says yes, the checks say no."""
    above = {"region": "ordering", "side": "above", "than": 0.0}
    case.believe(type="create_proposition", statement="waits have grown", prediction=predicted(above))
    case.imagine()
    growth = case.measured([9.0, 9.2, 9.1, 9.4, 9.5, 9.4, 9.7, 9.8, 9.7, 10.0, 10.1, 10.2])
    run = case.tested(
        spec={
            "claim_id": CLAIM,
            "template": "bootstrap_ci",
            "params": {"data": {"observed": [growth]}},
            "criterion": above,
            "unit": "ms",
        }
    )
    evidence = case.linked(run.run_id, run.outcome if run.outcome != "unresolved" else "undercut").evidence
    wanted = {"to_status": "supported", "evidence_ids": [evidence.evidence_id]}
    try:
        return case.believe(type="update_epistemic_status", **wanted)
    except BeliefdError as error:
        print(f"refused:    {error.message}")
        return error.code.value


def predicted(criterion: dict[str, Any]) -> dict[str, Any]:
    return {"quantity": "pool_wait", "unit": "ms", "criterion": criterion}


STORIES: dict[str, tuple[Callable[[Case], str], str]] = {
    "supported": (supported, "executed"),
    "refuted": (refuted, "executed"),
    "fragile": (fragile, "NOT_WARRANTED"),
}


@contextmanager
def new_case() -> Iterator[Case]:
    """An agent and a person, each with a handle of their own on one file."""
    person = Principal(id="human://ann", role=Role.APPROVER)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "beliefs.db"
        with beliefd.open(file) as agent, beliefd.open(file, principal=person) as approver:
            yield Case(agent, approver)


def main(names: list[str]) -> int:
    good = True
    for name in names or list(STORIES):
        if name not in STORIES:
            print(f"no story `{name}`; there are {', '.join(STORIES)}", file=sys.stderr)
            return 2
        print(f"\n== {name}")
        story, expected = STORIES[name]
        with new_case() as case:
            good = story(case) == expected and case.check() and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
