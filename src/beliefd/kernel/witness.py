"""Which events of a ledger can confirm a memory entry: what somebody else has seen, and nothing else."""

from beliefd.kernel.approvals.events import ApprovalDecided
from beliefd.kernel.canonical import digest
from beliefd.kernel.event import EventBase
from beliefd.kernel.experiments.events import EvidenceLinked, RunRecorded
from beliefd.kernel.experiments.state import Evidence
from beliefd.kernel.labels import ATTESTED
from beliefd.kernel.substrate.echo import echoes, put_in
from beliefd.kernel.substrate.events import OutcomeRecorded
from beliefd.kernel.substrate.tools import Witness
from beliefd.kernel.values import PEOPLE, Principal


def witness_of(event: EventBase, actor: Principal) -> Witness | None:
    """What an event bears witness to; None for all that its author could say alone.

    INVARIANT: no speculation and no refusal is a witness, so a ledger without its speculative records has the
    same witnesses.
    """
    if isinstance(event, RunRecorded | EvidenceLinked):
        return None if event.evidence is None else _run(event.evidence)
    if isinstance(event, ApprovalDecided):
        return _person(event) if actor.role in PEOPLE else None
    if isinstance(event, OutcomeRecorded) and event.call.status == "ok":
        call = event.call
        if call.label == ATTESTED:
            return None  # its caller says so, and nobody saw it
        if echoes(event.result, put_in((call.args,))):
            return None  # it says little that its caller did not say
        content = digest([call.tool_id, call.args_hash, call.result_hash])
        return Witness(kind="call", about=call.tool_id, content=content)
    return None


def _run(evidence: Evidence) -> Witness | None:
    # INVARIANT: who typed the data of a test is no witness of what comes of it.
    if not evidence.solid or evidence.outcome != "support" or not evidence.witnessed:
        return None
    # The same data under another seed, or in another test, is the same evidence.
    content = digest([evidence.claim_id, list(evidence.bodies)])
    return Witness(kind="run", about=evidence.claim_id, content=content)


def _person(event: ApprovalDecided) -> Witness | None:
    """A yes that was the last one needed, and that what was approved then took effect by."""
    approval = event.approval
    stopped = (
        (event.gated is not None and event.gated.bundle.decision != "PUBLISH")
        or (event.result is not None and event.result.verdict != "allow")
        or any(intent.state == "failed" for intent in event.intents)
    )
    if event.decision != "APPROVED" or approval.status != "approved" or stopped:
        return None
    return Witness(kind="person", about=approval.approval_id, content=approval.content_hash)
