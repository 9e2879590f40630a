"""Why a proposition has its status: the events about its claim, from the plan to the word that was given."""

from typing import Final

from msgspec import Struct

from beliefd.kernel.approvals.events import ApprovalClosed, ApprovalDecided
from beliefd.kernel.events import Event
from beliefd.kernel.experiments.events import EvidenceLinked, ExperimentDesigned, RunRecorded, RunStarted
from beliefd.kernel.intents.events import IntentStaged
from beliefd.kernel.intents.state import EpistemicStatus, Intent, Proposition

TELLING: Final = (
    ExperimentDesigned,
    RunStarted,
    RunRecorded,
    EvidenceLinked,
    IntentStaged,
    ApprovalDecided,
    ApprovalClosed,
)
"""The events that can be part of the way to a status. Speculation is not among them."""
NEEDLES: Final = tuple(f'"kind":"{kind.__struct_config__.tag}"'.encode() for kind in TELLING)


class Said(Struct, frozen=True):
    """What an event says about a claim; `about` names what it touched, `status` is set where it changed."""

    text: str
    about: dict[str, str]
    status: EpistemicStatus | None = None


class Telling:
    """Follows one claim through the events of one session, which must come in order."""

    def __init__(self, claim_id: str) -> None:
        self._claim_id = claim_id
        self._experiments: set[str] = set()
        self._approvals: dict[str, str] = {}

    def take(self, event: Event) -> Said | None:
        if isinstance(event, ExperimentDesigned):
            return self._designed(event)
        if isinstance(event, RunStarted | RunRecorded):
            return self._run(event)
        if isinstance(event, EvidenceLinked):
            return self._linked(event)
        if isinstance(event, IntentStaged):
            return self._staged(event)
        if isinstance(event, ApprovalDecided | ApprovalClosed):
            return self._settled(event)
        return None

    def _designed(self, event: ExperimentDesigned) -> Said | None:
        one = event.experiment
        if one.claim_id != self._claim_id:
            return None
        self._experiments.add(one.experiment_id)
        text = f"attempt {one.attempt}: {one.template} was planned, alpha {one.alpha:.4g}, seed {one.seed}"
        return Said(text, {"experiment_id": one.experiment_id, "spec_hash": one.spec_hash})

    def _run(self, event: RunStarted | RunRecorded) -> Said | None:
        run = event.run
        if run.experiment_id not in self._experiments:
            return None
        about = {"experiment_id": run.experiment_id, "run_id": run.run_id}
        if isinstance(event, RunStarted):
            return Said("the run was let through", about)
        if event.evidence is None:
            return Said(f"the run {run.status}: {run.failure or 'no evidence was minted'}", about)
        piece = event.evidence
        about |= {"evidence_id": piece.evidence_id, "result_hash": piece.result_hash}
        fragile = ", fragile" if piece.fragile else ""
        text = f"the run came to {piece.outcome}{fragile}, on {piece.label} data, and {piece.kind} was minted"
        return self._fell(text, about, event.propositions)

    def _linked(self, event: EvidenceLinked) -> Said | None:
        piece = event.evidence
        if piece.claim_id != self._claim_id:
            return None
        fell = f"; it eliminated {', '.join(event.eliminated)}" if event.eliminated else ""
        about = {"run_id": piece.execution_id, "evidence_id": piece.evidence_id}
        return self._fell(f"the evidence was linked as {piece.role}{fell}", about, event.propositions)

    def _fell(self, text: str, about: dict[str, str], propositions: tuple[Proposition, ...]) -> Said:
        fallen = next((one for one in propositions if one.claim_id == self._claim_id), None)
        if fallen is None:
            return Said(text, about)
        return Said(f"{text}; {fallen.fell}", about, fallen.status)

    def _staged(self, event: IntentStaged) -> Said | None:
        if not self._concerns(event.intent):
            return None
        return self._moved((event.intent,), event.propositions, {})

    def _settled(self, event: ApprovalDecided | ApprovalClosed) -> Said | None:
        intents = tuple(intent for intent in event.intents if self._concerns(intent))
        waiting = self._approvals.get(event.approval_id)
        if not intents and waiting is None:
            return None
        about = {"approval_id": event.approval_id}
        if not intents:
            return Said("one more person agreed", {"intent_id": waiting or "", **about})
        return self._moved(intents, event.propositions if isinstance(event, ApprovalDecided) else (), about)

    def _moved(
        self, intents: tuple[Intent, ...], propositions: tuple[Proposition, ...], about: dict[str, str]
    ) -> Said:
        intent = intents[-1]
        if intent.approval_id is not None:
            self._approvals[intent.approval_id] = intent.intent_id
            about = {"approval_id": intent.approval_id, **about}
        change, last = intent.change, intent.history[-1]
        to = f" to {change.to_status}" if change.to_status else ""
        why = f": {last.why}" if last.why else ""
        status = next((one.status for one in propositions if one.claim_id == self._claim_id), None)
        text = f"{change.type}{to} is {last.state}{why}"
        return Said(text, {"intent_id": intent.intent_id, **about}, status)

    def _concerns(self, intent: Intent) -> bool:
        return self._claim_id in (intent.change.claim_id, intent.change.new_claim_id)
