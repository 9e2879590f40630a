"""Where claims meet beliefs: what they are about, as it stands in their session."""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import UNSET

from beliefd.kernel.beliefs.state import Beliefs
from beliefd.kernel.claims.about import Subject
from beliefd.kernel.claims.bundle import Claim
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.intents.state import Intents, Proposition
from beliefd.kernel.state import Session
from beliefd.kernel.values import quoted, shown

NAMED: Final = 5
"""How many pieces of evidence a caveat names."""


def undeclared(session: Session, claims: Iterable[Claim]) -> Refused | None:
    """Why a bundle cannot be judged at all: a claim of it is about no hypothesis that there is."""
    universe = session.beliefs.survivors.universe
    for place, claim in enumerate(claims):
        name = UNSET if claim.about is UNSET else claim.about.hypothesis
        if name is not UNSET and universe.position(name) is None:
            text = f"not declared in this session: `{shown(name)}`"
            return refused(Code.INVALID_REQUEST, text, f"$.claims[{place}].about.hypothesis")
    return None


def fallen_subjects(session: Session, claims: Iterable[Claim]) -> set[str]:
    """The eliminated hypotheses that claims are about."""
    about = [claim.about.hypothesis for claim in claims if claim.about is not UNSET]
    named = {name for name in about if name is not UNSET}
    if not named:
        return set()
    survivors = session.beliefs.survivors
    return {name for name in named if name not in survivors and survivors.universe.position(name) is not None}


def subjects(session: Session, claims: Iterable[Claim], fallen: Mapping[str, str]) -> dict[str, Subject]:
    """What claims are about, by their ids, as it stands now; `fallen` says which event eliminated what."""
    found: dict[str, Subject] = {}
    for claim in claims:
        if claim.about is UNSET:
            continue
        if claim.about.hypothesis is not UNSET:
            found[claim.id or ""] = _hypothesis(claim.about.hypothesis, session.beliefs, fallen)
        elif claim.about.proposition is not UNSET:
            found[claim.id or ""] = _proposition(claim.about.proposition, session.intents)
    return found


def _hypothesis(name: str, beliefs: Beliefs, fallen: Mapping[str, str]) -> Subject:
    left = beliefs.survivors.count
    if name not in beliefs.survivors:
        by = f" by event `{fallen[name]}`" if name in fallen else ""
        none = "" if left else "; no hypothesis of the session stands"
        return Subject("gone", f"hypothesis {quoted(name)} was eliminated{by}{none}", "eliminated")
    if left == 1:
        return Subject("stands", observed=left)
    others = "1 other stands" if left == 2 else f"{left - 1} others stand"
    return Subject("stands", f"hypothesis {quoted(name)} is not the only one: {others}", left)


def _proposition(claim_id: str, intents: Intents) -> Subject:
    known: Proposition | None = intents.propositions.get(claim_id)
    if known is None:
        return Subject("unknown", f"there is no proposition {quoted(claim_id)} in this session", "unknown")
    names = known.evidence_ids
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    # Once a status has fallen, the evidence that it was given on is not what the new one rests on.
    by = f" by {', '.join(names[:NAMED])}{more}" if names and not known.fell else ""
    apart = ", quarantined" if known.quarantined else ""
    fell = f"; {known.fell}" if known.fell else ""
    words = f"proposition {quoted(claim_id)} has the status: {known.status}{by}{apart}{fell}"
    return Subject("gone" if known.status == "refuted" else "stands", words, known.status)
