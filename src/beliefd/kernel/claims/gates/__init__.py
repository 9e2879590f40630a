"""The five gates in their order, and the chain that runs them (claim-bundle, gate recommendations).

Each gate is a pure function of what it is told. EXECUTE and EXPLAIN let the chain go on, DEFER and ESCALATE
stop it and call a person, REFUSE stops it for good.
"""

from collections.abc import Callable
from typing import Final

from beliefd.kernel.claims.bundle import Decision, Severity
from beliefd.kernel.claims.gates.adversarial import adversarial
from beliefd.kernel.claims.gates.evidence import evidence
from beliefd.kernel.claims.gates.human import human
from beliefd.kernel.claims.gates.result import ChainResult, GateInput, GateResult, caveats
from beliefd.kernel.claims.gates.security import security
from beliefd.kernel.claims.gates.uncertainty import uncertainty

Gate = Callable[[GateInput], list[GateResult]]

GATES: Final[dict[str, Gate]] = {
    "evidence": evidence,
    "uncertainty": uncertainty,
    "security": security,
    "adversarial": adversarial,
    "human": human,
}

_DECISIONS: Final[dict[Severity, Decision]] = {
    Severity.EXECUTE: "PUBLISH",
    Severity.EXPLAIN: "PUBLISH",
    Severity.DEFER: "DEFER",
    Severity.ESCALATE: "ESCALATE",
    Severity.REFUSE: "REFUSE",
}


def run_gates(given: GateInput, approved: frozenset[str] = frozenset()) -> ChainResult:
    """Pass a bundle through the gates; `approved` names gates whose call for a person has been answered.

    INVARIANT: an approval answers a DEFER or ESCALATE. It never turns a REFUSE around.
    """
    results: list[GateResult] = []
    passed: list[str] = []
    for name, gate in GATES.items():
        found = gate(given)
        worst = max(found, key=lambda result: Severity[result.outcome])
        severity = Severity[worst.outcome]
        results += found
        overridden = name in approved and severity in (Severity.DEFER, Severity.ESCALATE)
        if severity >= Severity.DEFER and not overridden:
            return ChainResult(
                results=tuple(results),
                passed=tuple(passed),
                stopped_by=name,
                decision=_DECISIONS[severity],
                reason=f"{name} gate: {worst.reason}",
            )
        passed.append(name)
    return ChainResult(
        results=tuple(results),
        passed=tuple(passed),
        stopped_by=None,
        decision="PUBLISH",
        reason="all gates passed" + (", with caveats" if caveats(tuple(results), True) else ""),
    )


__all__ = ["GATES", "ChainResult", "GateInput", "GateResult", "caveats", "run_gates"]
