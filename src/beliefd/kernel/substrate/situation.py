"""What a candidate is judged on, and the verdicts that judging it can end in (symbolic-substrate 5)."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.constraint_index import ConstraintIndex
from beliefd.kernel.substrate.constraints import Failure, Judgement, OnFail, Reason, strictest
from beliefd.kernel.substrate.dense import VectorRef
from beliefd.kernel.substrate.events import CandidateResult
from beliefd.kernel.substrate.policy_keys import POLICY, policy_seen
from beliefd.kernel.substrate.provenance import Provenance
from beliefd.kernel.substrate.reasons import NO_ALLOW, explain, rank
from beliefd.kernel.substrate.rulebook import rulebook
from beliefd.kernel.substrate.symbolic_state import SymbolicState
from beliefd.kernel.substrate.tools import CallFinding, Qos
from beliefd.kernel.values import Object


class Situation(Struct, frozen=True):
    """The session as the candidates before this one leave it, and what has changed since it was proposed on.

    `consent` are the constraints that a person was asked about and said yes to, each with its hash.
    `waiting_ms` is how long the calls before this one may take. `starting`: it is judged to begin right now.
    `behind`: its caller has begun a call before this one, and begins this one later.
    `execute` is who is to run what is proposed, None if that was asked before; `provenance` is where it comes
    from, if its caller runs it, and `qos` the class that its calls wait in. `vector` is what came with a
    change that a person has said yes to. `underivable` is why the rules cannot be applied: then nothing
    passes. `unkept` are invariants that facts break which were derived anew: until a change mends that, no
    call passes.
    """

    session: Session
    facts: Facts
    mode: str
    stale: frozenset[str] = frozenset()
    consent: dict[str, str] | None = None
    waiting_ms: int = 0
    starting: bool = False
    behind: bool = False
    execute: Literal["server", "caller"] | None = None
    provenance: Provenance | UnsetType = UNSET
    qos: Qos | UnsetType = UNSET
    vector: VectorRef | UnsetType = UNSET
    underivable: Reason | None = None
    unkept: frozenset[str] = frozenset()

    @property
    def broken(self) -> list[Reason]:
        """Why no call passes, whatever it is: the facts of now break what must hold."""
        if not self.unkept:
            return []
        state = self.state
        found = [one for one in state.truths(self.rules).broken if one.constraint.key in self.unkept]
        reasons = told(self, Judgement(True, tuple(found)), state)
        return [replace(reason, code="INVARIANT_BROKEN") for _, reason in reasons]

    @property
    def state(self) -> SymbolicState:
        """The symbolic state, with what constraints can read of the policy, where any does."""
        held, seen = self.session.substrate.symbolic_state, policy_seen(self.facts, self.mode)
        return held if seen is None else held.over(self.rules, POLICY, seen)

    @property
    def rules(self) -> ConstraintIndex:
        return rulebook(self.facts.policy, self.facts.policy_hash)

    def context(self, **more: Any) -> Object:
        """What rules may know about an action beside the action: the kernel writes it down, nobody else."""
        who, rules = self.facts.principal, self.facts.policy.arbitration
        return {
            **more,
            # What is decided as it was before there was a time in a call must find none there.
            **({"now": self.facts.now} if rules.constraints > 1 else {}),
            "agent_id": who.id,
            "role": who.role.value,
            "agent_tier": who.tier,
            "mode": self.mode,
            "confirmed": self.consent is not None,
        }

    def call_facts(self, finding: CallFinding | None = None) -> Object | None:
        """INVARIANT: where policy asks for facts, `fact.call` holds them or nothing, and never what somebody
        wrote there."""
        if self.facts.policy.context is UNSET:
            return None
        return {} if finding is None else finding.call_facts


def allowed(**effect: Any) -> CandidateResult:
    return CandidateResult(verdict="allow", reason_code="ALLOWED", **effect)


def denied(reasons: list[Reason]) -> CandidateResult:
    return verdict("block", reasons)


WAITS: Final[dict[OnFail, str]] = {"ask": "ASK", "defer": "DEFER"}
"""What waits instead of failing, and the reason code that says so."""


def verdict(on_fail: OnFail, reasons: list[Reason], *, by_effect: bool = False) -> CandidateResult:
    """The first reason is the one that decides."""
    return CandidateResult(
        verdict="defer" if on_fail in WAITS else "deny",
        reason_code=WAITS.get(on_fail, reasons[0].code) if by_effect else reasons[0].code,
        on_fail=on_fail,
        reasons=tuple(reasons),
    )


Told = tuple[Failure, Reason]
"""What stands in the way, and how it is said."""


def told(situation: Situation, judgement: Judgement, state: Mapping[str, Any]) -> list[Told]:
    fits, by_effect = situation.rules.fits, situation.facts.policy.arbitration.by_effect
    return [(one, explain(one, state, fits, by_effect=by_effect)) for one in judgement.failures]


def failed(
    situation: Situation, judgement: Judgement, state: Mapping[str, Any], more: Iterable[Told] = ()
) -> CandidateResult | None:
    """The verdict on what does not pass; None if it does. `more` is what stands in the way beside."""
    rules, found = situation.facts.policy.arbitration, [*told(situation, judgement, state), *more]
    if not found and judgement.on_fail is None:
        return None
    on_fail = strictest(one for one, _ in found) if found else "block"
    ordered = sorted(found, key=lambda item: rank(item[0]))
    reasons = [reason for _, reason in ordered]
    if not judgement.allowable and not rules.counts_all:
        reasons.append(NO_ALLOW)
    elif not judgement.allowable:
        # INVARIANT: what nothing allows is denied, and nobody is asked about what no yes could let through.
        on_fail, blocking = "block", sum(one.constraint.on_fail == "block" for one, _ in ordered)
        reasons.insert(blocking, NO_ALLOW)
    return verdict(on_fail, reasons, by_effect=rules.by_effect)


def stale(overlap: frozenset[str]) -> CandidateResult:
    keys = tuple(sorted(overlap))
    text = f"changed since the snapshot it was made on: {', '.join(f'`{key}`' for key in keys)}"
    return denied([Reason(code="CONFLICT", text=text, keys=keys, remedy="a proposal on the newest snapshot")])
