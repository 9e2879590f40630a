"""The verbs of the belief protocol, as values (belief-server 2.1). Parsing them is the only input check."""

from typing import Annotated, Final, Literal

import msgspec

from beliefd.kernel.claims.bundle import (
    MAX_CLAIMS,
    Claim,
    ClaimBundle,
    Note,
    Samples,
    TierName,
    refuse_shared_ids,
)
from beliefd.kernel.firewall.artifacts import EpistemicStatus
from beliefd.kernel.firewall.commands import (
    DesignExperiment,
    LinkEvidence,
    RecordRun,
    Speculate,
    StageIntent,
    StartRun,
)
from beliefd.kernel.substrate.proposals import (
    IssueCapability,
    Propose,
    RecordOutcome,
    Remember,
    RevokeCapability,
)
from beliefd.kernel.values import Id, Object, OntologyBundle, Value

MAX_SAFE_INTEGER = 2**53 - 1
Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]


class SessionOptions(Value, frozen=True):
    """`unknown_hypotheses: ignore` turns undeclared ids into ignored ones instead of refusals."""

    unknown_hypotheses: Literal["reject", "ignore"] = "reject"


class DeclareSession(Value, frozen=True, tag_field="verb", tag="DECLARE_SESSION"):
    """Open a session over a fixed set of hypotheses."""

    ontology: OntologyBundle
    hypotheses: Annotated[tuple[Id, ...], msgspec.Meta(min_length=1)]
    options: SessionOptions = SessionOptions()
    metadata: Object = {}


class Eliminate(Value, frozen=True, tag_field="verb", tag="ELIMINATE"):
    """Claim that an observation is inconsistent with some hypotheses."""

    source_id: Id
    observation_id: Id
    eliminated: tuple[Id, ...]
    justification: Object


class EnterObligation(Value, frozen=True, tag_field="verb", tag="ENTER_OBLIGATION"):
    """Promise a number of eliminations before any conclusion or termination."""

    obligation_id: Id
    min_total_eliminations: Count


class RequestExit(Value, frozen=True, tag_field="verb", tag="REQUEST_EXIT"):
    """Ask to be released from an obligation."""

    obligation_id: Id
    context: Object = {}


class DeclareConclusion(Value, frozen=True, tag_field="verb", tag="DECLARE_CONCLUSION"):
    """State what the session has come to."""

    conclusion_id: Id
    context: Object = {}


class RequestTermination(Value, frozen=True, tag_field="verb", tag="REQUEST_TERMINATION"):
    """Ask to close the session for good; `context.force` needs a role that policy names."""

    context: Object = {}


class Head(Value, frozen=True):
    """A place in a chain: its last event."""

    seq: Count
    event_id: Id
    hash: Id


class ReplicaElimination(Value, frozen=True):
    """One elimination that a replica recorded while it was apart."""

    event_id: Id
    source_id: Id
    observation_id: Id
    eliminated: tuple[Id, ...]


class Merge(Value, frozen=True, tag_field="verb", tag="MERGE"):
    """Take over the eliminations of a replica whose ledger has been verified; names both heads."""

    genesis_hash: Id
    own_head: Head
    replica_head: Head
    eliminations: tuple[ReplicaElimination, ...]


class SubmitClaims(Value, frozen=True, tag_field="verb", tag="SUBMIT_CLAIMS"):
    """Put a bundle of claims before the gates. `samples` are raw answers, by the id of their claim."""

    bundle: ClaimBundle
    samples: dict[Id, Samples] | msgspec.UnsetType = msgspec.UNSET


class DecideApproval(Value, frozen=True, tag_field="verb", tag="DECIDE_APPROVAL"):
    """Approve, reject or edit what waits. `content_hash` names exactly what was looked at.

    `to_status` goes with an edit of a write intent: another, weaker status. DEFERRED asks for more evidence.
    """

    approval_id: Id
    decision: Literal["APPROVED", "REJECTED", "MODIFIED", "DEFERRED"]
    content_hash: Id
    reason: Note = ""
    claims: Annotated[tuple[Claim, ...], msgspec.Meta(max_length=MAX_CLAIMS)] = ()
    to_status: EpistemicStatus | None = None

    def __post_init__(self) -> None:
        refuse_shared_ids(self.claims)


class WithdrawApproval(Value, frozen=True, tag_field="verb", tag="WITHDRAW_APPROVAL"):
    """Take back what one proposed and nobody has decided yet."""

    approval_id: Id
    reason: Note = ""


class ExpireApproval(Value, frozen=True, tag_field="verb", tag="EXPIRE_APPROVAL"):
    """Tell the kernel that an approval's time is up; what follows is policy."""

    approval_id: Id


class GiveGrant(Value, frozen=True, tag_field="verb", tag="GIVE_GRANT"):
    """Consent in advance, for one principal, up to MODIFY, for a while and a number of times."""

    principal: Id
    tiers: Annotated[tuple[TierName, ...], msgspec.Meta(min_length=1)]
    expires_in_seconds: Annotated[int, msgspec.Meta(ge=1, le=30 * 24 * 3600)]
    max_uses: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100


class RevokeGrant(Value, frozen=True, tag_field="verb", tag="REVOKE_GRANT"):
    """End a standing grant at once."""

    grant_id: Id


Command = (
    DeclareSession
    | Eliminate
    | EnterObligation
    | RequestExit
    | DeclareConclusion
    | RequestTermination
    | Merge
    | SubmitClaims
    | DecideApproval
    | WithdrawApproval
    | ExpireApproval
    | GiveGrant
    | RevokeGrant
    | Propose
    | RecordOutcome
    | IssueCapability
    | RevokeCapability
    | Remember
    | Speculate
    | DesignExperiment
    | StartRun
    | RecordRun
    | LinkEvidence
    | StageIntent
)


VERBS: Final[dict[type, str]] = {kind: str(kind.__struct_config__.tag) for kind in Command.__args__}


def verb_of(command: Command) -> str:
    return VERBS[type(command)]
