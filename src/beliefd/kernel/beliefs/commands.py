"""What can be asked of a session's beliefs: the verbs of the belief server (belief-server 2.1)."""

from typing import Annotated, Literal

import msgspec

from beliefd.kernel.values import Count, Head, Id, Object, OntologyBundle, Value


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


BeliefCommand = (
    DeclareSession
    | Eliminate
    | EnterObligation
    | RequestExit
    | DeclareConclusion
    | RequestTermination
    | Merge
)
