"""Who shaped what: everybody who proposed or edited a content in a session, whatever became of it."""

from hashlib import sha256

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.approvals.standing import is_recorded, joined, names_behind, names_of, names_under
from beliefd.kernel.approvals.state import (
    Approval,
    BundleSubject,
    CallSubject,
    DeltaSubject,
    InformationSubject,
    IntentSubject,
    Shaped,
    Subject,
)
from beliefd.kernel.canonical import digest
from beliefd.kernel.canonical_structs import digest_of
from beliefd.kernel.claims.bundle import Claim, ClaimBundle
from beliefd.kernel.facts import Facts
from beliefd.kernel.intents.state import Change
from beliefd.kernel.measurements.state import gist_digest
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate, DeltaCandidate


def content_of(bundle: ClaimBundle) -> tuple[str, ...]:
    """What each claim says and decides. The same words in another spelling, under another name, with other
    numbers, costs or evidence are the same: whoever shaped them has shaped this too."""
    return tuple(dict.fromkeys([_said_by(claim) for claim in bundle.claims]))


def _said_by(claim: Claim) -> str:
    words = gist_digest(claim.statement)
    if claim.action is UNSET and claim.about is UNSET:
        # `digest` of the list below: a digest and the name of a type need no escape.
        return sha256(f'["{words}","{claim.claim_type}",null,null]'.encode()).hexdigest()
    return digest(msgspec.to_builtins([words, claim.claim_type, claim.action or None, claim.about or None]))


def content_of_candidate(candidate: Candidate) -> tuple[str, ...]:
    """What would be done, under whatever key and with whosever token."""
    if isinstance(candidate, CallCandidate):
        return (digest([candidate.tool_id, candidate.args]),)
    return (digest(msgspec.to_builtins(candidate.patch)),)


def content_of_change(change: Change) -> tuple[str, ...]:
    """What would be believed. Neither another reason for it nor another spelling makes another change."""
    words = None if change.statement is None else gist_digest(change.statement)
    return (digest_of(replace(change, reason="", statement=words)),)


def content_in(subject: Subject) -> tuple[str, ...]:
    """What waits, as it is remembered who shaped it."""
    match subject:
        case (
            BundleSubject(bundle=ClaimBundle() as bundle) | InformationSubject(bundle=ClaimBundle() as bundle)
        ):
            return content_of(bundle)
        case (
            CallSubject(candidate=CallCandidate() as candidate)
            | DeltaSubject(candidate=DeltaCandidate() as candidate)
        ):
            return content_of_candidate(candidate)
        case IntentSubject(change=Change() as change):
            return content_of_change(change)
    return ()


def shapers(session: Session, approval: Approval, facts: Facts) -> frozenset[str]:
    """INVARIANT: whoever proposed or edited what waits is among these, whoever brought it in last."""
    known = session.approvals.shapers
    remembered = (known.get(content) or () for content in content_in(approval.subject))
    named = (one for name in approval.proposers for one in names_under(name, facts))
    people = {*names_of(approval.proposer, facts), *named, *(one for names in remembered for one in names)}
    said = (*approval.earlier, *approval.approvals)
    return joined(people, (names_behind(word, facts) for word in said))


def shaped(content: tuple[str, ...], people: tuple[str, ...], facts: Facts) -> Shaped | msgspec.UnsetType:
    """What is remembered of who shaped this. Entries that are older than this rule remember nothing."""
    if not is_recorded(facts):
        return msgspec.UNSET
    return Shaped(content=content, by=tuple(dict.fromkeys(people)))
