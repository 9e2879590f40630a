"""The state of a session: a fold of its ledger and nothing else."""

from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace
from rpds import HashTrieMap

from beliefd.kernel.beliefs.survivors import Survivors
from beliefd.kernel.claims.approvals import Approval
from beliefd.kernel.claims.events import Grant
from beliefd.kernel.commands import SessionOptions
from beliefd.kernel.firewall.artifacts import (
    Evidence,
    Experiment,
    Hypothesis,
    Intent,
    Proposition,
    Run,
    SpeculativeClaim,
)
from beliefd.kernel.substrate.capabilities import Capability
from beliefd.kernel.substrate.events import Call
from beliefd.kernel.substrate.proposals import MemoryEntry
from beliefd.kernel.substrate.sparse import Sparse
from beliefd.kernel.values import Object, OntologyBundle

Status = Literal["open", "singleton", "exhausted", "terminated"]


class Obligation(Struct, frozen=True):
    """A promise of eliminations. `entered_at` is the session's elimination count when it was made."""

    min_total_eliminations: int
    entered_at: int
    active: bool = True


class BundleState(Struct, frozen=True):
    """Where a bundle stands; `event_id` names the event that holds it as last judged."""

    event_id: str
    decision: str
    approval_id: str | None = None


class MemoryState(Struct, frozen=True):
    """An entry as it stands in memory."""

    entry: MemoryEntry
    confirmed: bool
    remembered_at: str
    expires_at: str | None = None
    seen: tuple[str, ...] = ()


NORMAL_MODE: Final = "normal"
GENESIS_SNAPSHOT: Final = "genesis"
"""The name of the empty F_sparse that every session begins with."""


class Session(Struct, frozen=True):
    """Everything that is known of a session.

    Maps that stay small are replaced whole; those that grow with the ledger are persistent tries, so that an
    event costs the same in a long session. (Their types are quoted: tries have none at run time.)
    `trail` is who asked for which tier lately, `attempts` how often a claim was put to the test, `linked` the
    evidence that counts for it, `speculated` how many ideas there are about it.
    """

    session_id: str
    ontology: OntologyBundle
    options: SessionOptions
    metadata: Object
    survivors: Survivors
    eliminations: int = 0
    obligations: dict[str, Obligation] = {}
    conclusions: dict[str, int] = {}
    last_conclusion: str | None = None
    conclusion_streak: int = 0
    terminated: bool = False
    bundles: "HashTrieMap[str, BundleState]" = HashTrieMap()
    approvals: "HashTrieMap[str, Approval]" = HashTrieMap()
    grants: "HashTrieMap[str, Grant]" = HashTrieMap()
    trail: tuple[tuple[str, int], ...] = ()
    sparse: Sparse = Sparse()
    state_version: int = 0
    committed: str = ""
    snapshots: "HashTrieMap[str, int]" = HashTrieMap()
    written: "HashTrieMap[str, int]" = HashTrieMap()
    lowered_mode: str = ""
    mode_since: str = ""
    calls: "HashTrieMap[str, Call]" = HashTrieMap()
    call_keys: "HashTrieMap[str, str]" = HashTrieMap()
    capabilities: "HashTrieMap[str, Capability]" = HashTrieMap()
    memory: "HashTrieMap[str, MemoryState]" = HashTrieMap()
    experiments: "HashTrieMap[str, Experiment]" = HashTrieMap()
    attempts: "HashTrieMap[str, int]" = HashTrieMap()
    runs: "HashTrieMap[str, Run]" = HashTrieMap()
    evidence: "HashTrieMap[str, Evidence]" = HashTrieMap()
    linked: "HashTrieMap[str, tuple[str, ...]]" = HashTrieMap()
    intents: "HashTrieMap[str, Intent]" = HashTrieMap()
    propositions: "HashTrieMap[str, Proposition]" = HashTrieMap()
    speculative: "HashTrieMap[str, Hypothesis | SpeculativeClaim]" = HashTrieMap()
    speculated: "HashTrieMap[str, int]" = HashTrieMap()

    @property
    def state_snapshot_id(self) -> str:
        """The event that last changed F_sparse names its snapshot."""
        return self.committed or GENESIS_SNAPSHOT

    @property
    def mode(self) -> str:
        return self.lowered_mode or NORMAL_MODE

    @property
    def status(self) -> Status:
        if self.terminated:
            return "terminated"
        if self.survivors.count == 0:
            return "exhausted"
        return "singleton" if self.survivors.count == 1 else "open"

    @property
    def active_obligation_id(self) -> str | None:
        """The latest entered obligation that is still active."""
        if not self.obligations:
            return None
        return next((oid for oid in reversed(self.obligations) if self.obligations[oid].active), None)


SPECULATIVE_PARTS: Final = ("speculative", "speculated")


def grounded(session: Session) -> Session:
    """The session without its speculative lane: all that a rule of the grounded lane is shown."""
    if not session.speculative:
        return session
    return replace(session, speculative=HashTrieMap(), speculated=HashTrieMap())
