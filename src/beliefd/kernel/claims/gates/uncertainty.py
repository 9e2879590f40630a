"""Uncertainty gate: thresholds from policy, on what is declared and on what was measured.

The two never change places: what was measured stands in receipts, and a claim cites them.
"""

from msgspec import UNSET

from beliefd.kernel.claims.bundle import Claim, Severity
from beliefd.kernel.claims.gates.result import GateInput, GateResult, passes, says
from beliefd.kernel.claims.standing import MeasuredStanding
from beliefd.kernel.labels import WITNESSED
from beliefd.kernel.policy import MeasurementRule

GATE = "uncertainty"


def uncertainty(given: GateInput) -> list[GateResult]:
    policy, standings = given.policy.uncertainty, given.standings or {}
    found: list[GateResult] = []
    highest = 0.0
    # Nothing is to be said of most claims: they are low enough, have no wish, and need not be measured.
    calm = policy.explain_above if policy.require == "declared" else -1.0
    for claim in given.bundle.claims:
        known, said = standings.get(claim.id or ""), claim.uncertainty
        measured = known.measured or None if known is not None else None
        value = said.value or 0.0
        if measured is not None and measured.value > value:
            value = measured.value
        highest = max(highest, value)
        if value <= calm and said.gate_recommendation == "EXECUTE":
            continue
        if (result := _judge(claim, given, measured, value)) is not None:
            found.append(result)
    return found or passes(GATE, "uncertainty is low enough", policy.explain_above, highest)


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
    missing = None if rule is None else _missing(rule, measured)
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


def _missing(rule: MeasurementRule, measured: MeasuredStanding | None) -> str | None:
    """What the measurement that a claim cites lacks; None if it is as policy asks."""
    cited = UNSET if measured is None else measured.cited
    if cited is UNSET:
        return "and cites none; cite one as `uncertainty.measurement_id`"
    if rule.methods and cited.method not in rule.methods:
        return f"by {' or '.join(rule.methods)}, not by {cited.method}"
    # A judge that is a model names it too, as in `nli:tiny`.
    if rule.judges and cited.judge.partition(":")[0] not in rule.judges:
        return f"with the judge {' or '.join(rule.judges)}, not {cited.judge or 'without one'}"
    if cited.k < rule.min_k:
        return f"over {rule.min_k} answers or more; {cited.method} compared {cited.k or 'none'}"
    if rule.witnessed and cited.label != WITNESSED:
        return "whose answers somebody else has drawn"
    return None
