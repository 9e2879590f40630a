"""Uncertainty gate: thresholds from policy, on what is declared and on what was measured.

The two never change places: what was measured stands in receipts, and a claim cites them. What nobody but the
proposer vouches for may be low enough, and is never published in silence.
"""

from typing import Final

from msgspec import UNSET

from beliefd.kernel.claims.bundle import Claim, Severity
from beliefd.kernel.claims.gates.result import GateInput, GateResult, passes, says, whole
from beliefd.kernel.claims.policy import MeasurementRule
from beliefd.kernel.claims.standing import MeasuredStanding
from beliefd.kernel.labels import WITNESSED
from beliefd.kernel.values import quoted

GATE = "uncertainty"
DECLARED: Final = "declared only: nobody has measured it"
SHOWN: Final = 80
"""How much of a claim's id a reason repeats."""


def uncertainty(given: GateInput) -> list[GateResult]:
    policy, standings = given.policy.uncertainty, given.standings or {}
    found: list[GateResult] = []
    declared: list[Claim] = []
    highest = 0.0
    is_told = policy.unwitnessed == "told" and given.standings is not None
    # Nothing else is to be said of most claims: they are low enough, have no wish, and need not be measured.
    calm = policy.explain_above if policy.require == "declared" else -1.0
    for claim in given.bundle.claims:
        known, said = standings.get(claim.id or ""), claim.uncertainty
        measured = known.measured or None if known is not None else None
        value = said.value or 0.0
        if measured is not None and measured.value > value:
            value = measured.value
        highest = max(highest, value)
        if is_told:
            if measured is None or measured.own_words == "declared":
                declared.append(claim)
            elif not measured.is_witnessed:
                reason = f"uncertainty is attested only: {measured.how}"
                found.append(says(GATE, "EXPLAIN", reason, policy.explain_above, whole(value), claim))
        if value <= calm and said.gate_recommendation == "EXECUTE":
            continue
        if (result := _judge(claim, given, measured, value)) is not None:
            found.append(result)
    if declared:
        found.append(_declared(declared, given, highest))
    return found or passes(GATE, "uncertainty is low enough", policy.explain_above, highest)


def _declared(claims: list[Claim], given: GateInput, highest: float) -> GateResult:
    """One result for all of them: this is so of most claims, and a bundle has many."""
    limit = given.policy.uncertainty.explain_above
    if len(claims) == 1:
        return says(
            GATE,
            "EXPLAIN",
            f"uncertainty is {DECLARED}",
            limit,
            whole(claims[0].uncertainty.declared),
            claims[0],
        )
    if len(claims) == len(given.bundle.claims):
        which = "every claim"
    else:
        which = ", ".join([quoted(claim.id or "", SHOWN) for claim in claims])
    return says(GATE, "EXPLAIN", f"uncertainty of {which} is {DECLARED}", limit, whole(highest))


def _judge(
    claim: Claim, given: GateInput, measured: MeasuredStanding | None, value: float
) -> GateResult | None:
    policy = given.policy.uncertainty
    tier = given.tiers.name_of(claim)
    is_measured = measured is not None and measured.value >= claim.uncertainty.declared
    kind = "" if given.standings is None else "measured " if is_measured else "declared "
    what = f"{kind}uncertainty of {value}"
    how = f" ({measured.how})" if measured is not None and is_measured else ""
    if measured is not None and not is_measured and measured.value > policy.explain_above:
        how = f"; {measured.value} was measured ({measured.how})"
    outcome, limit, reason = Severity.EXECUTE, policy.explain_above, ""
    if value > policy.defer_above:
        outcome, limit = Severity.DEFER, policy.defer_above
        reason = f"{what} is above {policy.defer_above}{how}"
    elif value > policy.explain_above:
        outcome, reason = Severity.EXPLAIN, f"{what} is above {policy.explain_above}{how}"
    rule = policy.required(tier)
    missing = None if rule is None else _missing(rule, measured, _not_sampled(claim, given))
    if missing is not None and outcome < Severity.DEFER:
        outcome, reason = Severity.DEFER, f"{tier} needs a measurement {missing}"
    wish = Severity[claim.uncertainty.gate_recommendation]
    # INVARIANT: a number or a wish that an agent declares about itself can only tighten.
    if wish > outcome:
        told = f"the agent itself recommends {wish.name}"
        return says(GATE, wish.name, told, limit, value, claim)  # type: ignore[arg-type]
    if outcome is Severity.EXECUTE:
        return None
    return says(GATE, outcome.name, reason, limit, value, claim)  # type: ignore[arg-type]


def _not_sampled(claim: Claim, given: GateInput) -> str:
    """Why the server, which was to measure it, could not."""
    found = (given.findings.measured or {}).get(claim.id or "")
    return "" if found is None else found.problem


def _missing(rule: MeasurementRule, measured: MeasuredStanding | None, problem: str) -> str | None:
    """What the measurement that a claim cites lacks; None if it is as policy asks."""
    cited = UNSET if measured is None else measured.cited
    if cited is UNSET:
        how = "of answers that the server draws (`asked`)" if rule.witnessed else "of sampled answers"
        tried = f"the server could not make one: {problem}; " if problem else ""
        return f"and cites none; {tried}make one {how} and cite it as `uncertainty.measurement_id`"
    if rule.methods and cited.method not in rule.methods:
        return f"by {' or '.join(rule.methods)}, not by {cited.method}"
    # A judge that is a model names it too, as in `nli:tiny`.
    if rule.judges and cited.judge.partition(":")[0] not in rule.judges:
        return f"with the judge {' or '.join(rule.judges)}, not {cited.judge or 'without one'}"
    if cited.k < rule.min_k:
        return f"over {rule.min_k} answers or more; {cited.method} compared {cited.k or 'none'}"
    if rule.witnessed and cited.label != WITNESSED:
        return "whose answers somebody else has drawn, such as the server (`asked`)"
    return None
