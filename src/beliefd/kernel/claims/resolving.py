"""Finding out what a claim rests on: each pointer to evidence, and its certainty.

INVARIANT: a state is set by how something came to be here, never by what its author wrote about it.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import UNSET, UnsetType

from beliefd.kernel.claims.bundle import CALL, Claim, ClaimBundle, EvidencePointer
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.standing import ClaimStanding, MeasuredStanding, PointerStanding, Standings
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.labels import WITNESSED, label_for
from beliefd.kernel.measurements.state import Measurement, Measurements, words_digest, words_for
from beliefd.kernel.state import Session
from beliefd.kernel.values import Role, shown

SHA256_DIGITS: Final = 64
EVIDENCE, OBSERVATION = "evidence://", "observation://"
"""What a source begins with that names a record of this session; a call does so with `CALL`."""
RECORDED: Final = (CALL, EVIDENCE, OBSERVATION)
UNSEEN: Final = PointerStanding(state="attested")


def standings(
    bundle: ClaimBundle,
    session: Session | None,
    findings: ClaimFindings,
    proposers: tuple[str, ...],
    measurements: Measurements | None = None,
) -> Standings:
    """What is known of every claim; of one that names no evidence and was not measured there is nothing."""
    found: Standings = {}
    if measurements is None:
        measurements = Measurements() if session is None else session.measurements
    any_measured = bool(measurements.by_id)
    for claim in bundle.claims:
        evidence = tuple([_resolved(one, session, findings, proposers) for one in claim.evidence_pointers])
        measured = _measured(claim, measurements, proposers) if any_measured else UNSET
        if evidence or measured is not UNSET:
            found[claim.id or ""] = ClaimStanding(evidence=evidence, measured=measured)
    return found


def _resolved(
    pointer: EvidencePointer, session: Session | None, findings: ClaimFindings, proposers: tuple[str, ...]
) -> PointerStanding:
    if session is not None and pointer.source.startswith(RECORDED):
        recorded = _recorded(pointer, session, findings, proposers)
        if recorded is not None:
            return recorded
    return _stored(pointer.evidence_hash.lower(), findings, proposers)


def _recorded(
    pointer: EvidencePointer, session: Session, findings: ClaimFindings, proposers: tuple[str, ...]
) -> PointerStanding | None:
    """A record of this session, if the pointer names one and its hash is that record's."""
    source, sha256 = pointer.source, pointer.evidence_hash.lower()
    if source.startswith(CALL):
        call = session.substrate.calls.get(source.removeprefix(CALL))
        if call is not None and call.status == "ok" and call.result_hash == sha256:
            if call.call_id not in (findings.seen or ()):
                return _attested(f"the result of `{shown(call.tool_id)}` repeats what callers put in")
            return PointerStanding(state="witnessed", by=f"the server saw `{shown(call.tool_id)}` answer it")
    if source.startswith(EVIDENCE):
        minted = session.experiments.evidence.get(source.removeprefix(EVIDENCE))
        if minted is not None and minted.result_hash == sha256:
            if minted.label != WITNESSED:
                return _attested(f"the data of {minted.template} are attested")
            if not minted.solid:
                return _attested(f"{minted.template} came to nothing solid")
            told = f"{minted.template} of this session came to {minted.outcome}"
            return PointerStanding(state="witnessed", by=told)
    if source.startswith(OBSERVATION):
        seen = session.observations.by_id.get(source.removeprefix(OBSERVATION))
        if seen is not None and seen.digest == sha256:
            if label_for(seen.witnesses, *proposers) != WITNESSED:
                return _attested(f"values that nobody but {shown(seen.observed_by)} vouches for")
            return PointerStanding(state="witnessed", by=f"observation of `{shown(seen.quantity)}`")
    return None


def _stored(sha256: str, findings: ClaimFindings, proposers: tuple[str, ...]) -> PointerStanding:
    if len(sha256) != SHA256_DIGITS:
        return _attested(f"its hash of {len(sha256)} hex digits is not SHA-256, so nobody can recompute it")
    if findings.content.get(sha256) != "match":
        return UNSEEN
    brought = (findings.brought or {}).get(sha256, ())
    others = sorted({one.id for one in brought if one.role != Role.AGENT and one.id not in proposers})
    if others:
        return PointerStanding(state="stored", by=f"brought by {', '.join(map(shown, others))}")
    names = ", ".join(shown(one) for one in sorted({one.id for one in brought})) or "nobody known"
    return _attested(f"its bytes are here, brought by {names} alone")


def _attested(why: str) -> PointerStanding:
    return PointerStanding(state="attested", by=why)


def _measured(
    claim: Claim, measurements: Measurements, proposers: tuple[str, ...]
) -> MeasuredStanding | UnsetType:
    """INVARIANT: all that was measured of the same words counts, so nobody picks the receipt that suits."""
    known = [
        one
        for one in measurements.about(words_digest(claim.statement))
        if one.measured_by in proposers or label_for(one.witnesses, *proposers) == WITNESSED
    ]
    if not known:
        return UNSET
    cited = next((one for one in known if one.measurement_id == claim.uncertainty.measurement_id), known[-1])
    return MeasuredStanding(
        measurement_id=cited.measurement_id,
        value=max(one.value for one in known),
        label=label_for(cited.witnesses, *proposers),
        how=words_for(cited),
        k=cited.k,
        judge=cited.judge,
        method=cited.method,
        receipts=len(known),
    )


def unsaid(claims: Iterable[Claim], measurements: Measurements) -> Refused | None:
    """Why a claim's certainty cannot be judged: it says nothing, or cites what is no receipt of its words."""
    for place, claim in enumerate(claims):
        said = claim.uncertainty
        path = f"$.claims[{place}].uncertainty"
        if said.measurement_id is UNSET:
            if said.value is UNSET:
                text = "an uncertainty needs a `value`, `samples` or a `measurement_id`"
                return refused(Code.INVALID_REQUEST, text, f"{path}.value")
            continue
        path = f"{path}.measurement_id"
        one = measurements.by_id.get(said.measurement_id)
        if one is None:
            text = f"no measurement `{shown(said.measurement_id)}` was made in this session"
            return refused(Code.NOT_FOUND, text, path)
        if (problem := _of_other(claim, one)) is not None:
            return refused(Code.CONFLICT, problem, path)
    return None


def _of_other(claim: Claim, one: Measurement) -> str | None:
    if one.words != words_digest(claim.statement):
        return f"`{one.measurement_id}` was made for other words: measure these, or leave it out"
    if one.method != claim.uncertainty.method:
        return (
            f"`{one.measurement_id}` was made by {one.method}, and the claim says {claim.uncertainty.method}"
        )
    return None
