"""What may end: retractions and corrections of what was published, by who proposed it or by a person."""

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.claims.commands import RetractClaims
from beliefd.kernel.claims.endings import (
    MAX_STEPS,
    Ended,
    PublishedBundle,
    RetractionFindings,
    words_for,
)
from beliefd.kernel.claims.events import ClaimsRetracted, Gated
from beliefd.kernel.claims.judging import findings_of
from beliefd.kernel.claims.state import Claims
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.values import PEOPLE, Principal, shown


class _Asked(Struct, frozen=True):
    """What somebody wants to end, in which words, and where the request names it."""

    verb: str
    bundle_id: str
    claim_ids: tuple[str, ...]
    path: str
    claim_path: str

    def at(self, place: int) -> str:
        return self.claim_path.format(place)


def retract_claims(session: Session, command: RetractClaims, facts: Facts) -> ClaimsRetracted | Refused:
    asked = _Asked("retract", command.bundle_id, command.claim_ids, "$.bundle_id", "$.claim_ids[{}]")
    found = facts.findings.published if isinstance(facts.findings, RetractionFindings) else UNSET
    ending = _ending(session.claims, asked, found, (facts.principal,))
    if isinstance(ending, Refused):
        return ending
    ended = Ended(
        how="retracted",
        bundle_id=command.bundle_id,
        claim_ids=ending,
        standing=_left(session.claims, command.bundle_id, found, ending),
        by=facts.principal.id,
        at=facts.now,
        reason=command.reason,
    )
    return ClaimsRetracted(event_id=facts.event_id, ended=ended)


def cannot_correct(
    session: Session | None, bundle: ClaimBundle, facts: Facts, *who: Principal
) -> Refused | None:
    """Why a bundle cannot correct what it says it does; without a session there is nothing to correct."""
    if bundle.corrects is UNSET:
        return None
    if bundle.id == bundle.corrects.bundle_id:
        text = f"bundle `{shown(bundle.id)}` cannot correct itself"
        return refused(Code.INVALID_REQUEST, text, "$.corrects.bundle_id")
    if session is None:
        return refused(Code.INVALID_REQUEST, "a correction can only be judged in a session", "$.corrects")
    found = findings_of(facts).corrected
    ending = _ending(session.claims, _correction(bundle), found, who)
    return ending if isinstance(ending, Refused) else None


def with_correction(session: Session, judged: Gated, facts: Facts, proposer: str) -> Gated:
    """INVARIANT: what is corrected ends in the same event in which the correction is published."""
    bundle = judged.bundle
    if bundle.corrects is UNSET or bundle.decision != "PUBLISH":
        return judged
    found, asked = findings_of(facts).corrected, _correction(bundle)
    names = _standing(session.claims, asked.bundle_id, found, asked.claim_ids)
    ended = Ended(
        how="corrected",
        bundle_id=asked.bundle_id,
        claim_ids=names,
        standing=_left(session.claims, asked.bundle_id, found, names),
        by=proposer,
        at=facts.now,
        correction=bundle.id or "",
        step=session.claims.steps.get(asked.bundle_id, 0) + 1,
    )
    return replace(judged, ended=ended)


def _correction(bundle: ClaimBundle) -> _Asked:
    assert bundle.corrects is not UNSET  # noqa: S101 - asked by who calls this
    target = bundle.corrects
    names = () if target.claim_id is UNSET else (target.claim_id,)
    return _Asked("correct", target.bundle_id, names, "$.corrects.bundle_id", "$.corrects.claim_id")


def _ending(
    claims: Claims, asked: _Asked, found: PublishedBundle | UnsetType, who: tuple[Principal, ...]
) -> tuple[str, ...] | Refused:
    """The claims that would end, or why nothing does."""
    problem = _not_published(claims, asked, found) or _not_theirs(asked, found, who)
    if problem is None:
        problem = _unknown(asked, found) or _ended_before(claims, asked, found) or _too_many(claims, asked)
    return problem or _standing(claims, asked.bundle_id, found, asked.claim_ids)


def _not_published(claims: Claims, asked: _Asked, found: PublishedBundle | UnsetType) -> Refused | None:
    state = claims.bundles.get(asked.bundle_id)
    if state is None:
        return refused(Code.BUNDLE_NOT_FOUND, f"no bundle `{shown(asked.bundle_id)}`", asked.path)
    if state.decision != "PUBLISH" or found is UNSET:
        text = f"bundle `{shown(asked.bundle_id)}` is not published: there is nothing to {asked.verb}"
        return refused(Code.CONFLICT, text, asked.path, decision=state.decision)
    return None


def _not_theirs(
    asked: _Asked, found: PublishedBundle | UnsetType, who: tuple[Principal, ...]
) -> Refused | None:
    proposers = () if found is UNSET else found.proposers
    # INVARIANT: no program speaks for another one. A person may take back what any of them said.
    if any(one.id in proposers or one.role in PEOPLE for one in who):
        return None
    text = f"only {', '.join(f'`{name}`' for name in proposers)} or a person may {asked.verb} it"
    return refused(Code.FORBIDDEN, text, asked.path)


def _unknown(asked: _Asked, found: PublishedBundle | UnsetType) -> Refused | None:
    known = () if found is UNSET else found.claim_ids
    for place, name in enumerate(asked.claim_ids):
        if name not in known:
            text = f"bundle `{shown(asked.bundle_id)}` has no claim `{shown(name)}`"
            return refused(Code.NOT_FOUND, text, asked.at(place))
    return None


def _ended_before(claims: Claims, asked: _Asked, found: PublishedBundle | UnsetType) -> Refused | None:
    for place, name in enumerate(asked.claim_ids):
        if (one := claims.ending(asked.bundle_id, name)) is not None:
            return _over(f"claim `{shown(name)}`", one, asked, asked.at(place))
    last = claims.ending(asked.bundle_id)
    if last is not None and not _standing(claims, asked.bundle_id, found, asked.claim_ids):
        return _over(f"bundle `{shown(asked.bundle_id)}`", last, asked, asked.path)
    return None


def _over(what: str, one: Ended, asked: _Asked, path: str) -> Refused:
    if one.how == "corrected":
        advice = f"{asked.verb} that one"
    else:
        advice = "nothing is left to retract" if asked.verb == "retract" else "say it in a bundle of its own"
    return refused(Code.CONFLICT, f"{what} was {words_for(one)}; {advice}", path, ended=one.how)


def _too_many(claims: Claims, asked: _Asked) -> Refused | None:
    if asked.verb != "correct" or claims.steps.get(asked.bundle_id, 0) < MAX_STEPS:
        return None
    text = f"bundle `{shown(asked.bundle_id)}` is correction {MAX_STEPS} of its line; retract it instead"
    return refused(Code.CONFLICT, text, asked.path)


def _standing(
    claims: Claims, bundle_id: str, found: PublishedBundle | UnsetType, named: tuple[str, ...]
) -> tuple[str, ...]:
    """Of the named claims, or of all, those that stand."""
    names = named or (() if found is UNSET else found.claim_ids)
    return tuple(name for name in names if claims.ending(bundle_id, name) is None)


def _left(claims: Claims, bundle_id: str, found: PublishedBundle | UnsetType, ending: tuple[str, ...]) -> int:
    return len(_standing(claims, bundle_id, found, ())) - len(ending)
