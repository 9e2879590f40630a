"""The five gates in their order, and the chain that runs them (claim-bundle, gate recommendations).

Each gate is a pure function of what it is told. EXECUTE and EXPLAIN let the chain go on, DEFER and ESCALATE
stop it and call a person, REFUSE stops it for good. All gates are looked at before a person is called.
"""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.claims.bundle import Decision, Severity
from beliefd.kernel.claims.gates.adversarial import adversarial
from beliefd.kernel.claims.gates.evidence import evidence
from beliefd.kernel.claims.gates.human import GATE as HUMAN
from beliefd.kernel.claims.gates.human import human
from beliefd.kernel.claims.gates.result import ChainResult, GateInput, GateResult, caveats, has_caveats, says
from beliefd.kernel.claims.gates.security import security
from beliefd.kernel.claims.gates.shown import was_shown
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


_SEVERITIES: Final = {severity.name: severity for severity in Severity}
_DEFER, _REFUSE = Severity.DEFER, Severity.REFUSE


def _severity(result: GateResult) -> Severity:
    return _SEVERITIES[result.outcome]


def run_gates(
    given: GateInput, approved: frozenset[str] = frozenset(), shown: Sequence[GateResult] | None = None
) -> ChainResult:
    """Pass a bundle through the gates; `approved` names gates whose call for a person has been answered.

    INVARIANT: an approval answers a DEFER or ESCALATE. It never turns a REFUSE around. And it answers what
    was `shown`: a gate that has found something else since, or worse, asks again.
    """
    results: list[GateResult] = []
    passed: list[str] = []
    overridden: list[str] = []
    stops: dict[str, GateResult] = {}
    for name, gate in GATES.items():
        found = gate(given)
        alike = len(found) == 1 or len({one.outcome for one in found}) == 1
        worst = found[0] if alike else max(found, key=_severity)
        severity = _SEVERITIES[worst.outcome]
        results += found
        answered = name in approved and _DEFER <= severity < _REFUSE and was_shown(found, shown)
        if severity >= _DEFER and not answered:
            stops[name] = worst
            # What is refused is refused: what the gates behind it would say is nobody's question.
            if given.all_are_asked and severity < _REFUSE:
                continue
            break
        (overridden if answered and _overrides(name, given) else passed).append(name)
    told = _rejected_before(given)
    if stops:
        chain = ChainResult(tuple(results), tuple(passed), None, "PUBLISH", "", tuple(overridden))
        stopped = replace(_stopped(stops, chain), asking_again=frozenset(stops) & approved)
        return replace(stopped, results=(*stopped.results, *told))
    results += told
    published = _published(overridden) + (", with caveats" if has_caveats(results) else "")
    return ChainResult(tuple(results), tuple(passed), None, "PUBLISH", published, tuple(overridden))


def _stopped(stops: dict[str, GateResult], chain: ChainResult) -> ChainResult:
    """INVARIANT: a gate that refuses decides, wherever it stands: nobody is asked about what it refuses.

    Each gate that calls for a person has a question of its own. The human gate asks for nothing but a person,
    so its question stands on the card of the first of them.
    """
    refusing = [name for name, worst in stops.items() if _severity(worst) is Severity.REFUSE]
    name = refusing[0] if refusing else next(iter(stops))
    upto = list(GATES)[: list(GATES).index(name) + 1]
    return replace(
        chain,
        results=tuple(one for one in chain.results if one.gate in upto),
        beyond=tuple(one for one in chain.results if one.gate not in upto),
        passed=tuple(gate for gate in chain.passed if gate in upto),
        stopped_by=name,
        decision=_DECISIONS[_severity(stops[name])],
        reason=f"{name} gate: {stops[name].reason}",
        asking=() if refusing else tuple(dict.fromkeys((name, *(one for one in stops if one == HUMAN)))),
    )


def _overrides(name: str, given: GateInput) -> bool:
    """A person is all that the human gate asks for: with one it passes. Any other gate is overridden."""
    return name != HUMAN and given.findings.rejected is not UNSET


def _published(overridden: list[str]) -> str:
    return f"a person let it pass the {', '.join(overridden)} gate" if overridden else "all gates passed"


def _rejected_before(given: GateInput) -> list[GateResult]:
    """What the human gate has to say of words that a person rejected; told wherever the chain ends."""
    if not given.rejected:
        return []
    claims = {claim.id: claim for claim in given.bundle.claims}
    return [
        says(HUMAN, "EXPLAIN", one.told, None, one.at, claims[name]) for name, one in given.rejected.items()
    ]


__all__ = ["GATES", "ChainResult", "GateInput", "GateResult", "caveats", "run_gates"]
