"""Receipts for the raw answers that came with claims: minted with the bundle, and cited by its claims."""

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
    """The bundle, each claim that brought answers citing what was measured in them; and the receipts."""
    found = facts.findings
    if not isinstance(found, ClaimFindings) or not found.measured or command.samples is UNSET:
        return bundle, ()
    claims, made = [], []
    for place, claim in enumerate(bundle.claims, 1):
        measured = found.measured.get(claim.id or "")
        if measured is not None:
            name = f"msr-{facts.event_id}-{place}"
            material = command.samples[claim.id or ""]
            said = claim.uncertainty
            made.append(receipt(name, said.method, claim.statement, measured, material, facts))
            claim = replace(claim, uncertainty=replace(said, measurement_id=name))  # noqa: PLW2901
        claims.append(claim)
    return replace(bundle, claims=tuple(claims)), tuple(made)


def with_new(session: Session, receipts: tuple[Measurement, ...]) -> Session:
    """The session with receipts that are being made: a claim may cite what comes with it."""
    if not receipts:
        return session
    return replace(session, measurements=session.measurements.with_receipts(receipts))
