"""What goes into a gate and what comes out of it."""

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import UNSET, Struct

from beliefd.kernel.claims.about import Subject
from beliefd.kernel.claims.bundle import Claim, ClaimBundle, Decision, Severity
from beliefd.kernel.claims.findings import ClaimFindings, RejectedBefore
from beliefd.kernel.claims.standing import Standings
from beliefd.kernel.claims.tiers import ClaimTiers, effective_tiers
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal, Value

GateOutcome = Literal["EXECUTE", "EXPLAIN", "DEFER", "ESCALATE", "REFUSE"]
Seen = float | str | None


class GateInput(Struct, frozen=True):
    """Everything a gate may know. `granted` is the standing grant that covers the bundle, if any.

    `known_tiers` are the tiers of its claims, where they have been worked out already. `about` says how that
    stands which a claim is about, by the claim's id. `rejected` are the claims
    whose words a person rejected before.
    """

    bundle: ClaimBundle
    principal: Principal
    policy: Policy
    findings: ClaimFindings
    now: str
    granted: str | None = None
    standings: Standings | None = {}
    known_tiers: ClaimTiers | None = None
    about: dict[str, Subject] = {}
    rejected: dict[str, RejectedBefore] = {}

    @property
    def all_are_asked(self) -> bool:
        """A person is asked about all that stops it, and about nothing that a later gate refuses anyway."""
        return self.findings.authority is not UNSET

    @property
    def tiers(self) -> ClaimTiers:
        if self.known_tiers is not None:
            return self.known_tiers
        return effective_tiers(self.bundle, self.principal.id, self.policy, self.findings.tools or {})


class GateResult(Value, frozen=True):
    """One gate's word: on which claim, under which limit, having seen what."""

    gate: str
    outcome: GateOutcome
    reason: str
    claim_id: str | None = None
    limit: Seen = None
    observed: Seen = None


def says(
    gate: str, outcome: GateOutcome, reason: str, limit: Seen, observed: Seen, claim: Claim | None = None
) -> GateResult:
    return GateResult(gate, outcome, reason, None if claim is None else claim.id, limit, observed)


class ChainResult(Struct, frozen=True):
    """How far a bundle came. `overridden` are gates that would have stopped it; people let it pass.

    `asking` are the gates whose questions a person is shown next, `beyond` is what the gates said that stand
    behind the one that stopped it: a person sees that too. `asking_again` are gates that were answered, and
    have found something else since.
    """

    results: tuple[GateResult, ...]
    passed: tuple[str, ...]
    stopped_by: str | None
    decision: Decision
    reason: str
    overridden: tuple[str, ...] = ()
    asking: tuple[str, ...] = ()
    beyond: tuple[GateResult, ...] = ()
    asking_again: frozenset[str] = frozenset()

    @property
    def failed(self) -> tuple[str, ...]:
        return () if self.stopped_by is None else (self.stopped_by,)

    @property
    def caveats(self) -> tuple[str, ...]:
        return caveats(self.results, self.stopped_by is None)


TOLD_WITH: Final = (Severity.EXPLAIN.name, Severity.DEFER.name)
"""What must be said along with a published bundle: what a gate wants explained, what a person let pass."""


def has_caveats(results: Iterable[GateResult]) -> bool:
    return not {result.outcome for result in results}.isdisjoint(TOLD_WITH)


def caveats(results: tuple[GateResult, ...], published: bool) -> tuple[str, ...]:
    """What must be said along with a bundle: what a gate wants explained, and what a person let pass."""
    told = TOLD_WITH if published else TOLD_WITH[:1]
    return tuple(
        [
            f"{result.claim_id}: {result.reason}" if result.claim_id else result.reason
            for result in results
            if result.outcome in told
        ]
    )


def passes(gate: str, reason: str, limit: Seen, observed: Seen) -> list[GateResult]:
    return [says(gate, "EXECUTE", reason, limit, whole(observed))]


def whole(observed: Seen) -> Seen:
    # 0.0 and 0 are the same JSON number; as an integer it keeps the whole envelope on the fast path.
    return int(observed) if isinstance(observed, float) and observed.is_integer() else observed
