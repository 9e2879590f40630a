"""A bundle with the uncertainty that was measured in place of the one that was declared."""

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.facts import Findings


def as_measured(bundle: ClaimBundle, findings: Findings | None) -> ClaimBundle:
    """INVARIANT: what an agent declares beside raw answers can raise what was measured, never lower it."""
    if not isinstance(findings, ClaimFindings) or findings.uncertainty is UNSET:
        return bundle
    claims = []
    for claim in bundle.claims:
        source = findings.uncertainty.get(claim.id or "")
        if source is not None and source.source == "measured":
            declared = claim.uncertainty
            told = replace(
                declared,
                value=max(declared.value, source.value),
                interpretation=declared.interpretation or source.interpretation,
            )
            claims.append(replace(claim, uncertainty=told))
        else:
            claims.append(claim)
    return replace(bundle, claims=tuple(claims))
