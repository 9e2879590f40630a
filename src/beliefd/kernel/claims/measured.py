"""Receipts that are made with a bundle and cited by its claims: of raw answers that came with them, or of
those that the server drew because policy requires a measurement."""

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.facts import Facts
from beliefd.kernel.measurements.receipts import receipt
from beliefd.kernel.measurements.state import Measurement
from beliefd.kernel.state import Session


def with_receipts(
    bundle: ClaimBundle, command: SubmitClaims, facts: Facts
) -> tuple[ClaimBundle, tuple[Measurement, ...]]:
    """The bundle, each claim that has answers citing what was measured in them; and the receipts."""
    found = facts.findings
    if not isinstance(found, ClaimFindings) or not found.measured:
        return bundle, ()
    claims, made = [], []
    for place, claim in enumerate(bundle.claims, 1):
        measured = found.measured.get(claim.id or "")
        if measured is not None and not measured.problem:
            name = f"msr-{facts.event_id}-{place}"
            material = (command.samples or {}).get(claim.id or "")
            said = replace(claim.uncertainty, measurement_id=name)
            if measured.method is not UNSET:  # a claim that cites a receipt names the method of that
                said = replace(said, method=measured.method)
            made.append(receipt(name, said.method, claim.statement, measured, material, facts))
            claim = replace(claim, uncertainty=said)  # noqa: PLW2901
        claims.append(claim)
    return replace(bundle, claims=tuple(claims)), tuple(made)


def with_new(session: Session, receipts: tuple[Measurement, ...]) -> Session:
    """The session with receipts that are being made: a claim may cite what comes with it."""
    if not receipts:
        return session
    return replace(session, measurements=session.measurements.with_receipts(receipts))
