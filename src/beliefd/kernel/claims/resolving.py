"""Finding out what a claim rests on: each pointer to evidence, and its certainty.

INVARIANT: a state is set by how something came to be here, never by what its author wrote about it.
"""

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import UNSET, UnsetType

from beliefd.kernel.claims.bundle import CALL, SHA256_DIGITS, Claim, ClaimBundle, EvidencePointer
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.standing import (
    UNSEEN,
    UNSEEN_ALONE,
    CitedReceipt,
    ClaimStanding,
    MeasuredStanding,
    PointerStanding,
    Standings,
)
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.labels import ATTESTED, WITNESSED, Label, label_for
from beliefd.kernel.measurements.state import Measurement, Measurements, gist_digest, words_digest, words_for
from beliefd.kernel.state import Session
from beliefd.kernel.values import Role, shown

RECORDED: Final = (CALL, "evidence://", "observation://")
"""What a source begins with that names a record of this session."""
LOOKS_ALIKE: Final = ", of words that look like these"


def standings(
    bundle: ClaimBundle,
    session: Session | None,
    findings: ClaimFindings,
    proposers: tuple[str, ...],
    measurements: Measurements | None = None,
    these_words: bool = True,
) -> Standings:
    """What is known of every claim; of one that names no evidence and was not measured there is nothing.

    Without `these_words` a receipt of words that look alike says as much as one of the claim's own.
    """
    found: Standings = {}
    if measurements is None:
        measurements = Measurements() if session is None else session.measurements
    any_measured = bool(measurements.by_id)
    unlooked = not (any_measured or findings.content or findings.unhashed)
    records = () if session is None else RECORDED
    for claim in bundle.claims:
        pointers = claim.evidence_pointers
        if (
            unlooked
            and len(pointers) == 1
            and len(pointers[0].evidence_hash) == SHA256_DIGITS
            and not pointers[0].source.startswith(records)
        ):
            found[claim.id or ""] = UNSEEN_ALONE  # as `_resolved` has it: so it is with most claims
            continue
        evidence = [_resolved(one, session, findings, proposers) for one in claim.evidence_pointers]
        measured = _measured(claim, measurements, proposers, these_words) if any_measured else UNSET
        if measured is UNSET and len(evidence) == 1 and evidence[0] is UNSEEN:
            found[claim.id or ""] = UNSEEN_ALONE
        elif evidence or measured is not UNSET:
            found[claim.id or ""] = ClaimStanding(tuple(evidence), measured)
    return found


def _resolved(
    pointer: EvidencePointer, session: Session | None, findings: ClaimFindings, proposers: tuple[str, ...]
) -> PointerStanding:
    if session is not None and pointer.source.startswith(RECORDED):
        return _recorded(pointer, session, findings, proposers)
    if not findings.content and not findings.unhashed and len(pointer.evidence_hash) == SHA256_DIGITS:
        return UNSEEN
    return _stored(pointer.evidence_hash.lower(), findings, proposers)


def _recorded(
    pointer: EvidencePointer, session: Session, findings: ClaimFindings, proposers: tuple[str, ...]
) -> PointerStanding:
    """A record of this session that the pointer names, if there is one and its hash is that record's."""
    scheme, _, name = pointer.source.partition("://")
    sha256 = pointer.evidence_hash.lower()
    if scheme == "call":
        return _call(name, sha256, session, findings)
    if scheme == "evidence":
        return _minted(name, sha256, session, proposers)
    seen = session.observations.by_id.get(name)
    if seen is None or seen.digest != sha256:
        return _other("observation", seen, None if seen is None else seen.digest)
    if label_for(seen.witnesses, *proposers) != WITNESSED:
        return _attested(f"values that nobody but {shown(seen.observed_by)} vouches for")
    return PointerStanding(state="witnessed", by=f"observation of `{shown(seen.quantity)}`")


def _call(name: str, sha256: str, session: Session, findings: ClaimFindings) -> PointerStanding:
    call = session.substrate.calls.get(name)
    hashed = None if call is None or call.status != "ok" else call.result_hash
    if call is None or hashed != sha256:
        return _other("call", call, hashed)
    if call.label == ATTESTED:
        return _attested(f"{shown(call.agent_id)} ran `{shown(call.tool_id)}` and says that this came of it")
    if (unheard := findings.unheard) and call.call_id in unheard.names:
        return _attested(f"not looked at: more than {unheard.limit} calls are cited")
    if (unread := findings.unread) and call.call_id in unread.names:
        much = f"{shown(call.agent_id)} had put more than {unread.limit} characters into calls"
        return _attested(f"not looked at: {much}")
    if call.call_id not in (findings.seen or ()):
        elsewhere = "" if session.transfers.foreign is None else "is from elsewhere, or "
        return _attested(f"the result of `{shown(call.tool_id)}` {elsewhere}repeats what callers put in")
    who = shown(call.agent_id) if call.is_run_by_caller else "the server"
    return PointerStanding(state="witnessed", by=f"{who} saw `{shown(call.tool_id)}` answer it")


def _minted(name: str, sha256: str, session: Session, proposers: tuple[str, ...]) -> PointerStanding:
    minted = session.experiments.evidence.get(name)
    if minted is None or minted.result_hash != sha256:
        return _other("evidence", minted, None if minted is None else minted.result_hash)
    if session.experiments.label_of(minted, session.observations.by_id, *proposers) != WITNESSED:
        return _attested(f"the data of {minted.template} are attested")
    if not minted.solid:
        return _attested(f"{minted.template} came to nothing solid")
    return PointerStanding(
        state="witnessed", by=f"{minted.template} of this session came to {minted.outcome}"
    )


def _other(kind: str, found: object | None, hashed: str | None) -> PointerStanding:
    """Why what a pointer names is not what it says."""
    if found is None:
        return _attested(f"this session has no such {kind}")
    return _attested(f"the {kind} has no result" if hashed is None else f"the {kind} has another hash")


def _stored(sha256: str, findings: ClaimFindings, proposers: tuple[str, ...]) -> PointerStanding:
    if len(sha256) != SHA256_DIGITS:
        return _attested(f"its hash of {len(sha256)} hex digits is not SHA-256, so nobody can recompute it")
    if (unhashed := findings.unhashed) and sha256 in unhashed.names:
        return _attested(f"not looked at: more than {unhashed.limit} stored contents are cited")
    if findings.content.get(sha256) != "match":
        return UNSEEN
    brought = (findings.brought or {}).get(sha256, ())
    others = sorted({one.id for one in brought if one.role != Role.AGENT and one.id not in proposers})
    if others:
        return PointerStanding(state="stored", by=f"brought by {', '.join(map(shown, others))}")
    names = ", ".join(shown(one) for one in sorted({one.id for one in brought})) or "nobody known"
    return _attested(f"its bytes are here, brought by {names} alone; no agent is a witness")


def _attested(why: str) -> PointerStanding:
    return PointerStanding(state="attested", by=why)


def _measured(
    claim: Claim, measurements: Measurements, proposers: tuple[str, ...], these_words: bool
) -> MeasuredStanding | UnsetType:
    """INVARIANT: all that was measured of the same words counts, so nobody picks the receipt that suits; what
    was measured of words that only look the same can raise an uncertainty, and vouches for nothing."""
    known = [one for one in measurements.about(gist_digest(claim.statement)) if counts(one, proposers)]
    own = known
    if known and these_words:
        own = [one for one in known if one.words == words_digest(claim.statement)]
        least = max([claim.uncertainty.declared, *(one.value for one in own)])
        known = own + [one for one in known if one not in own and one.value > least]
    if not known:
        return UNSET
    highest = max(known, key=lambda one: one.value)
    is_own = highest in own
    cited = next((one for one in known if one.measurement_id == claim.uncertainty.measurement_id), None)
    return MeasuredStanding(
        measurement_id=highest.measurement_id,
        value=highest.value,
        label=label_for(highest.witnesses, *proposers),
        how=words_for(highest) + ("" if is_own else LOOKS_ALIKE),
        receipts=len(known),
        cited=UNSET if cited is None else _cited(cited, proposers),
        own_words=UNSET if is_own else _known_of(own, proposers),
    )


def _known_of(own: list[Measurement], proposers: tuple[str, ...]) -> Label | Literal["declared"]:
    """How well the claim's own words were measured."""
    if not own:
        return "declared"
    return WITNESSED if WITNESSED in {label_for(one.witnesses, *proposers) for one in own} else ATTESTED


def _cited(one: Measurement, proposers: tuple[str, ...]) -> CitedReceipt:
    return CitedReceipt(
        measurement_id=one.measurement_id,
        value=one.value,
        label=label_for(one.witnesses, *proposers),
        method=one.method,
        judge=one.judge,
        k=one.k,
    )


def unsaid(claims: Iterable[Claim], measurements: Measurements, proposers: tuple[str, ...]) -> Refused | None:
    """Why a claim's certainty cannot be judged: it says nothing, or cites what is no receipt of its words."""
    for place, claim in enumerate(claims):
        said = claim.uncertainty
        if said.measurement_id is UNSET:
            if said.value is UNSET:
                text = "an uncertainty needs a `value`, `samples` or a `measurement_id`"
                return refused(Code.INVALID_REQUEST, text, f"$.claims[{place}].uncertainty.value")
            continue
        path = f"$.claims[{place}].uncertainty.measurement_id"
        one = measurements.by_id.get(said.measurement_id)
        if one is None:
            text = f"no measurement `{shown(said.measurement_id)}` was made in this session"
            return refused(Code.MEASUREMENT_NOT_FOUND, text, path)
        if (problem := _of_other(claim, one, proposers)) is not None:
            return refused(Code.CONFLICT, problem, path)
    return None


def counts(one: Measurement, proposers: tuple[str, ...]) -> bool:
    """What another agent measured counts for nobody else, for good or ill."""
    return one.measured_by in proposers or label_for(one.witnesses, *proposers) == WITNESSED


def _of_other(claim: Claim, one: Measurement, proposers: tuple[str, ...]) -> str | None:
    if not counts(one, proposers):
        return f"`{one.measurement_id}` is of answers that only {shown(one.measured_by)} vouches for"
    if one.words != words_digest(claim.statement):
        return f"`{one.measurement_id}` was made for other words: measure these, or leave it out"
    if one.method != claim.uncertainty.method:
        return (
            f"`{one.measurement_id}` was made by {one.method}, and the claim says {claim.uncertainty.method}"
        )
    return None
