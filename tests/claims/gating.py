"""What gates are given in tests: bundles with evidence that is at hand."""

from typing import Any

from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.gates import GateInput
from beliefd.kernel.claims.resolving import standings
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal
from beliefd.steward.handlers.claims import read_bundle
from beliefd.testing.world import AGENT, NOW
from tests.claims.support import LIBRARY, bundle, claim, pointer
from tests.claims.support import PAPER_HASH as PAPER


def given_to_gates(
    *claims: dict[str, Any],
    rules: Policy | None = None,
    principal: Principal = AGENT,
    granted: str | None = None,
    **findings: Any,
) -> GateInput:
    at_hand = {"content": {PAPER: "match"}, "brought": {PAPER: (LIBRARY,)}}
    found = ClaimFindings(**{"threat": Threat(detector="d"), **at_hand, **findings})
    said = read_bundle(bundle(*claims))
    known = standings(said, None, found, (principal.id,))
    return GateInput(said, principal, rules or Policy(), found, NOW, granted, known)


def fact(*confidences: float, kind: str = "FACT", **changes: Any) -> dict[str, Any]:
    sources = [pointer(source_confidence=one, **changes) for one in confidences]
    return claim("READ_ONLY", kind, evidence_pointers=sources)
