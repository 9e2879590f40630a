"""What can be asked of a session's beliefs: the verbs of the belief server (belief-server 2.1)."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.kernel.labels import Label
from beliefd.kernel.values import Count, Head, Id, Object, OntologyBundle, Said, SpaceName, Value

MAX_CITED: Final = 16
"""So many recorded things one elimination may rest on."""


class SessionOptions(Value, frozen=True):
    """`unknown_hypotheses: ignore` turns undeclared ids into ignored ones instead of refusals."""

    unknown_hypotheses: Literal["reject", "ignore"] = "reject"


class DeclareSession(Value, frozen=True, tag_field="verb", tag="DECLARE_SESSION"):
    """Open a session over a fixed set of hypotheses, in a `space` if it is not the default one."""

    ontology: OntologyBundle
    hypotheses: Annotated[tuple[Id, ...], msgspec.Meta(min_length=1)]
    options: SessionOptions = SessionOptions()
    metadata: Said = {}
    space: SpaceName | UnsetType = UNSET


class Citation(Value, frozen=True):
    """What an elimination rests on, of the same session: a call, an observation or a run, by its id."""

    call: Id | UnsetType = UNSET
    observation: Id | UnsetType = UNSET
    run: Id | UnsetType = UNSET

    def __post_init__(self) -> None:
        if sum(getattr(self, name) is not UNSET for name in self.__struct_fields__) != 1:
            raise ValueError("give exactly one of `call`, `observation` and `run`")

    @property
    def named(self) -> tuple[str, str]:
        """What kind of thing it is, and its id."""
        found = ((kind, getattr(self, kind)) for kind in self.__struct_fields__)
        return next((kind, name) for kind, name in found if name is not UNSET)


Cites = Annotated[tuple[Citation, ...], msgspec.Meta(min_length=1, max_length=MAX_CITED)]


class Eliminate(Value, frozen=True, tag_field="verb", tag="ELIMINATE"):
    """Claim that an observation is inconsistent with some hypotheses.

    `cites` names what it rests on in this session. Without it, an elimination is the word of who sends it.
    """

    source_id: Id
    observation_id: Id
    eliminated: tuple[Id, ...]
    justification: Said
    cites: Cites | UnsetType = UNSET


class EnterObligation(Value, frozen=True, tag_field="verb", tag="ENTER_OBLIGATION"):
    """Promise a number of eliminations before any conclusion or termination."""

    obligation_id: Id
    min_total_eliminations: Count


class RequestExit(Value, frozen=True, tag_field="verb", tag="REQUEST_EXIT"):
    """Ask to be released from an obligation."""

    obligation_id: Id
    context: Said = {}


class DeclareConclusion(Value, frozen=True, tag_field="verb", tag="DECLARE_CONCLUSION"):
    """State what the session has come to."""

    conclusion_id: Id
    context: Said = {}


class RequestTermination(Value, frozen=True, tag_field="verb", tag="REQUEST_TERMINATION"):
    """Ask to close the session for good; `context.force` needs a role that policy names."""

    context: Said = {}


Unsaid = Literal["too_deep", "withheld"]
"""Why a merge does not say why: it was nested too deep to stand in one, or policy keeps such texts apart."""


class ReplicaElimination(Value, frozen=True):
    """One elimination that a replica recorded while it was apart: who made it, why, and what label it has.

    `unsaid` is there if its `justification` is not: that stands in the ledger of the replica.
    """

    event_id: Id
    source_id: Id
    observation_id: Id
    eliminated: tuple[Id, ...]
    justification: Object | UnsetType = UNSET
    unsaid: Unsaid | UnsetType = UNSET
    actor: Id | UnsetType = UNSET
    label: Label | UnsetType = UNSET


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
